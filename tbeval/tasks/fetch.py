"""Bring the tasks of a subset into the cache, in the form that tbeval runs; docs/terminal-bench.md.

One process at a time writes the cache. Each task is converted once for what its files are, checked
by loading it, and entered into the index at once: a fetch that was cut off goes on where it was.
"""

import errno
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from pydantic import ValidationError

from tbeval.settings.base import SettingsError
from tbeval.settings.subset import Subset
from tbeval.settings.wording import listed
from tbeval.tasks.cache import COPIED, Cache, CachedTask, Index, Made
from tbeval.tasks.checkout import CheckoutError, checkout, public_url
from tbeval.tasks.digest import IGNORED, task_digest
from tbeval.tasks.fetched import check_digest, subset_argument
from tbeval.tasks.load import load_task, tasks_directory

GIT = "git"


class Conversion(Protocol):
    """What a converter tells of one task."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """One sentence each."""


@dataclass(frozen=True)
class Converter:
    """What makes a task directory of harbor's from one of terminal-bench v0.1.x.

    Attributes:
        version: Another one converts everything anew.
        convert: From a source directory to a target that does not exist yet.
    """

    version: str
    convert: Callable[[Path, Path], Conversion]


def own_converter() -> Converter:
    """The converter that comes with tbeval."""
    from tbeval.tasks.convert import (  # noqa: PLC0415 - it loads YAML and harbor's models
        CONVERTER_VERSION,
        convert_task,
    )

    return Converter(str(CONVERTER_VERSION), convert_task)


@dataclass
class _Fetch:
    """One fetch under way; `done` grows with each task that is in its place."""

    subset: Subset
    cache: Cache
    converter: Converter
    note: Callable[[str], None]
    done: dict[str, CachedTask]
    failed: dict[str, str] = field(default_factory=dict)


def fetch_tasks(
    subset: Subset,
    *,
    origin: Path | None = None,
    again: bool = False,
    note: Callable[[str], None] = lambda _: None,
    converter: Converter | None = None,
) -> None:
    """See that all tasks of a subset can be run: fetched, converted, and unchanged since.

    Args:
        subset: Whose tasks.
        origin: A directory of task directories to take instead of the subset's source.
        again: Fetch even what is there.
        note: Told how it goes, a line at a time.
        converter: tbeval's own if not given.

    Raises:
        SettingsError: Tasks are missing, cannot be fetched or converted, or are not those that the
            subset's digest stands for. What could be done is in the cache.
    """
    if subset.source.kind == "directory":
        _look(subset, origin, note)
        return
    cache = Cache.of(subset.source)
    with cache.locked(note):
        fetch = _Fetch(subset, cache, converter or own_converter(), note, dict(cache.index().tasks))
        wanted = _wanted(fetch)
        if origin is not None or again:
            wanted = subset.tasks
        if wanted:
            _bring(fetch, wanted, origin, again=again)
        missing = [task for task in subset.tasks if task not in fetch.done | fetch.failed]
        _complain(fetch, missing, origin)
        check_digest(subset, {task: fetch.done[task].source_digest for task in subset.tasks})
    if not wanted:
        note(f"all {len(subset.tasks)} tasks of {subset.name} are there already")


def _look(subset: Subset, origin: Path | None, note: Callable[[str], None]) -> None:
    directory = tasks_directory(subset)
    if origin is not None:
        raise SettingsError(
            f"subset {subset.name} takes its tasks from {directory}: leave --from out."
        )
    for task in subset.tasks:
        load_task(directory / task)
    note(f"all {len(subset.tasks)} tasks of {subset.name} lie in {directory}: nothing to fetch")


def _wanted(fetch: _Fetch) -> tuple[str, ...]:
    """The tasks that are not in the cache as they should be; the others stay in `done`."""
    wanted = []
    for task in fetch.subset.tasks:
        there = fetch.done.get(task)
        if there is not None and there.converter in {COPIED, fetch.converter.version}:
            if fetch.cache.is_intact(there):
                continue
            fetch.note(f"{task}: its files in the cache were changed; making it anew")
        wanted.append(task)
        fetch.done.pop(task, None)
    return tuple(wanted)


def _bring(
    fetch: _Fetch, wanted: tuple[str, ...], origin: Path | None, *, again: bool = False
) -> None:
    if origin is None:
        base, name = _fetched(fetch, wanted, again=again), GIT
    else:
        base, name = _base(fetch.subset, origin), str(origin.resolve())
    there = [task for task in wanted if (base / task).is_dir()]
    for number, task in enumerate(there, 1):
        try:
            fetch.done[task] = _place(fetch, base / task, name)
        except SettingsError as error:
            fetch.failed[task] = str(error)
        state = "failed" if task in fetch.failed else "ready"
        fetch.note(f"[{number}/{len(there)}] {task}: {state}")
        fetch.cache.write_index(Index(tasks=fetch.done))


def _base(subset: Subset, origin: Path) -> Path:
    """The directory that holds the tasks: `--from` itself, or where the repository has them."""
    if not origin.is_dir():
        raise SettingsError(f"--from {origin}: there is no such directory.")
    inside = origin / (subset.source.directory or ".")
    has_none = not any((origin / task).is_dir() for task in subset.tasks)
    return inside if has_none and inside.is_dir() else origin


def _fetched(fetch: _Fetch, wanted: tuple[str, ...], *, again: bool) -> Path:
    """The directory with the sources of the wanted tasks; what it lacks, the repository lacks."""
    source, cache = fetch.subset.source, fetch.cache
    if source.kind != GIT:
        raise SettingsError(
            f'subset {fetch.subset.name}: tasks from "{source.kind}" cannot be fetched yet; fetch '
            "them yourself and use --from DIR."
        )
    before = cache.index().tasks
    absent = [task for task in wanted if again or not _is_kept(cache, task, before.get(task))]
    if not absent:
        return cache.sources
    fetch.note(f"fetching {len(absent)} tasks from {public_url(source.url or '')}")
    with cache.making() as repository:
        try:
            found = checkout(source, absent, repository)
        except CheckoutError as error:
            raise SettingsError(
                f"{str(error).rstrip('.')}; look at the network and the proxy, or take a directory "
                f"of them: tbeval tasks fetch {subset_argument(fetch.subset)} --from DIR."
            ) from error
        for task in absent:
            if (found / task).is_dir() and not (found / task).is_symlink():
                cache.put(found / task, cache.sources / task)
            else:
                shutil.rmtree(cache.sources / task, ignore_errors=True)
    return cache.sources


def _is_kept(cache: Cache, task: str, known: CachedTask | None) -> bool:
    """Whether the source of a task is there, and is what git gave out."""
    if known is None or known.origin != GIT:
        return False
    try:
        return task_digest(cache.sources / task) == known.source_digest
    except OSError:
        return False


def _place(fetch: _Fetch, source: Path, origin: str) -> CachedTask:
    """The task in the cache, converted now or, from the same files, before."""
    cache = fetch.cache
    digest = task_digest(source)
    version = COPIED if (source / "task.toml").is_file() else fetch.converter.version
    place = cache.root / "tasks" / f"{digest}-{version}" / source.name
    record = place.with_name(f".{source.name}")
    made = _made_before(place, record)
    if made is None:
        with cache.making() as directory:
            target = directory / source.name
            warnings = _convert(fetch.converter, source, target)
            made = Made(digest=_digest_of_usable(target, source), warnings=warnings)
            cache.put(target, place)
            (directory / "record").write_text(made.model_dump_json(), encoding="utf-8")
            (directory / "record").replace(record)
    return CachedTask(
        path=str(place.relative_to(cache.root)),
        source_digest=digest,
        converter=version,
        origin=origin,
        **made.model_dump(),
    )


def _made_before(place: Path, record: Path) -> Made | None:
    """What an earlier conversion of the same files left, if it is whole."""
    try:
        made = Made.model_validate_json(record.read_bytes())
        return made if made.digest == task_digest(place) else None
    except (OSError, ValidationError):
        return None


def _convert(converter: Converter, source: Path, target: Path) -> tuple[str, ...]:
    """Make the task directory; returns what the converter has to say of it."""
    if (source / "task.toml").is_file():
        shutil.copytree(source, target, symlinks=True, ignore=shutil.ignore_patterns(*IGNORED))
        return ()
    if not (source / "task.yaml").is_file():
        raise SettingsError(f"{source} has neither a task.toml nor a task.yaml: it is no task.")
    try:
        return converter.convert(source, target).warnings
    except (OSError, ValueError, KeyError, TypeError) as error:
        if isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise  # not this task's doing, and the next one would fare no better
        raise SettingsError(f"{source}: {type(error).__name__}: {error}") from error


def _digest_of_usable(made: Path, source: Path) -> str:
    try:
        return load_task(made).digest
    except SettingsError as error:
        raise SettingsError(str(error).replace(str(made), str(source))) from error


def _complain(fetch: _Fetch, missing: list[str], origin: Path | None) -> None:
    source = fetch.subset.source
    where = origin or f"{public_url(source.url or '')} at {source.commit}"
    told = [f"{task} cannot be used: {why.rstrip('.')}" for task, why in fetch.failed.items()]
    if missing:
        told.insert(0, f"{where} has no directory for {listed(missing)}")
    if told:
        raise SettingsError(
            f"{len(missing) + len(fetch.failed)} of the {len(fetch.subset.tasks)} tasks of subset "
            f"{fetch.subset.name} are not there: {'; '.join(told)}. The others are; take these "
            "from elsewhere with --from DIR, or out of the subset."
        )
