"""One trial as another harness tells it, and the oddities met while reading it."""

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from tbeval.records.ledger import Phase
from tbeval.records.outcome import Outcome, StopReason
from tbeval.records.verdict import TestCounts

_EXAMPLES = 3

#: Stands for a time that nobody knows; it sorts last.
UNKNOWN_TIME = datetime(9999, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class ForeignTrial:
    """A trial of another harness.

    Attributes:
        source: Which harness.
        key: What identifies it wherever its record is copied to.
        own_file: Whether this comes from the trial's own file, not from a file about a whole run.
        path: The file.
        run: The run that it belongs to, by name.
        task: The task's id.
        name: What the harness calls it.
        number: Its attempt's number within the run, where the harness tells.
        outcome: By tbeval's rules; see the reader of the harness.
        score: Passed over collected tests; None without a verdict.
        published: The verdict that the harness itself counted; None if it had none.
    """

    source: str
    key: str
    own_file: bool
    path: Path
    run: str
    task: str
    name: str
    number: int | None
    outcome: Outcome
    score: float | None = None
    tests: TestCounts = field(default_factory=TestCounts)
    published: bool | None = None
    stop_reason: StopReason | None = None
    error_class: str = ""
    error_message: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    phases: tuple[Phase, ...] = ()
    task_digest: str = ""
    agent: str = ""
    model: str = ""

    @property
    def began(self) -> datetime:
        """When its first phase began, or `UNKNOWN_TIME`."""
        return min((phase.began for phase in self.phases), default=UNKNOWN_TIME)


@dataclass
class Oddities:
    """What was odd about a result and may have changed a number, by kind."""

    _met: dict[str, dict[str, None]] = field(default_factory=lambda: defaultdict(dict))

    def note(self, kind: str, where: object) -> None:
        """Take one down, once for each place.

        Args:
            kind: A sentence without its end.
            where: A file or a trial.
        """
        self._met[kind][text(where)] = None

    def sentences(self) -> tuple[str, ...]:
        """One sentence for each kind, with how often it was met and a few examples."""
        return tuple(
            f"{kind}: {len(where)} ({', '.join(list(where)[:_EXAMPLES])}"
            f"{', …' if len(where) > _EXAMPLES else ''})"
            for kind, where in self._met.items()
        )


def phase(name: str, began: object, ended: object) -> Phase | None:
    """A phase from two timestamps in ISO form, UTC unless they say; None if one is missing."""
    first, last = _moment(began), _moment(ended)
    if first is None or last is None or last < first:
        return None
    return Phase(name=name, began=first, ended=last, seconds=(last - first).total_seconds())


def _moment(value: object) -> datetime | None:
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def text(value: object) -> str:
    """A value where a text should be; "" for none. Lone surrogates become question marks."""
    return "" if value is None else str(value).encode(errors="replace").decode()


def count(value: object) -> int:
    """A value where a number of tokens should be; 0 where there is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return int(value) if 0 <= value < float("inf") else 0


def mapping(value: object) -> dict[str, object]:
    """A value where an object should be; empty for anything else."""
    return value if isinstance(value, dict) else {}
