"""The plan of a run: which cells, in which order, and the names of their trials."""

import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tbeval.records.ledger import TrialRecord
from tbeval.tasks.load import TaskInfo

#: How often a cell is tried until it has a verdict.
MAX_TRIES = 3


@dataclass(frozen=True)
class Cell:
    """One task × one attempt."""

    task: TaskInfo
    attempt: int

    @property
    def key(self) -> tuple[str, int]:
        """What the ledger calls this cell."""
        return self.task.id, self.attempt


def plan_cells(
    tasks: Iterable[TaskInfo], attempts: int, expected: Mapping[str, float] | None = None
) -> tuple[Cell, ...]:
    """All cells of a run, those that may take longest first.

    Long trials at the end of a run leave the other places idle. Until a task has a history its
    time limit is the best guess; among equals the first attempts of all tasks come before the
    second ones, so that an interrupted run has seen every task.

    Args:
        tasks: Of the run.
        attempts: At each of them.
        expected: Task id -> seconds that a trial took before, where known.
    """
    known = expected or {}

    def order(cell: Cell) -> tuple[float, int]:
        return -known.get(cell.task.id, cell.task.agent_timeout_sec), cell.attempt

    cells = [Cell(task, attempt) for task in tasks for attempt in range(1, attempts + 1)]
    return tuple(sorted(cells, key=order))


def new_run_id(now: datetime | None = None) -> str:
    """A run id: UTC time and a random tail, URL-safe and unique on this engine."""
    moment = now or datetime.now(UTC)
    return f"{moment:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


def trial_id(cell: Cell, try_number: int, run_id: str) -> str:
    """The trial's name for harbor, the sandbox and the gateway: `<task>.<attempt>.<try>-<run>`."""
    return f"{cell.task.id}.{cell.attempt}.{try_number}-{run_id}"


def next_try(cell: Cell, records: Iterable[TrialRecord], trials_dir: Path) -> int:
    """1 + the highest try of a cell in the ledger or on disk.

    A try that was killed has no line in the ledger but a directory, which harbor would reuse,
    stale files included.
    """
    tries = [record.try_number for record in records if record.cell == cell.key]
    name = re.compile(rf"{re.escape(cell.task.id)}\.{cell.attempt}\.(\d+)-")
    if trials_dir.is_dir():
        found = (name.match(entry.name) for entry in trials_dir.iterdir())
        tries.extend(int(match[1]) for match in found if match)
    return 1 + max(tries, default=0)


def open_cells(
    cells: Sequence[Cell], records: Sequence[TrialRecord], forgiven: int = 0
) -> tuple[Cell, ...]:
    """The cells that still want a trial, in the order given.

    A cell is done when it has a verdict, when its task is broken, or when it was tried
    `MAX_TRIES` times; a cancelled try does not count.

    Args:
        cells: Of the plan.
        records: The ledger's.
        forgiven: So many records at the start do not count as tries (`--retry-unscored`).
    """
    wanted = set(open_keys((cell.key for cell in cells), records, forgiven))
    return tuple(cell for cell in cells if cell.key in wanted)


def open_keys(
    keys: Iterable[tuple[str, int]], records: Sequence[TrialRecord], forgiven: int = 0
) -> tuple[tuple[str, int], ...]:
    """The same for cells by what the ledger calls them: task and attempt."""
    done: set[tuple[str, int]] = set()
    tries: dict[tuple[str, int], int] = {}
    for number, record in enumerate(records):
        if not record.outcome.retried:
            done.add(record.cell)
        elif record.outcome.reason != "cancelled" and number >= forgiven:
            tries[record.cell] = tries.get(record.cell, 0) + 1
    return tuple(key for key in keys if key not in done and tries.get(key, 0) < MAX_TRIES)
