"""From a subset to its tasks: found, selected, read and checked before anything runs."""

import tomllib
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from tbeval.settings.base import SettingsError
from tbeval.settings.subset import Subset
from tbeval.settings.wording import listed, nearest
from tbeval.tasks.cache import Cache
from tbeval.tasks.digest import task_digest
from tbeval.tasks.fetched import FetchedTask, check_digest, fetched_tasks

if TYPE_CHECKING:
    from harbor.models.task.task import Task

DEFAULT_AGENT_TIMEOUT_SEC = 600.0  # harbor's tasks may leave it open; a trial may not
_PATTERN_CHARACTERS = frozenset("*?[")


@dataclass(frozen=True)
class TaskInfo:
    """What a run has to know about a task.

    Attributes:
        id: Its name in the subset.
        path: Its directory, in harbor's format.
        digest: Of the directory's content; see `task_digest`.
        instruction: What the agent is told, canary lines taken off.
        agent_timeout_sec: The agent's time limit, seconds.
        verifier_timeout_sec: The test script's time limit, seconds.
        difficulty: As its author says; empty if he does not.
        category: The same.
        tags: The same.
        warnings: What harbor and tbeval's converter had to say about its files, one line each.
    """

    id: str
    path: Path
    digest: str
    instruction: str
    agent_timeout_sec: float
    verifier_timeout_sec: float
    difficulty: str = ""
    category: str = ""
    tags: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def load_tasks(
    subset: Subset,
    *,
    select: Sequence[str] = (),
    exclude: Sequence[str] = (),
    difficulty: str | None = None,
) -> tuple[TaskInfo, ...]:
    """Read the tasks of a subset, in its order.

    Args:
        subset: Whose tasks.
        select: Ids or patterns (`git-*`); only these tasks. All if empty.
        exclude: Ids or patterns; not these.
        difficulty: Only tasks whose author says this of them.

    Raises:
        SettingsError: A task is not known, not there, or cannot be used; the message says which
            and what to do.
    """
    chosen = select_tasks(subset, select=select, exclude=exclude)
    if subset.source.kind == "directory":
        directory = tasks_directory(subset)
        tasks = tuple(load_task(directory / task) for task in chosen)
        if len(tasks) == len(subset.tasks):
            check_digest(subset, {task.id: task.digest for task in tasks})
    else:
        tasks = tuple(_converted(task) for task in fetched_tasks(subset, chosen))
    if difficulty is None:
        return tasks
    fits = tuple(task for task in tasks if task.difficulty == difficulty)
    if not fits:
        there = listed(sorted({task.difficulty or "none" for task in tasks}))
        raise SettingsError(
            f'no selected task of subset {subset.name} has difficulty "{difficulty}"; '
            f"there are: {there}."
        )
    return fits


def _converted(task: FetchedTask) -> TaskInfo:
    info = load_task(task.path)
    return replace(info, warnings=(*info.warnings, *task.warnings))


def tasks_here(subset: Subset) -> tuple[str, ...]:
    """The tasks of a subset that lie on this machine, in its order; not, whether they are usable.

    Raises:
        SettingsError: The subset's directory is not there.
    """
    if subset.source.kind == "directory":
        directory = tasks_directory(subset)
        return tuple(task for task in subset.tasks if (directory / task).is_dir())
    known = Cache.of(subset.source).index().tasks
    return tuple(task for task in subset.tasks if task in known)


def tasks_directory(subset: Subset) -> Path:
    """Where the task directories of a subset of kind `directory` lie.

    Raises:
        SettingsError: The subset says nothing that can be used, or there is no such directory.
    """
    where = str(subset.file) if subset.file else f"subset {subset.name}"
    source = subset.source
    if source.kind != "directory":
        raise SettingsError(
            f"{where}: its tasks do not lie in one directory; `tbeval tasks fetch` brings them."
        )
    if source.path is None:
        raise SettingsError(f'{where}: source has no "path"; say where the task directories lie.')
    base = subset.file.parent if subset.file else Path.cwd()
    directory = base / source.path.expanduser()
    if not directory.is_dir():
        raise SettingsError(
            f"{where}: there is no directory {directory} to take tasks from; correct source.path."
        )
    return directory.resolve()


