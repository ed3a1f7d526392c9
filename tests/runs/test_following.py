import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tbeval.records.ledger import TrialRecord
from tbeval.records.progress import PROGRESS_FILE, RunProgress, read_progress
from tbeval.runs.following import SLACK_SEC, Follower, following
from tests.made_up_runs import make_trial

TRIAL = make_trial("a", 1, "solved")


@dataclass
class Listener:
    heard: list[str] = field(default_factory=list)

    def trial_started(self, trial_id: str, task: str, attempt: int, try_number: int) -> None:
        self.heard.append(f"started {task}")

    def trial_phase(self, trial_id: str, phase: str) -> None:
        self.heard.append(f"phase {phase}")

    def trial_ended(self, record: TrialRecord) -> None:
        self.heard.append(f"ended {record.task}")

    def note(self, sentence: str) -> None:
        self.heard.append(sentence)


def start(follower: Follower) -> None:
    follower.trial_started(TRIAL.trial_id, "a", 1, 1)
    follower.trial_phase(TRIAL.trial_id, "agent")


async def first_written(directory: Path) -> RunProgress:
    async with asyncio.timeout(10):
        while (progress := read_progress(directory)) is None:  # noqa: ASYNC110 - a file
            await asyncio.sleep(0.01)
    return progress


async def test_progress_is_on_disk_while_the_run_goes_on_and_gone_after_it(tmp_path: Path) -> None:
    listener = Listener()
    async with following(
        tmp_path, listener, concurrency=3, calls=lambda _trial: 2, limits={"a": 60.0}
    ) as follower:
        start(follower)
        progress = await first_written(tmp_path)
        assert progress.concurrency == 3
        assert [(t.task, t.phase, t.calls) for t in progress.running] == [("a", "agent", 2)]
        follower.trial_ended(TRIAL)
        assert follower.running == {}
    assert not (tmp_path / PROGRESS_FILE).exists()
    assert listener.heard == ["started a", "phase agent", "ended a"]


async def test_a_directory_that_cannot_be_written_does_not_disturb_the_run(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    async with following(
        gone, Listener(), concurrency=1, calls=lambda _trial: 0, limits={"a": 60.0}
    ) as follower:
        start(follower)
        await asyncio.sleep(0)
        follower.trial_ended(TRIAL)
    assert not gone.exists()


def test_a_silent_trial_is_reported_once_and_a_model_call_breaks_the_silence() -> None:
    listener, calls = Listener(), {TRIAL.trial_id: 0}
    follower = Follower(listener, calls.__getitem__, {"a": 60.0})
    start(follower)
    notes = listener.heard[2:]
    soon = datetime.now(UTC) + timedelta(seconds=SLACK_SEC)
    late = datetime.now(UTC) + timedelta(seconds=SLACK_SEC + 90)
    follower.look(soon)
    calls[TRIAL.trial_id] = 1
    assert [trial.calls for trial in follower.look(soon)] == [1]
    assert notes == listener.heard[2:] == []
    follower.look(late)
    follower.look(late)
    (note,) = listener.heard[2:]
    assert note.startswith("a, attempt 1: no new phase and no model call for 6")
