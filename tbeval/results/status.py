"""How far a run is, from its files alone: run.toml, the ledger and progress.json."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

from tbeval.records.ledger import TrialRecord
from tbeval.records.progress import RunningTrial, read_progress
from tbeval.records.run import RunRecord
from tbeval.results.cells import Cell
from tbeval.results.run_results import read_results

State = Literal["running", "unfinished", "finished"]

#: A run writes its heartbeat every 5 s; one that is older is that of a run that was killed.
STALE_SEC = 30.0


@dataclass(frozen=True)
class RunStatus:
    """How far a run is.

    Attributes:
        state: `running`: a process works on it now; `unfinished`: none does, and cells are left.
        done: Cells that have run, whether they got a verdict or not, and do not run now.
        solved: Cells that are solved.
        unscored: Why cells that have run have no verdict -> how many.
        running: The trials that run now.
        waiting: Cells that have not run and do not run now.
        ends: When the run ends if the rest takes as long as what has ended; None if unknown.
        heard: The last heartbeat; None if the run left none.
    """

    directory: Path
    run: RunRecord
    state: State
    done: int
    solved: int
    unscored: Mapping[str, int]
    running: tuple[RunningTrial, ...]
    waiting: int
    ends: datetime | None
    heard: datetime | None

    def as_dict(self, now: datetime) -> dict[str, Any]:
        """The status as plain data, for machines; seconds are as of `now`."""
        return {
            "checkpoint": self.run.checkpoint,
            "run_id": self.run.run_id,
            "begun": self.run.created.isoformat(),
            "subset": self.run.subset,
            "agent": self.run.agent,
            "state": self.state,
            "planned": self.run.planned,
            "done": self.done,
            "solved": self.solved,
            "unscored": sum(self.unscored.values()),
            "unscored_reasons": dict(self.unscored),
            "waiting": self.waiting,
            "running": [
                {
                    "trial_id": trial.trial_id,
                    "task": trial.task,
                    "attempt": trial.attempt,
                    "try": trial.try_number,
                    "phase": trial.phase,
                    "phase_seconds": seconds_since(trial.entered, now),
                    "seconds": seconds_since(trial.began, now),
                    "calls": trial.calls,
                }
                for trial in self.running
            ],
            "estimated_end": self.ends.isoformat() if self.ends else None,
            "heartbeat": self.heard.isoformat() if self.heard else None,
        }


def seconds_since(moment: datetime, now: datetime) -> float:
    """Seconds from a moment to now; never negative, whatever the clocks of two machines say."""
    return max(0.0, (now - moment).total_seconds())


def read_status(directory: Path, now: datetime | None = None) -> RunStatus:
    """How far a run is now.

    Raises:
        RunFileError: run.toml is absent or cannot be read.
        LedgerError: The ledger has a corrupt line, or does not fit the plan.
    """
    moment = now or datetime.now(UTC)
    # Before the ledger: a trial that ends in between is counted as done, and never lost.
    progress = read_progress(directory)
    results = read_results(directory)
    alive = (
        progress is not None
        and abs(moment - progress.written) < timedelta(seconds=STALE_SEC)
        and not progress.process.surely_dead
    )
    ended = {trial.trial_id for trial in results.trials}
    trials = progress.running if progress is not None and alive else ()
    running = tuple(trial for trial in trials if trial.trial_id not in ended)
    busy = {(trial.task, trial.attempt) for trial in running}
    idle = [cell for cell in results.cells if (cell.task, cell.attempt) not in busy]
    waiting = [cell for cell in idle if is_open(cell)]
    ends = None
    if progress is not None and alive:
        ends = estimated_end(results.trials, running, waiting, progress.concurrency, moment)
    return RunStatus(
        directory=directory,
        run=results.run,
        state="running" if alive else "unfinished" if waiting else "finished",
        done=len(idle) - len(waiting),
        solved=sum(cell.solved for cell in results.cells),
        unscored=Counter(cell.unscored for cell in idle if cell.unscored and not is_open(cell)),
        running=running,
        waiting=len(waiting),
        ends=ends,
        heard=progress.written if progress is not None else None,
    )


def is_open(cell: Cell) -> bool:
    """Whether a cell has not run yet, or was only interrupted.

    One that failed for another reason counts as done, though the run may try it again at its end.
    """
    return cell.trial is None or cell.unscored == "cancelled"


def estimated_end(
    ended: Iterable[TrialRecord],
    running: Sequence[RunningTrial],
    waiting: Sequence[Cell],
    concurrency: int,
    now: datetime,
) -> datetime | None:
    """When a run ends if each trial takes as long as the ended ones of its task did.

    Of a task without an ended trial, as long as the mean over all. The work that is left is shared
    evenly, and the run lasts at least as long as its longest trial; trying again is not counted.
    None while no trial has a verdict.
    """
    by_task: dict[str, list[float]] = defaultdict(list)
    for trial in ended:
        if trial.outcome.scored:
            by_task[trial.task].append(sum(phase.seconds for phase in trial.phases))
    if not by_task:
        return None
    means = {task: fmean(times) for task, times in by_task.items()}
    mean = fmean(seconds for times in by_task.values() for seconds in times)
    left = [
        max(0.0, means.get(trial.task, mean) - seconds_since(trial.began, now)) for trial in running
    ]
    left += [means.get(cell.task, mean) for cell in waiting]
    seconds = max(sum(left) / concurrency, *left, 0.0)
    return now + timedelta(seconds=seconds)