def select_tasks(
    subset: Subset, *, select: Sequence[str] = (), exclude: Sequence[str] = ()
) -> tuple[str, ...]:
    """The ids of a subset that are selected and not excluded, in the subset's order.

    Raises:
        SettingsError: An id or pattern fits no task, or no task is left.
    """
    chosen = _fitting(subset, select) if select else set(subset.tasks)
    chosen -= _fitting(subset, exclude)
    if not chosen:
        raise SettingsError(
            f"no task of subset {subset.name} is left after --tasks and --exclude; leave one of "
            "them out."
        )
    return tuple(task for task in subset.tasks if task in chosen)


def _fitting(subset: Subset, patterns: Iterable[str]) -> set[str]:
    found: set[str] = set()
    for pattern in patterns:
        fits = {task for task in subset.tasks if fnmatchcase(task, pattern)}
        if not fits:
            is_pattern = bool(_PATTERN_CHARACTERS & set(pattern))
            what = "no task fits" if is_pattern else "unknown task"
            hint = "" if is_pattern else nearest(pattern, subset.tasks)
            raise SettingsError(
                f'{what} "{pattern}" in subset {subset.name}{hint}; it has '
                f"{len(subset.tasks)} tasks, {subset.tasks[0]} the first of them."
            )
        found |= fits
    return found


def load_task(path: Path) -> TaskInfo:
    """Read one task directory in harbor's format.

    Raises:
        SettingsError: It is not there or cannot be used.
    """
    if not path.is_dir():
        raise SettingsError(
            f"task {path.name}: there is no directory {path}; take the task out of the subset, or "
            "put its directory there."
        )
    _require(path, "task.toml", "it holds the task's limits")
    _require(path, "instruction.md", "it tells the agent what to do")
    _require_single_step(path)
    _require(path, "tests/test.sh", "without tests nothing can be scored")
    task, told = _read(path)
    config = task.config
    metadata = config.metadata
    return TaskInfo(
        id=path.name,
        path=path,
        digest=task_digest(path),
        instruction=str(task.instruction),
        agent_timeout_sec=_seconds(path, "agent", config.agent.timeout_sec),
        verifier_timeout_sec=_seconds(path, "verifier", config.verifier.timeout_sec),
        difficulty=str(metadata.get("difficulty") or ""),
        category=str(metadata.get("category") or ""),
        tags=tuple(str(tag) for tag in _list(metadata.get("tags"))),
        warnings=told,
    )


def _require(path: Path, name: str, why: str) -> None:
    if not (path / name).is_file():
        raise SettingsError(f"task {path.name}: {path / name} is missing; {why}.")


def _require_single_step(path: Path) -> None:
    """Refuse what our verifier cannot score, before harbor checks the rest of it."""
    try:
        config = tomllib.loads((path / "task.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SettingsError(f"task {path.name}: {path / 'task.toml'}: {_line(error)}.") from error
    if config.get("steps"):
        raise SettingsError(
            f"task {path.name}: it has several steps ([[steps]] in task.toml), which tbeval "
            "cannot score yet; take it out of the subset."
        )
    verifier = config.get("verifier")
    if isinstance(verifier, dict) and (
        verifier.get("environment_mode") == "separate" or "environment" in verifier
    ):
        raise SettingsError(
            f"task {path.name}: its tests run in a sandbox of their own ([verifier.environment] "
            "in task.toml), which tbeval cannot do yet; take it out of the subset."
        )


def _read(path: Path) -> "tuple[Task, tuple[str, ...]]":
    from harbor.models.task.task import Task  # noqa: PLC0415 - half a second, where it is needed

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            task = Task(path)
        except (OSError, ValueError, RuntimeError) as error:
            where = path / "task.toml"
            raise SettingsError(f"task {path.name}: {where}: {_line(error)}.") from error
    return task, tuple(dict.fromkeys(_line(warning.message) for warning in caught))


def _line(error: object) -> str:
    """What harbor, pydantic or TOML say, in one line without the pointer to pydantic's pages."""
    lines = [line.strip() for line in str(error).splitlines()]
    text = "; ".join(
        line.split(" [type=")[0]
        for line in lines
        if line and not line.startswith("For further information")
    )
    return text.rstrip(".")


def _seconds(path: Path, part: str, seconds: float | None) -> float:
    if seconds is None:
        return DEFAULT_AGENT_TIMEOUT_SEC
    if not 0 < seconds < float("inf"):
        raise SettingsError(
            f"task {path.name}: {path / 'task.toml'}: timeout_sec of [{part}] is {seconds}; it "
            "must be a number of seconds above 0."
        )
    return float(seconds)


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []
