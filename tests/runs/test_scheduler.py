"""The scheduler: every cell once, durable before reported, one failure never touches another."""

import asyncio
import errno
from pathlib import Path

import pytest

from tbeval.records.ledger import LedgerWriter, TrialRecord, read_ledger
from tbeval.records.outcome import Outcome
from tbeval.runs.plan import MAX_TRIES, Cell, plan_cells
from tbeval.runs.scheduler import Scheduler
from tests.made_up_runs import make_task, make_trial


class Listener:
    """Notes what it is told, and what the ledger held at that moment."""

    def __init__(self, ledger: Path) -> None:
        self.ledger = ledger
        self.ended: list[TrialRecord] = []
        self.notes: list[str] = []

    def trial_started(self, trial_id: str, task: str, attempt: int, try_number: int) -> None: ...

    def trial_phase(self, trial_id: str, phase: str) -> None: ...

    def trial_ended(self, record: TrialRecord) -> None:
        assert record in read_ledger(self.ledger).records, "reported before it was durable"
        self.ended.append(record)

    def note(self, sentence: str) -> None:
        self.notes.append(sentence)


class Trials:
    """Trials that end as told; counts how many run at once."""

    def __init__(self, outcomes: dict[str, list[Outcome]] | None = None) -> None:
        self.outcomes = outcomes or {}
        self.at_once = 0
        self.most = 0
        self.calls: list[tuple[str, int, int, int]] = []
        self.release: asyncio.Event | None = None
        self.two_run = asyncio.Event()

    async def __call__(self, cell: Cell, try_number: int) -> TrialRecord:
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        self.calls.append((*cell.key, try_number, self.at_once))
        if self.at_once == 2:
            self.two_run.set()
        try:
            await (self.release.wait() if self.release else asyncio.sleep(0))
        except asyncio.CancelledError:
            return make_trial(*cell.key, Outcome.CANCELLED, number=try_number)
        finally:
            self.at_once -= 1
        told = self.outcomes.get(cell.task.id, [Outcome.UNSOLVED])
        outcome = told[min(try_number, len(told)) - 1]
        return make_trial(*cell.key, outcome, number=try_number)


def scheduler(path: Path, trials: Trials, writer: LedgerWriter) -> tuple[Scheduler, Listener]:
    records: list[TrialRecord] = []
    listener = Listener(path)

    def next_try(cell: Cell) -> int:
        return 1 + sum(record.cell == cell.key for record in records)

    return Scheduler(trials, next_try, writer, listener, records), listener


async def test_every_cell_runs_once_within_the_concurrency(tmp_path: Path) -> None:
    path, trials = tmp_path / "ledger.jsonl", Trials()
    cells = plan_cells([make_task(name) for name in "abcd"], 3)
    with LedgerWriter(path) as writer:
        schedule, listener = scheduler(path, trials, writer)
        await schedule.run(cells, 5)
    assert trials.most == 5
    assert sorted((task, attempt) for task, attempt, _, _ in trials.calls) == sorted(
        cell.key for cell in cells
    )
    assert len(listener.ended) == 12


async def test_unscored_cells_are_tried_again_at_the_end_with_half_the_concurrency(
    tmp_path: Path,
) -> None:
    path = tmp_path / "ledger.jsonl"
    trials = Trials(
        {
            "a": [Outcome.SANDBOX, Outcome.SOLVED],
            "b": [Outcome.VERIFIER],
            "c": [Outcome.TASK],
            "d": [Outcome.SOLVED],
        }
    )
    cells = plan_cells([make_task(name) for name in "abcd"], 2)
    with LedgerWriter(path) as writer:
        schedule, listener = scheduler(path, trials, writer)
        await schedule.run(cells, 4)
    tries = {
        task: max(number for name, _, number, _ in trials.calls if name == task) for task in "abcd"
    }
    assert tries == {"a": 2, "b": MAX_TRIES, "c": 1, "d": 1}
    first_again = next(i for i, call in enumerate(trials.calls) if call[2] == 2)
    assert all(call[2] == 1 for call in trials.calls[:8])
    assert first_again == 8
    assert max(call[3] for call in trials.calls[8:]) == 2
    assert listener.notes == ["trying 4 unscored cells again", "trying 2 unscored cells again"]


async def test_stop_ends_running_trials_as_cancelled_and_starts_no_more(tmp_path: Path) -> None:
    path, trials = tmp_path / "ledger.jsonl", Trials()
    trials.release = asyncio.Event()
    cells = plan_cells([make_task(name) for name in "abcdef"], 1)
    with LedgerWriter(path) as writer:
        schedule, listener = scheduler(path, trials, writer)
        running = asyncio.create_task(schedule.run(cells, 2))
        await trials.two_run.wait()
        schedule.stop()
        await running
    assert [record.outcome for record in listener.ended] == [Outcome.CANCELLED] * 2
    assert len(trials.calls) == 2


async def test_a_ledger_that_cannot_be_written_stops_the_run_and_its_trials() -> None:
    path, trials = Path("/dev/full"), Trials()
    cells = plan_cells([make_task(name) for name in "abcdef"], 1)
    with LedgerWriter(path) as writer:
        schedule, listener = scheduler(path, trials, writer)
        with pytest.raises(OSError) as caught:
            await schedule.run(cells, 2)
    assert caught.value.errno == errno.ENOSPC
    assert listener.ended == []
    assert trials.at_once == 0
    assert len(trials.calls) <= 2


async def test_a_task_that_must_be_alone_runs_beside_no_other(tmp_path: Path) -> None:
    path, trials = tmp_path / "ledger.jsonl", Trials({"b": [Outcome.SANDBOX, Outcome.SOLVED]})
    cells = plan_cells([make_task(name) for name in "abc"], 2)
    with LedgerWriter(path) as writer:
        schedule, listener = scheduler(path, trials, writer)
        schedule.alone = frozenset("b")
        await schedule.run(cells, 6)
    beside = {(task, try_number): at_once for task, _, try_number, at_once in trials.calls}
    assert beside["b", 1] == beside["b", 2] == 1
    assert trials.most == 4
    assert [task for task, *_ in trials.calls][-4:] == ["b"] * 4
    assert len(listener.ended) == 8
