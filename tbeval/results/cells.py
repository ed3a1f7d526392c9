"""From the ledger's trials to the result of each cell."""

from collections import defaultdict
from collections.abc import Iterable

from tbeval.records.base import Record
from tbeval.records.ledger import LedgerError, TrialRecord
from tbeval.records.run import RunRecord


class Cell(Record):
    """One attempt at one task, and what came of it.

    Attributes:
        task: The task's id.
        attempt: From 1.
        tries: How many trials it took so far.
        trial: Its one scored trial; while it has none, its last unscored one; None if it has not
            run.
    """

    task: str
    attempt: int
    tries: int
    trial: TrialRecord | None

    @property
    def scored(self) -> bool:
        """Whether there is a verdict."""
        return self.trial is not None and self.trial.outcome.scored

    @property
    def solved(self) -> bool:
        """Whether there is a verdict and it is `solved`."""
        return self.trial is not None and self.trial.outcome == "solved"

    @property
    def score(self) -> float | None:
        """Passed over collected tests; None without a verdict."""
        return self.trial.score if self.trial is not None and self.scored else None

    @property
    def unscored(self) -> str | None:
        """Why it ran without a verdict; None if it has one or has not run."""
        return self.trial.outcome.reason or None if self.trial is not None else None


def cells_of(
    run: RunRecord, trials: Iterable[TrialRecord], name: str = "ledger.jsonl"
) -> tuple[Cell, ...]:
    """The cells of a run in the order of its tasks and attempts.

    Args:
        run: The plan.
        trials: The ledger's records, in the order in which they were written.
        name: The ledger's name, for messages.

    Raises:
        LedgerError: A trial belongs to no planned cell, a cell has two verdicts, or a verdict
            contradicts its own numbers.
    """
    planned = {
        (task.id, attempt): None
        for task in run.tasks
        for attempt in range(1, run.attempts_at(task) + 1)
    }
    by_cell: dict[tuple[str, int], list[TrialRecord]] = defaultdict(list)
    for trial in trials:
        if trial.cell not in planned:
            raise LedgerError(
                f"{name}: trial {trial.trial_id} is attempt {trial.attempt} at {trial.task}, which "
                f"run {run.run_id} does not plan; ledger and run.toml are not of one run."
            )
        _check_verdict(trial, name)
        by_cell[trial.cell].append(trial)
    return tuple(
        Cell(
            task=task,
            attempt=attempt,
            tries=len(by_cell[task, attempt]),
            trial=_result(by_cell[task, attempt], name),
        )
        for task, attempt in planned
    )


def _result(trials: list[TrialRecord], name: str) -> TrialRecord | None:
    scored = [trial for trial in trials if trial.outcome.scored]
    if len(scored) > 1:
        ids = " and ".join(trial.trial_id for trial in scored)
        raise LedgerError(
            f"{name}: attempt {scored[0].attempt} at {scored[0].task} has {len(scored)} verdicts "
            f"({ids}); a cell has one. Remove all but one."
        )
    if scored:
        return scored[0]
    return trials[-1] if trials else None


def _check_verdict(trial: TrialRecord, name: str) -> None:
    scored = trial.outcome.scored
    agrees = (
        trial.score is not None and trial.solved is (trial.outcome == "solved")
        if scored
        else trial.score is None and trial.solved is None
    )
    if agrees and trial.solved:
        agrees = trial.score == 1
    if not agrees:
        raise LedgerError(
            f"{name}: trial {trial.trial_id} says {trial.outcome}, score {trial.score} and solved "
            f"{trial.solved}, which contradict each other; restore the ledger from a copy."
        )
