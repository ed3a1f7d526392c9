"""Whether two measurements can be compared, and what speaks against it."""

from dataclasses import dataclass
from typing import Any

from tbeval.records.measured import Measured
from tbeval.records.run import OURS

#: Shares of trials that ran out of time may differ by so much before that is worth a word.
TIME_LIMITED_POINTS = 0.05

_SHOWN_TASKS = 5


@dataclass(frozen=True)
class Difference:
    """Something in which two measurements differ.

    Attributes:
        what: The setting.
        base: Its value in the first.
        other: And in the second.
        refuses: Whether it makes a comparison meaningless; otherwise it is worth a warning.
    """

    what: str
    base: str
    other: str
    refuses: bool

    def __str__(self) -> str:
        return f"{self.what}: {self.base} \N{RIGHTWARDS ARROW} {self.other}"


def differences(base: Measured, other: Measured) -> tuple[Difference, ...]:
    """In what two measurements differ: refusals first.

    The set of tasks, their digests, attempts, and every setting that affects a score refuse a
    comparison; versions of tbeval and the engine, and shares of trials ended by time that differ by
    more than 5 points, are warnings. Settings of another harness's run are not known, which is a
    warning as well.
    """
    found = [*_tasks(base, other), *_settings(base, other)]
    found += [
        Difference(f"{change.setting}, changed in mid-run", change.then, change.now, refuses=True)
        for change in (*base.changes, *other.changes)
    ]
    found += [
        Difference(f"version of {name}", mine, theirs, refuses=False)
        for name, mine, theirs in _unequal(base.versions, other.versions)
        if name == "tbeval"
    ]
    found += [
        Difference(f"engine's {name}", mine, theirs, refuses=False)
        for name, mine, theirs in _unequal(base.engine, other.engine)
    ]
    if abs(base.time_limited - other.time_limited) > TIME_LIMITED_POINTS:
        mine, theirs = (f"{100 * each.time_limited:.1f} %" for each in (base, other))
        found.append(Difference("trials ended by the time limit", mine, theirs, refuses=False))
    return tuple(sorted(found, key=lambda difference: not difference.refuses))


def common_tasks(base: Measured, other: Measured) -> tuple[Measured, Measured]:
    """Both, restricted to the tasks that have the same id and digest in both."""
    mine = {(task.id, task.digest) for task in base.tasks}
    shared = mine & {(task.id, task.digest) for task in other.tasks}
    return _only(base, shared), _only(other, shared)


def _only(measured: Measured, tasks: set[tuple[str, str]]) -> Measured:
    kept = tuple(task for task in measured.tasks if (task.id, task.digest) in tasks)
    return measured.model_copy(update={"tasks": kept})


def _tasks(base: Measured, other: Measured) -> list[Difference]:
    mine = {task.id: task for task in base.tasks}
    theirs = {task.id: task for task in other.tasks}
    found = []
    if mine.keys() != theirs.keys():
        found.append(
            Difference(
                "tasks",
                _named(sorted(mine.keys() - theirs.keys()), len(mine)),
                _named(sorted(theirs.keys() - mine.keys()), len(theirs)),
                refuses=True,
            )
        )
    shared = [task for task in mine if task in theirs]
    changed = [task for task in shared if mine[task].digest != theirs[task].digest]
    if changed:
        what = f"contents of {_few(changed)}"
        found.append(Difference(what, "as measured then", "changed since", refuses=True))
    uneven = [
        task for task in mine if task in theirs and mine[task].planned != theirs[task].planned
    ]
    if uneven and base.attempts == other.attempts:
        mine_n, theirs_n = (
            "/".join(str(each[task].planned) for task in uneven[:_SHOWN_TASKS])
            for each in (mine, theirs)
        )
        found.append(Difference(f"attempts at {_few(uneven)}", mine_n, theirs_n, refuses=True))
    if base.attempts != other.attempts:
        found.append(Difference("attempts", str(base.attempts), str(other.attempts), refuses=True))
    return found


def _settings(base: Measured, other: Measured) -> list[Difference]:
    if base.source != other.source:
        return [Difference("harness", base.source, other.source, refuses=True)]
    found = [
        Difference(name, mine, theirs, refuses=True)
        for name, mine, theirs in _unequal(base.settings, other.settings)
        if name != "attempts"
    ]
    if base.source != OURS:
        what = "settings of the other harness"
        found.append(Difference(what, "not known", "not known", refuses=False))
    return found


def _unequal(mine: dict[str, Any], theirs: dict[str, Any]) -> list[tuple[str, str, str]]:
    absent = "not set"
    return [
        (name, str(mine.get(name, absent)), str(theirs.get(name, absent)))
        for name in sorted(mine.keys() | theirs.keys())
        if mine.get(name, absent) != theirs.get(name, absent)
    ]


def _named(extra: list[str], number: int) -> str:
    return f"{number}" + (f", {_few(extra)} only here" if extra else "")


def _few(names: list[str]) -> str:
    shown = ", ".join(names[:_SHOWN_TASKS])
    more = len(names) - _SHOWN_TASKS
    return f"{shown} and {more} more" if more > 0 else shown
