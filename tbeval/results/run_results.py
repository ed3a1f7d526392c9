"""A run as read back from disk: run.toml and the ledger, nothing else."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from tbeval.records.ledger import TrialRecord, read_ledger
from tbeval.records.run import LEDGER_FILE, RunRecord, read_run
from tbeval.results.bulk import collector_paused
from tbeval.results.cells import Cell, cells_of


@dataclass(frozen=True)
class RunResults:
    """What a run planned and what came of it.

    Attributes:
        directory: Where it lies.
        run: The plan and its settings.
        cells: Each cell's result, in the order of the plan.
        trials: Every trial in the order in which they ended; a cell may have several.
    """

    directory: Path
    run: RunRecord
    cells: tuple[Cell, ...]
    trials: tuple[TrialRecord, ...]

    @property
    def tokens_in(self) -> int:
        """Prompt tokens of all trials, those without a verdict too: what the run cost."""
        return sum(trial.tokens_in for trial in self.trials)

    @property
    def tokens_out(self) -> int:
        """Generated tokens of all trials."""
        return sum(trial.tokens_out for trial in self.trials)

    @property
    def wall_sec(self) -> float:
        """Seconds during which at least one trial was running.

        When a run was interrupted and continued, the time between does not count.
        """
        return running_seconds(self.trials)


def read_results(directory: Path) -> RunResults:
    """Read a run's directory.

    An incomplete last line of the ledger is left out, as its trial runs again.

    Raises:
        RunFileError: run.toml is absent or cannot be read.
        LedgerError: The ledger has a corrupt line, or does not fit the plan.
    """
    run = read_run(directory)
    path = directory / LEDGER_FILE
    with collector_paused():
        trials = read_ledger(path).records
        return RunResults(directory, run, cells_of(run, trials, str(path)), trials)


def running_seconds(trials: Iterable[TrialRecord]) -> float:
    """Seconds covered by at least one trial, from its first phase's begin to its last one's end."""
    total = timedelta()
    covered_until: datetime | None = None
    for began, ended in sorted(_spans(trials)):
        start = began if covered_until is None else max(began, covered_until)
        if ended > start:
            total += ended - start
        covered_until = ended if covered_until is None else max(ended, covered_until)
    return total.total_seconds()


def _spans(trials: Iterable[TrialRecord]) -> Iterable[tuple[datetime, datetime]]:
    for trial in trials:
        if trial.phases:
            yield (
                min(phase.began for phase in trial.phases),
                max(phase.ended for phase in trial.phases),
            )
