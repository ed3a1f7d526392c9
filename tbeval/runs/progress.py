"""Progress for people: a live table on a terminal, plain lines in a log."""

import contextlib
import logging
import os
import time
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self, override

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from tbeval.records.ledger import TrialRecord
from tbeval.records.outcome import Outcome

_log = logging.getLogger(__name__)


@dataclass
class _Running:
    task: str
    attempt: int
    try_number: int
    phase: str = "waiting"
    since: float = field(default_factory=time.monotonic)


@dataclass
class Tally:
    """Counts of a run as it goes on; a cell that is tried again is counted by its last try."""

    planned: int
    last: dict[tuple[str, int], TrialRecord] = field(default_factory=dict)

    def add(self, record: TrialRecord) -> None:
        """Count a trial."""
        self.last[record.cell] = record

    def count(self, *outcomes: Outcome) -> int:
        """How many cells came out as one of these."""
        return sum(record.outcome in outcomes for record in self.last.values())

    def line(self) -> str:
        """The state in one line."""
        records = self.last.values()
        unscored = sum(not record.outcome.scored for record in records)
        tokens = sum(record.tokens_out for record in records)
        return (
            f"{len(self.last)}/{self.planned} cells · {self.count(Outcome.SOLVED)} solved · "
            f"{self.count(Outcome.UNSOLVED)} unsolved · {unscored} unscored · {tokens} tokens out"
        )


def describe(record: TrialRecord) -> str:
    """One trial's end in one line; only words of ours and numbers, no text of the model."""
    seconds = sum(phase.seconds for phase in record.phases)
    parts = [f"{record.task}, attempt {record.attempt}"]
    if record.try_number > 1:
        parts.append(f"try {record.try_number}")
    parts.append(record.outcome.value)
    if record.outcome.scored and record.tests.total:
        parts.append(f"{record.tests.passed}/{record.tests.total} tests")
    if record.stop_reason:
        parts.append(f"agent: {record.stop_reason.value} after {record.turns} turns")
    if record.limits_hit:
        parts.append("limit hit: " + ", ".join(record.limits_hit))
    parts.append(f"{seconds:.0f} s")
    return " · ".join(parts)


class PlainProgress:
    """One line per trial, for logs. Use as a context manager while the run goes on."""

    def __init__(self, console: Console, tally: Tally) -> None:
        self._console = console
        self.tally = tally

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        pass

    def trial_started(self, trial_id: str, task: str, attempt: int, try_number: int) -> None:
        """Say nothing: a log wants ends, not beginnings."""

    def trial_phase(self, trial_id: str, phase: str) -> None:
        """Say nothing."""

    def trial_ended(self, record: TrialRecord) -> None:
        """Print how the trial ended and where the run stands."""
        self.tally.add(record)
        self._say(f"[{len(self.tally.last)}/{self.tally.planned}] {describe(record)}")
        if not record.outcome.scored:
            _log.warning("%s: %s: %s", record.trial_id, record.error_class, record.error_message)

    def note(self, sentence: str) -> None:
        """Print a sentence."""
        self._say(sentence)

    def abandon(self) -> None:
        """Leave the output as it was found: the process ends at once. Takes no lock."""

    def _say(self, sentence: str) -> None:
        try:
            self._console.print(sentence, markup=False, highlight=False, soft_wrap=True)
        except SystemExit:
            # What rich makes of a reader that went away (`| head`); it prints nothing more then.
            _log.warning("nobody reads the output any more; the run goes on")


class LiveProgress(PlainProgress):
    """What runs now and the counts, drawn in place; ended trials scroll above."""

    def __init__(self, console: Console, tally: Tally) -> None:
        super().__init__(console, tally)
        self._running: dict[str, _Running] = {}
        self._live = Live(console=console, get_renderable=self._draw, refresh_per_second=2)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._live.stop()

    @override
    def abandon(self) -> None:
        """Show the cursor again, past rich: whoever draws now may hold its lock."""
        with contextlib.suppress(OSError, ValueError):  # no terminal any more
            os.write(self._console.file.fileno(), b"\x1b[?25h\n")

    def trial_started(self, trial_id: str, task: str, attempt: int, try_number: int) -> None:
        """Add the trial to the table."""
        self._running[trial_id] = _Running(task, attempt, try_number)

    def trial_phase(self, trial_id: str, phase: str) -> None:
        """Show the trial's phase."""
        if running := self._running.get(trial_id):
            running.phase, running.since = phase, time.monotonic()

    def trial_ended(self, record: TrialRecord) -> None:
        """Take the trial out of the table and print how it ended."""
        self._running.pop(record.trial_id, None)
        super().trial_ended(record)

    def _draw(self) -> Group:
        table = Table(box=None, padding=(0, 2), show_edge=False, header_style="dim")
        table.add_column("running")
        table.add_column("attempt", justify="right")
        table.add_column("phase")
        table.add_column("seconds", justify="right")
        for row in self._running.values():
            attempt = str(row.attempt) + (f" (try {row.try_number})" if row.try_number > 1 else "")
            seconds = f"{time.monotonic() - row.since:.0f}"
            table.add_row(row.task, attempt, row.phase, seconds)
        bar = ProgressBar(total=self.tally.planned, completed=len(self.tally.last), width=40)
        return Group(table, bar, Text(self.tally.line()))


def progress(console: Console, tally: Tally) -> PlainProgress:
    """The progress that suits where the output goes."""
    return LiveProgress(console, tally) if console.is_terminal else PlainProgress(console, tally)
