"""All tasks of terminal-bench v0.1.x, from their original files."""

import ast
import csv
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from harbor.models.task.task import Task

from tbeval.tasks.convert import Converted, Marks, convert_task
from tbeval.tasks.convert.context import copied
from tbeval.tasks.load import load_task
from tests.tasks.convert.conftest import read_compose
from tests.tasks.convert.original import LISTS, original_tasks

COMPOSE = {
    "broken-networking": ["main"],
    "extract-safely": ["main"],
    "oom": ["main"],
    "security-vulhub-minio": ["main", "node1", "node2", "node3"],
    "simple-sheets-put": ["main", "api", "db"],
    "simple-web-scraper": ["main", "server"],
}

pytestmark = pytest.mark.timeout(300)  # the first time on a machine they are downloaded


@dataclass(frozen=True)
class All:
    """The tasks as they were and as they came out."""

    originals: Path
    targets: Path
    converted: dict[str, Converted]

    def pairs(self) -> Iterator[tuple[str, Path, Path]]:
        for task in self.converted:
            yield task, self.originals / task, self.targets / task


@pytest.fixture(scope="module")
def every(tmp_path_factory: pytest.TempPathFactory) -> All:
    originals = original_tasks()
    targets = tmp_path_factory.mktemp("converted")
    converted = {
        source.name: convert_task(source, targets / source.name)
        for source in sorted(originals.iterdir())
    }
    return All(originals, targets, converted)


def rows(name: str) -> dict[str, dict[str, str]]:
    with (LISTS / name).open(newline="") as file:
        return {row["id"]: row for row in csv.DictReader(file, delimiter="\t")}


def functions(directory: Path) -> int:
    """How many test functions there are; the warnings about the authors' strings are theirs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return sum(
            isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            and node.name.startswith("test_")
            for path in directory.rglob("*.py")
            if path.name.startswith("test_")
            for node in ast.walk(ast.parse(path.read_text()))
        )


def test_all_of_them_convert_and_say_what_their_authors_said(every: All) -> None:
    """In one test: what takes time is converting them, and each worker would do it."""
    assert sorted(every.converted) == sorted((LISTS / "all-86.ids").read_text().split())
    published = (LISTS / "harbor-66.ids").read_text().split()
    assert len(published) == 66
    assert set(published) < set(every.converted)
    facts = rows("tasks.tsv")
    for task, source, target in every.pairs():
        row = facts[task]
        info = load_task(target)
        assert info.warnings == (), task
        said = yaml.safe_load((source / "task.yaml").read_text())
        assert info.instruction.rstrip("\n") == said["instruction"].rstrip("\n"), task
        assert info.difficulty == row["difficulty"], task
        assert info.agent_timeout_sec == float(row["max_agent_timeout_sec"] or 360), task
        assert info.verifier_timeout_sec == float(row["max_test_timeout_sec"] or 60), task
        assert functions(target / "tests") == int(row["n_test_functions"]), task
        same_files(task, source, target)
        one_container_or_a_free_compose_file(task, target)
        all_sources_there(task, target)
        assert Marks.read(Task(target).config.metadata) == every.converted[task].marks, task

    marks = {task: converted.marks for task, converted in every.converted.items()}
    assert {task for task, own in marks.items() if own.last_screen} == {"form-filling"}
    same_shell = {task for task, own in marks.items() if own.same_shell}
    assert same_shell == {"jupyter-notebook-server", "simple-sheets-put"}
    assert {own.parser for own in marks.values()} == {"pytest"}
    assert len(list(every.targets.glob("*/solution/solve.sh"))) == 86


def same_files(task: str, source: Path, target: Path) -> None:
    """The tests and their script, byte by byte; a solution that was a script."""
    expected = {
        path.relative_to(source / "tests"): path.read_bytes()
        for path in (source / "tests").rglob("*")
        if path.is_file()
    }
    expected[Path("run-tests.sh")] = (source / "run-tests.sh").read_bytes()
    found = {
        path.relative_to(target / "tests"): path.read_bytes()
        for path in (target / "tests").rglob("*")
        if path.is_file()
    }
    del found[Path("test.sh")]
    assert found == expected, task
    if (source / "solution.sh").is_file() and not (source / "solution.yaml").is_file():
        assert (target / "solution/solve.sh").read_bytes() == (source / "solution.sh").read_bytes()


def one_container_or_a_free_compose_file(task: str, target: Path) -> None:
    environment = target / "environment"
    if task not in COMPOSE:
        assert not (environment / "docker-compose.yaml").exists(), task
        assert Task(target).config.environment.env == {"TEST_DIR": "/tests"}, task
        return
    compose = read_compose(target)
    assert list(compose["services"]) == COMPOSE[task]
    assert "T_BENCH" not in str(compose)
    for service in compose["services"].values():
        assert not {"container_name", "ports"} & service.keys(), task
    assert not any("name" in (network or {}) for network in compose.get("networks", {}).values())


def all_sources_there(task: str, target: Path) -> None:
    """Whatever a Dockerfile copies stands beside it."""
    dockerfiles = sorted((target / "environment").rglob("Dockerfile"))
    assert dockerfiles, task
    for dockerfile in dockerfiles:
        for source in copied(dockerfile.read_text()):
            assert source == "." or list(dockerfile.parent.glob(source)), (task, source)
