"""progress.json: what a run does right now, for other terminals. Never the truth about a result."""

import os
from pathlib import Path
from typing import Self

from pydantic import AwareDatetime, Field

from tbeval.records.base import Record

PROGRESS_FILE = "progress.json"
SCHEMA_VERSION = 1
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_PID_NAMESPACE = Path("/proc/self/ns/pid")


class RunningTrial(Record):
    """A trial that runs.

    Attributes:
        began: When the trial began, UTC.
        phase: The one that it is in; empty before the first.
        entered: When that phase began, UTC.
        calls: Model calls so far: one a turn, as a rule.
    """

    trial_id: str
    task: str
    attempt: int = Field(ge=1)
    try_number: int = Field(ge=1, serialization_alias="try", validation_alias="try")
    began: AwareDatetime
    phase: str = ""
    entered: AwareDatetime
    calls: int = Field(0, ge=0)


class Process(Record):
    """A process, and where its number means something."""

    pid: int = Field(ge=1)
    place: str  # this boot of this machine, this name space of process numbers

    @classmethod
    def this(cls) -> Self:
        """The process that asks."""
        return cls(pid=os.getpid(), place=_place())

    @property
    def surely_dead(self) -> bool:
        """Whether it is known to be gone; nothing is known of another machine's processes."""
        return self.place == _place() and not Path(f"/proc/{self.pid}").exists()


def _place() -> str:
    boot = _BOOT_ID.read_text(encoding="ascii").strip()
    return f"{boot} {_PID_NAMESPACE.stat().st_ino}"


class RunProgress(Record):
    """The state of a run that goes on.

    Attributes:
        written: The heartbeat, UTC: a run writes at least every few seconds.
        concurrency: Trials at once.
    """

    schema_version: int = SCHEMA_VERSION
    process: Process
    written: AwareDatetime
    concurrency: int = Field(ge=1)
    running: tuple[RunningTrial, ...] = ()


def write_progress(directory: Path, progress: RunProgress) -> None:
    """Write progress.json: a reader sees the old one or the new one, whole.

    It is not flushed to the disk: after a power loss nothing runs.

    Raises:
        OSError: The disk is full or gone.
    """
    path = directory / PROGRESS_FILE
    temporary = path.with_name(PROGRESS_FILE + ".new")
    temporary.write_text(progress.model_dump_json(by_alias=True), encoding="utf-8")
    temporary.replace(path)


def read_progress(directory: Path) -> RunProgress | None:
    """What a run does, as it said last; None if it says nothing that can be read."""
    try:
        return RunProgress.model_validate_json((directory / PROGRESS_FILE).read_bytes())
    except (OSError, ValueError):
        return None
