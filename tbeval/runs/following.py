"""What a run tells while it goes on reaches the screen, progress.json and a watchdog."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tbeval.models.gateway import Gateway
from tbeval.records.ledger import TrialRecord
from tbeval.records.progress import (
    PROGRESS_FILE,
    Process,
    RunningTrial,
    RunProgress,
    write_progress,
)
from tbeval.runs.events import RunListener
from tbeval.tasks.load import TaskInfo

_log = logging.getLogger(__name__)

TICK_SEC = 1.0
HEARTBEAT_SEC = 5.0
#: Silence that is more than any limit of the task explains: its sandbox's start and stop, an
#: endpoint that is waited for.
SLACK_SEC = 600.0


@dataclass
class Follower:
    """Keeps the state of the running trials and passes every event on.

    Attributes:
        listener: Who hears everything too.
        calls: Tells how many model calls a trial has made.
        limits: Task id -> the longest of its time limits, seconds.
        running: The trials that run, by id.
    """

    listener: RunListener
    calls: Callable[[str], int]
    limits: Mapping[str, float]
    running: dict[str, RunningTrial] = field(default_factory=dict)
    _changed: dict[str, datetime] = field(default_factory=dict)
    _reported: set[str] = field(default_factory=set)

    def trial_started(self, trial_id: str, task: str, attempt: int, try_number: int) -> None:
        """A trial began."""
        now = datetime.now(UTC)
        self.running[trial_id] = RunningTrial(
            trial_id=trial_id,
            task=task,
            attempt=attempt,
            try_number=try_number,
            began=now,
            entered=now,
        )
        self._changed[trial_id] = now
        self.listener.trial_started(trial_id, task, attempt, try_number)

    def trial_phase(self, trial_id: str, phase: str) -> None:
        """A trial entered a phase."""
        self._update(trial_id, phase=phase, entered=datetime.now(UTC))
        self.listener.trial_phase(trial_id, phase)

    def trial_ended(self, record: TrialRecord) -> None:
        """A trial ended, and its record is on disk."""
        self.running.pop(record.trial_id, None)
        self._changed.pop(record.trial_id, None)
        self.listener.trial_ended(record)

    def note(self, sentence: str) -> None:
        """Something a person should know."""
        self.listener.note(sentence)

    def look(self, now: datetime) -> tuple[RunningTrial, ...]:
        """The trials that run, as of now; a trial that shows no progress is reported once."""
        for trial in tuple(self.running.values()):
            calls = self.calls(trial.trial_id)
            if calls > trial.calls:  # less: it is closed already
                self._update(trial.trial_id, calls=calls)
            self._watch(trial, now)
        return tuple(self.running.values())

    def _update(self, trial_id: str, **changes: object) -> None:
        if trial := self.running.get(trial_id):
            self.running[trial_id] = trial.model_copy(update=changes)
            self._changed[trial_id] = datetime.now(UTC)

    def _watch(self, trial: RunningTrial, now: datetime) -> None:
        bound = self.limits[trial.task] + SLACK_SEC
        silent = (now - self._changed[trial.trial_id]) / timedelta(seconds=1)
        if silent <= bound or trial.trial_id in self._reported:
            return
        self._reported.add(trial.trial_id)
        self.note(
            f"{trial.task}, attempt {trial.attempt}: no new phase and no model call for "
            f"{silent:.0f} s (phase: {trial.phase or 'none'}); longer than its limits explain"
        )


@asynccontextmanager
async def following(
    directory: Path,
    listener: RunListener,
    *,
    concurrency: int,
    calls: Callable[[str], int],
    limits: Mapping[str, float],
) -> AsyncIterator[Follower]:
    """Keep a run's progress.json while the context lasts; it is gone after it.

    A file that stays behind is that of a run that was killed. What cannot be written does not
    disturb the run.
    """
    follower = Follower(listener, calls, limits)
    writing = asyncio.create_task(_write(directory, follower, concurrency))
    try:
        yield follower
    finally:
        writing.cancel()
        await asyncio.wait({writing})
        with contextlib.suppress(OSError):
            (directory / PROGRESS_FILE).unlink(missing_ok=True)


def calls_at(gateway: Gateway | None) -> Callable[[str], int]:
    """Tells how many model calls a trial has made; 0 if it is not open, or there is no model."""

    def calls(trial_id: str) -> int:
        try:
            return gateway.usage(trial_id).calls if gateway is not None else 0
        except KeyError:
            return 0

    return calls


def longest_limits(tasks: Iterable[TaskInfo], multiplier: float) -> dict[str, float]:
    """Task id -> the longer of its time limits, seconds: a trial may be silent for so long."""
    return {
        task.id: max(task.agent_timeout_sec, task.verifier_timeout_sec) * multiplier
        for task in tasks
    }


async def _write(directory: Path, follower: Follower, concurrency: int) -> None:
    process = Process.this()
    written: RunProgress | None = None
    failed = False
    while True:
        now = datetime.now(UTC)
        progress = RunProgress(
            process=process, written=now, concurrency=concurrency, running=follower.look(now)
        )
        if _is_due(written, progress):
            try:
                write_progress(directory, progress)
                written, failed = progress, False
            except OSError as error:
                if not failed:
                    _log.warning("%s cannot be written: %s", PROGRESS_FILE, error.strerror)
                failed = True
        await asyncio.sleep(TICK_SEC)


def _is_due(written: RunProgress | None, progress: RunProgress) -> bool:
    return (
        written is None
        or written.running != progress.running
        or abs(progress.written - written.written) >= timedelta(seconds=HEARTBEAT_SEC)
    )
