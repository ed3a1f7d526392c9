"""The figures of one run, computed from run.toml and the ledger alone."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from tbeval.records.run import OURS
from tbeval.results.run_results import RunResults, read_results
from tbeval.stats.passk import TaskMean, mean_over_tasks, pass_at_k

if TYPE_CHECKING:
    from tbeval.records.run import RunRecord
    from tbeval.results.cells import Cell


@dataclass(frozen=True)
class TaskRow:
    """One task of a run.

    Attributes:
        task: Its id.
        scored: Attempts with a verdict.
        solved: Attempts solved.
        score: Mean of passed over collected tests, over scored attempts; None without any.
        unscored: Reason → attempts that ran without a verdict.
        not_run: Attempts that have not run yet.
        stop_reasons: Why the agent stopped → attempts.
    """

    task: str
    scored: int
    solved: int
    score: float | None
    unscored: Mapping[str, int]
    not_run: int
    stop_reasons: Mapping[str, int]


@dataclass(frozen=True)
class RunSummary:
    """What a run says.

    `pass_at` and `score` count attempts with a verdict only; `pass_at_planned` and
    `score_planned` count every planned attempt without one as 0. `unscored` are attempts that ran
    without a verdict, `not_run` those that have not run yet: planned = scored + unscored + not_run.
    """

    directory: Path
    run: "RunRecord"
    rows: tuple[TaskRow, ...]
    pass_at: Mapping[int, TaskMean]  # k → mean over the tasks with at least k scored attempts
    pass_at_planned: Mapping[int, float]
    score: TaskMean
    score_planned: float
    unscored: Mapping[str, int]
    stop_reasons: Mapping[str, int]
    limits_hit: Mapping[str, int]
    tries: int  # trials in the ledger: retries included
    tokens_in: int
    tokens_out: int
    wall_sec: float
    model_sec: float | None  # all trials together: waiting for the model's answers; None: not told
    command_sec: float | None  # the rest of their agents' time: commands, screens, the harness
    time_limited: int  # scored cells whose agent was ended by its time limit

    @property
    def planned(self) -> int:
        """Number of cells."""
        return self.run.planned

    @property
    def scored(self) -> int:
        """Cells with a verdict."""
        return sum(row.scored for row in self.rows)

    @property
    def not_run(self) -> int:
        """Cells that have not run yet."""
        return sum(row.not_run for row in self.rows)

    @property
    def solved_trials(self) -> int:
        """Cells solved."""
        return sum(row.solved for row in self.rows)

    @property
    def unique_solved(self) -> int:
        """Tasks solved at least once."""
        return sum(row.solved > 0 for row in self.rows)

    @property
    def unfinished(self) -> bool:
        """Whether cells have not run, or were interrupted while they did."""
        return self.not_run > 0 or "cancelled" in self.unscored

    @property
    def completeness(self) -> float:
        """Scored over planned cells, 0 to 1."""
        return self.scored / self.planned if self.planned else 0.0


def summarise_results(results: RunResults) -> RunSummary:
    """Compute the figures of a run."""
    run = results.run
    ours = run.source == OURS
    by_task: dict[str, list[Cell]] = {task.id: [] for task in run.tasks}
    for cell in results.cells:
        by_task[cell.task].append(cell)
    rows = tuple(_row(task, cells) for task, cells in by_task.items())
    ks = range(1, run.attempts + 1)
    ran = [cell.trial for cell in results.cells if cell.trial is not None]
    return RunSummary(
        directory=results.directory,
        run=run,
        rows=rows,
        pass_at={
            k: mean_over_tasks(pass_at_k(row.scored, row.solved, k) for row in rows) for k in ks
        },
        pass_at_planned={
            k: mean_over_tasks(
                pass_at_k(run.attempts_at(task), row.solved, k)
                for task, row in zip(run.tasks, rows, strict=True)
            ).value
            or 0.0
            for k in ks
        },
        score=mean_over_tasks(row.score for row in rows),
        score_planned=sum(cell.score or 0.0 for cell in results.cells) / (run.planned or 1),
        unscored=_counts(cell.unscored for cell in results.cells),
        stop_reasons=_counts(_stop_reason(cell) for cell in results.cells),
        limits_hit=_counts(limit for trial in ran for limit in set(trial.limits_hit)),
        tries=len(results.trials),
        tokens_in=results.tokens_in,
        tokens_out=results.tokens_out,
        wall_sec=results.wall_sec,
        # no other harness tells how long its agents waited for the model
        model_sec=sum(trial.model_seconds for trial in results.trials) if ours else None,
        command_sec=sum(trial.command_seconds for trial in results.trials) if ours else None,
        time_limited=sum(_time_limited(cell) for cell in results.cells),
    )


def summarise(directory: Path) -> RunSummary:
    """The figures of the run in a directory.

    Raises:
        RunFileError: run.toml is absent or cannot be read.
        LedgerError: The ledger has a corrupt line, or does not fit the plan.
    """
    return summarise_results(read_results(directory))


def _row(task: str, cells: "list[Cell]") -> TaskRow:
    scores = [cell.score for cell in cells if cell.score is not None]
    return TaskRow(
        task=task,
        scored=len(scores),
        solved=sum(cell.solved for cell in cells),
        score=fmean(scores) if scores else None,
        unscored=_counts(cell.unscored for cell in cells),
        not_run=sum(cell.trial is None for cell in cells),
        stop_reasons=_counts(_stop_reason(cell) for cell in cells),
    )


def _stop_reason(cell: "Cell") -> str | None:
    return str(cell.trial.stop_reason) if cell.trial and cell.trial.stop_reason else None


def _time_limited(cell: "Cell") -> bool:
    return cell.score is not None and _stop_reason(cell) == "time limit"


def _counts(words: Iterable[str | None]) -> Mapping[str, int]:
    """How often each word occurs, the most frequent first, then by name."""
    counts = Counter(word for word in words if word)
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
