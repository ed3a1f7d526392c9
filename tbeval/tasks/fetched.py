"""The tasks of a subset that `tbeval tasks fetch` brought: found, and seen to be unchanged."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tbeval.settings.base import SettingsError
from tbeval.settings.subset import Subset
from tbeval.settings.subsets import list_subsets
from tbeval.tasks.cache import COPIED, Cache
from tbeval.tasks.digest import subset_digest


@dataclass(frozen=True)
class FetchedTask:
    """A task in the cache.

    Attributes:
        path: Its directory.
        warnings: What the converter had to say of it.
    """

    path: Path
    warnings: tuple[str, ...]


def fetched_tasks(subset: Subset, tasks: Sequence[str]) -> tuple[FetchedTask, ...]:
    """Tasks of a subset in the cache, unchanged since they were put there.

    Raises:
        SettingsError: One is not there, was changed, was made by another version of the converter,
            or the tasks are not those that the subset's digest stands for.
    """
    cache = Cache.of(subset.source)
    known = cache.index().tasks
    say = f"`tbeval tasks fetch {shlex.quote(subset_argument(subset))}`"
    missing = [task for task in tasks if task not in known]
    if missing:
        raise SettingsError(
            f"subset {subset.name} is not fetched yet ({len(missing)} of its tasks, {missing[0]} "
            f"the first of them): run {say}."
        )
    for task in tasks:
        if not cache.is_intact(known[task]):
            place = cache.root / known[task].path
            raise SettingsError(f"task {task}: {place} was changed: {say} makes it anew.")
        if not is_current(known[task].converter):
            raise SettingsError(
                f"task {task}: another version of tbeval converted it: {say} does it again."
            )
    if all(task in known for task in subset.tasks):
        check_digest(subset, {task: known[task].source_digest for task in subset.tasks})
    return tuple(FetchedTask(cache.root / known[task].path, known[task].warnings) for task in tasks)


def is_current(converter: str) -> bool:
    """Whether a task that this version of the converter made is as tbeval makes it now."""
    if converter == COPIED:
        return True
    from tbeval.tasks.convert import CONVERTER_VERSION  # noqa: PLC0415 - only for converted tasks

    return converter == str(CONVERTER_VERSION)


def check_digest(subset: Subset, digests: Mapping[str, str]) -> None:
    """See that tasks are those that the subset's author meant, if he wrote their digest down.

    Args:
        subset: Whose tasks.
        digests: Task id -> digest of its files as they were before any conversion.

    Raises:
        SettingsError: They are others.
    """
    found = subset_digest(digests)
    if subset.digest is not None and subset.digest != found:
        raise SettingsError(
            f"the tasks of subset {subset.name} are not those it was made for: their digest is "
            f"{found}, and {subset.file or 'the subset'} says {subset.digest}; take them from "
            "another place, or correct digest."
        )


def subset_argument(subset: Subset) -> str:
    """What a user types to name this subset."""
    known = list_subsets().get(subset.name)
    return subset.name if subset.file in {None, known} else str(subset.file)
