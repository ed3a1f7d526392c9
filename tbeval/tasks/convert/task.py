"""The conversion of one task directory: whole or not at all."""

import os
import shutil
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path

from harbor.models.task.config import TaskConfig

from tbeval.tasks.convert.compose import COMPOSE_FILE, convert_compose
from tbeval.tasks.convert.container import environment_table, single_container, with_platform
from tbeval.tasks.convert.context import copy_context, main_dockerfile
from tbeval.tasks.convert.marks import TABLE, Marks
from tbeval.tasks.convert.service import build_of
from tbeval.tasks.convert.solution import solution_script
from tbeval.tasks.convert.source import (
    TEST_SCRIPT,
    TESTS,
    ConvertError,
    Source,
    read_source,
    write_yaml,
)
from tbeval.tasks.convert.variables import TESTS_DIR
from tbeval.tasks.digest import IGNORED, task_digest

_ENTRY = "test.sh"
#: harbor's name for the test script. terminal-bench typed the second line into a shell that had
#: TEST_DIR set; so the script itself stays as it is, whatever its first line says.
_TEST_SH = f"""\
#!/bin/bash
# Written by tbeval: runs the task's own script as terminal-bench does.
export TEST_DIR="${{TEST_DIR:-{TESTS_DIR}}}"
exec bash "$TEST_DIR/{TEST_SCRIPT}"
"""


@dataclass(frozen=True)
class Converted:
    """A task that was converted.

    Attributes:
        id: Its name, that of the source directory.
        warnings: What may differ from the original or hinder it, one sentence each.
        marks: What tbeval has to know of it; they stand in its task.toml, too.
    """

    id: str
    warnings: tuple[str, ...]
    marks: Marks


def convert_task(source: Path, target: Path) -> Converted:
    """Make a task directory in harbor's format from one of terminal-bench v0.1.x.

    It is built beside `target` and then renamed: after a failure nothing stands there.

    Args:
        source: The original; it is only read.
        target: Must not be there yet. Its name should be the task's id.

    Raises:
        ConvertError: The source cannot be converted, or `target` is there.
        OSError: Something cannot be read or written.
    """
    task = read_source(source)
    if os.path.lexists(target):
        raise ConvertError(f"task {source.name}: {target} is there already; remove it first.")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".converting-", dir=target.parent) as temporary:
        built = Path(temporary, "task")
        converted = _build(task, built)
        built.rename(target)
    return converted


def _build(task: Source, target: Path) -> Converted:
    marks = Marks(
        source_digest=task_digest(task.path),
        same_shell=task.raw.get("run_tests_in_same_shell") is True,
        parser=str(task.raw.get("parser_name") or "pytest"),
        last_screen=f"{TESTS_DIR}/post-agent.txt" if task.reads_screen else None,
    )
    config = task.config.to_harbor_config()
    config.verifier.user = marks.tests_user
    target.mkdir()
    warnings = [
        *_write_environment(task, target / "environment", config),
        *_write_tests(task, target / TESTS),
        *_write_solution(task, target / "solution"),
        *_told(marks),
    ]
    config.metadata = {
        **{key: value for key, value in config.metadata.items() if value is not None},
        TABLE: marks.table(),
    }
    (target / "task.toml").write_text(config.model_dump_toml(), encoding="utf-8")
    instruction = task.config.instruction
    # with a line's end, as harbor's own migration writes it: published results are on that prompt
    text = instruction if instruction.endswith("\n") else f"{instruction}\n"
    (target / "instruction.md").write_text(text, encoding="utf-8")
    return Converted(id=task.path.name, warnings=tuple(dict.fromkeys(warnings)), marks=marks)


def _write_environment(task: Source, target: Path, config: TaskConfig) -> list[str]:
    target.mkdir()
    container = single_container(task)
    service = task.services[task.main]
    build = build_of(service)
    warnings: list[str] = []
    if build is not None:
        warnings += copy_context(task.path, build, target)
        dockerfile = main_dockerfile(task.path, build, target)
        if container is not None and container.platform:
            text = dockerfile.read_text(encoding="utf-8")
            dockerfile.write_text(with_platform(text, container.platform), encoding="utf-8")
    elif not service.get("image"):
        raise ConvertError(f"task {task.path.name}: service {task.main} has no image and no build.")
    if container is None:
        compose, more = convert_compose(task, target)
        write_yaml(target / COMPOSE_FILE, compose)
        return [*warnings, *more]
    table = {**config.environment.model_dump(exclude_none=True), **environment_table(container)}
    config.environment = type(config.environment).model_validate(table)
    return warnings


def _write_tests(task: Source, target: Path) -> list[str]:
    """The tests and the script as they are, and harbor's entry beside them."""
    tests = task.path / TESTS
    if tests.is_dir():
        shutil.copytree(tests, target, symlinks=True, ignore=shutil.ignore_patterns(*IGNORED))
    else:
        target.mkdir()
    for name in (_ENTRY, TEST_SCRIPT):
        if os.path.lexists(target / name):
            raise ConvertError(
                f"task {task.path.name}: {tests / name} stands where the test script goes; give "
                "it another name."
            )
    shutil.copy2(task.path / TEST_SCRIPT, target / TEST_SCRIPT)
    _write_program(target / _ENTRY, _TEST_SH)
    return []


def _write_solution(task: Source, target: Path) -> tuple[str, ...]:
    solution = task.solution
    if solution is None:
        return ("it has no solution: the oracle cannot solve it",)
    target.mkdir()
    script = target / "solve.sh"
    if solution.suffix == ".yaml":
        text, warnings = solution_script(solution)
        _write_program(script, text)
        return warnings
    shutil.copyfile(solution, script)
    _make_program(script)
    return ()


def _told(marks: Marks) -> list[str]:
    warnings = []
    if marks.same_shell:
        warnings.append("its author wants the tests run in the agent's shell; they get a new one")
    if marks.parser != "pytest":
        warnings.append(f'its tests are read by "{marks.parser}"; tbeval scores pytest\'s only')
    return warnings


def _write_program(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    _make_program(path)


def _make_program(path: Path) -> None:
    path.chmod(path.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
