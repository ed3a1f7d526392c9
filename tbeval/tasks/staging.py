"""The directories that the verifier brings into a sandbox, made on the host."""

import configparser
import shutil
import stat
import tomllib
from pathlib import Path

from harbor.models.task.task import Task
from harbor.utils.file_staging import selected_directory

from tbeval.tasks.reports import PLUGIN

#: What pytest takes for its configuration, whatever is in it.
_ALWAYS = ("pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml")
_FENCE = """\
# Written by tbeval: pytest looks for its configuration in the directories above the tests until
# it finds one, and what it would find there may be the agent's.
[pytest]
"""


def stage_tests(task: Task, target: Path) -> str:
    """Copy a task's tests, as harbor selects them, and fence them off.

    Args:
        task: harbor's `Task`.
        target: A directory that does not exist yet.

    Returns:
        The path of the test script, relative to `target`.

    Raises:
        FileNotFoundError: The task has no test script.
        ValueError: The script is excluded, or a link leads out of the task.
    """
    tests = task.paths.tests_dir
    script = task.paths.discovered_test_path_for(task.config.environment.os)
    if script is None:
        raise FileNotFoundError(f"no test script in {tests}")
    task.file_filter.require_included(script)
    with selected_directory(task.file_filter.select(tests)) as selected:
        shutil.copytree(selected, target, symlinks=True)
    relative = Path(script).relative_to(tests)
    staged = target / relative
    staged.chmod(staged.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    if not has_pytest_config(target):
        (target / "pytest.ini").write_text(_FENCE, encoding="utf-8")
    return relative.as_posix()


def stage_plugin(target: Path) -> None:
    """Put the reporting plugin, under the name that it has in sandboxes, into a new directory."""
    target.mkdir()
    shutil.copyfile(Path(__file__).with_name("report_plugin.py"), target / f"{PLUGIN}.py")


def has_pytest_config(directory: Path) -> bool:
    """Whether pytest would take a file of this directory for its configuration."""
    if any((directory / name).is_file() for name in _ALWAYS):
        return True
    return (
        _has_ini_section(directory / "tox.ini", "pytest")
        or _has_ini_section(directory / "setup.cfg", "tool:pytest")
        or _has_toml_table(directory / "pyproject.toml")
    )


def _has_ini_section(path: Path, section: str) -> bool:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read(path, encoding="utf-8")
    except (configparser.Error, ValueError):
        return False
    return parser.has_section(section)


def _has_toml_table(path: Path) -> bool:
    try:
        tool = tomllib.loads(path.read_text(encoding="utf-8")).get("tool", {})
    except (OSError, ValueError):
        return False
    return isinstance(tool, dict) and "pytest" in tool
