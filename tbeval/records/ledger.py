"""The ledger: one line of JSON per trial, the only truth about a run."""

import contextlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from pydantic import AwareDatetime, Field, ValidationError

from tbeval.records.base import Record
from tbeval.records.outcome import Outcome, StopReason
from tbeval.records.sandbox import Limit
from tbeval.records.verdict import TestCounts

SCHEMA_VERSION = 1


class LedgerError(Exception):
    """The ledger cannot be trusted; the message says where and what to do."""


class Phase(Record):
    """When a phase of a trial began and ended (UTC), and how long it took by a monotonic clock."""

    name: str  # sandbox, agent, collect, verifier
    began: AwareDatetime
    ended: AwareDatetime
    seconds: float = Field(ge=0)


class TrialRecord(Record):
    """One line of the ledger: one trial."""

    schema_version: int = SCHEMA_VERSION
    trial_id: str
    task: str
    attempt: int = Field(ge=1)
    try_number: int = Field(ge=1, serialization_alias="try", validation_alias="try")
    outcome: Outcome
    error_class: str = ""
    error_message: str = ""
    score: float | None = Field(None, ge=0, le=1)  # None: unscored
    solved: bool | None = None  # None: unscored
    solved_published: bool | None = None
    tests: TestCounts = TestCounts()
    stop_reason: StopReason | None = None
    turns: int = 0
    commands: int = 0
    model_calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    reasoning_tokens: int | None = None  # of tokens_out; None: the server does not tell
    reasoning_chars: int = 0
    model_seconds: float = 0.0
    paused_seconds: float = 0.0
    queue_seconds: float = 0.0  # of paused_seconds: waiting for the run's own limit on model calls
    phases: tuple[Phase, ...] = ()
    limits: tuple[Limit, ...] = ()
    limits_hit: tuple[str, ...] = ()
    task_digest: str = ""
    prompt_sha256: str = ""
    replica: str = ""  # which of several endpoints answered

    @property
    def cell(self) -> tuple[str, int]:
        """The task and the attempt."""
        return self.task, self.attempt

    @property
    def command_seconds(self) -> float:
        """The agent's time that went neither to the model nor to waiting while its clock stood.

        Commands and screens, that is the sandbox, and the harness's own share: what grows when
        the machine is busy.
        """
        agent = sum(phase.seconds for phase in self.phases if phase.name == "agent")
        return max(0.0, agent - self.model_seconds - self.paused_seconds)

    def to_line(self) -> bytes:
        """The record as one line, newline included."""
        return self.model_dump_json(by_alias=True).encode() + b"\n"


class LedgerWriter:
    """Appends records durably: each is on disk before `append` returns.

    Use as a context manager. One process writes a ledger at a time; the run's lock sees to that.

    Args:
        path: The ledger; made if absent.
        guard: Called before each record; it raises where the run belongs to somebody else now.
    """

    def __init__(self, path: Path, guard: Callable[[], None] = lambda: None) -> None:
        self._guard = guard
        self._file = path.open("ab", buffering=0)
        directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)

    def append(self, record: TrialRecord) -> None:
        """Write one record, flush it to the disk.

        Raises:
            OSError: The disk is full or gone; whatever was written in part is taken back, so that
                the ledger still ends with a whole line.
            LedgerError: Somebody deleted the ledger: no line would be found again.
        """
        self._guard()
        start = self._file.seek(0, os.SEEK_END)
        line = record.to_line()
        try:
            written = 0
            while written < len(line):
                written += self._file.write(line[written:]) or 0
            os.fsync(self._file.fileno())
        except OSError:
            with contextlib.suppress(OSError):  # the next reader repairs what cannot be now
                self._file.truncate(start)
            raise
        if os.fstat(self._file.fileno()).st_nlink == 0:
            raise LedgerError(
                f"{self._file.name} was deleted while the run was going on; its trials are lost. "
                "Run the same command again to start another run."
            )

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


@dataclass(frozen=True)
class Ledger:
    """What a ledger holds.

    Attributes:
        records: In the order they were written.
        cut_off: Length in bytes of an incomplete last line (its trial runs again); 0 if none.
        whole: Length in bytes of everything before it.
    """

    records: tuple[TrialRecord, ...]
    cut_off: int
    whole: int


def parse_ledger(data: bytes, name: str = "ledger.jsonl") -> Ledger:
    """Read the bytes of a ledger.

    An incomplete last line is what a crash leaves: it is set aside and reported. Anything else
    that does not parse means that somebody else wrote into the file.

    Raises:
        LedgerError: A line other than an incomplete last one is not a record, or a trial
            stands there twice.
    """
    records: list[TrialRecord] = []
    seen: dict[str, int] = {}
    whole = 0
    lines = data.split(b"\n")
    tail = lines.pop()
    for number, line in enumerate(lines, start=1):
        try:
            record = TrialRecord.model_validate_json(line)
        except ValueError as error:
            if (version := _later_version(line)) is not None:
                raise LedgerError(
                    f"{name}, line {number}: written by a later tbeval (schema {version}; this one "
                    f"reads {SCHEMA_VERSION}): update tbeval."
                ) from error
            raise LedgerError(
                f"{name}, line {number}: {_why(error)}. The file was changed by something other "
                "than tbeval; restore it from a copy, or start another run with --new."
            ) from error
        if record.trial_id in seen:
            raise LedgerError(
                f"{name}, line {number}: trial {record.trial_id} stands on line "
                f"{seen[record.trial_id]} already; remove one of the two."
            )
        seen[record.trial_id] = number
        records.append(record)
        whole += len(line) + 1
    return Ledger(tuple(records), cut_off=len(tail), whole=whole)


def _later_version(line: bytes) -> int | None:
    """The schema's version if it is one that this tbeval cannot know."""
    try:
        version = json.loads(line)["schema_version"]
    except (ValueError, RecursionError, LookupError, TypeError):
        return None
    return version if isinstance(version, int) and version > SCHEMA_VERSION else None


def _why(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False)[0]
        if first["type"] == "json_invalid":
            return "not valid JSON"
        where = ".".join(str(part) for part in first["loc"]) or "record"
        return f"not a trial record ({where}: {first['msg']})"
    return "not valid JSON"


def read_ledger(path: Path) -> Ledger:
    """Read a ledger file; an absent file is an empty ledger.

    Raises:
        LedgerError: See `parse_ledger`.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return Ledger((), 0, 0)
    return parse_ledger(data, str(path))


def repair_ledger(path: Path) -> Ledger:
    """Read a ledger and cut an incomplete last line off the file.

    Only the process that holds the run's lock may do this.
    """
    ledger = read_ledger(path)
    if ledger.cut_off:
        with path.open("r+b") as file:
            file.truncate(ledger.whole)
            os.fsync(file.fileno())
    return ledger
