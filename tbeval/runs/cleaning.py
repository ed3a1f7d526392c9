"""What killed runs left on this machine, and its removal. Each kind has its own finder."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tbeval.records.scratch import dead_scratch
from tbeval.sandboxes import state
from tbeval.sandboxes.docker.engine import engine_is_expected


@dataclass(frozen=True)
class Leftover:
    """Something that belongs to a process that is dead.

    Attributes:
        what: Kind and name, for people.
        remove: Removes it; tells whether it is gone.
    """

    what: str
    remove: Callable[[], bool]


Finder = Callable[[], Iterator[Leftover]]


def _sandboxes() -> Iterator[Leftover]:
    for record in state.orphans():
        what = f"sandbox {record.number} of run {record.run_id}"
        yield Leftover(what, partial(state.remove, record))


def _engine() -> Iterator[Leftover]:
    if not engine_is_expected():
        return
    from tbeval.sandboxes.docker.leftovers import find_leftovers  # noqa: PLC0415 - slow to import

    for one in find_leftovers():
        yield Leftover(one.what, one.remove)


def _scratch() -> Iterator[Leftover]:
    for path in dead_scratch():
        yield Leftover(f"scratch directory {path}", partial(_remove_directory, path))


def _remove_directory(path: Path) -> bool:
    shutil.rmtree(path, ignore_errors=True)
    return not path.exists()


#: A kind of sandbox that leaves more brings its own.
FINDERS: tuple[Finder, ...] = (_sandboxes, _engine, _scratch)


def leftovers() -> tuple[Leftover, ...]:
    """Everything that dead runs left here; what belongs to a living one is not among it."""
    return tuple(found for finder in FINDERS for found in finder())


def clean() -> int:
    """Remove it all; returns how many things."""
    return sum(leftover.remove() for leftover in leftovers())
