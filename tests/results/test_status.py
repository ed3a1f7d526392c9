from datetime import timedelta
from pathlib import Path

import pytest

from tbeval.records.progress import Process, RunningTrial, RunProgress, write_progress
from tbeval.results.status import STALE_SEC, read_status
from tests.made_up_runs import BEGAN, make_run, make_trial, write_made_up

NOW = BEGAN + timedelta(seconds=100)
TRIALS = [
    make_trial("a", 1, "solved", span=(0, 10)),
    make_trial("b", 1, "unsolved", span=(0, 40)),
    make_trial("b", 2, "unscored:sandbox", span=(10, 12)),
]


def running(task: str, attempt: int, began: float) -> RunningTrial:
    since = BEGAN + timedelta(seconds=began)
    return RunningTrial(
        trial_id=f"{task}.{attempt}.1-20260301-120000-abc",
        task=task,
        attempt=attempt,
        try_number=1,
        began=since,
        entered=since,
        phase="agent",
    )


def make(tmp_path: Path, *trials: RunningTrial, age: float = 1, pid: int | None = None) -> Path:
    """A run of 3 tasks × 2: three cells ended, some run, the others wait."""
    directory = write_made_up(tmp_path, make_run(["a", "b", "c"], 2), TRIALS)
    process = Process.this()
    if pid is not None:
        process = process.model_copy(update={"pid": pid})
    progress = RunProgress(
        process=process, written=NOW - timedelta(seconds=age), concurrency=2, running=trials
    )
    write_progress(directory, progress)
    return directory


def test_a_run_in_progress(tmp_path: Path) -> None:
    status = read_status(make(tmp_path, running("a", 2, 96), running("c", 1, 95)), NOW)
    assert status.state == "running"
    assert (status.done, status.solved, status.waiting) == (3, 1, 1)
    assert status.unscored == {"sandbox": 1}
    assert [(trial.task, trial.attempt) for trial in status.running] == [("a", 2), ("c", 1)]
    # a takes 10 s, so 6 are left; c as long as the mean of 10 and 40, so 20 and then 25 are left:
    # 51 s of work for two. Longer than the longest trial.
    assert status.ends == NOW + timedelta(seconds=25.5)
    data = status.as_dict(NOW)
    assert data["running"][0]["seconds"] == 4
    assert data["planned"] == data["done"] + len(data["running"]) + data["waiting"]


def test_a_trial_that_has_its_line_does_not_run(tmp_path: Path) -> None:
    status = read_status(make(tmp_path, running("a", 1, 0)), NOW)
    assert status.running == ()
    assert status.done == 3


@pytest.mark.parametrize(
    ("age", "pid"), [(STALE_SEC + 1, None), (-STALE_SEC - 1, None), (1, 2**22 + 1)]
)
def test_a_run_that_was_killed_does_not_run(tmp_path: Path, age: float, pid: int | None) -> None:
    status = read_status(make(tmp_path, running("a", 2, 96), age=age, pid=pid), NOW)
    assert status.state == "unfinished"
    assert status.running == ()
    assert (status.done, status.waiting, status.ends) == (3, 3, None)
    assert status.heard == NOW - timedelta(seconds=age)


def test_a_run_whose_cells_have_all_run_is_finished_whatever_came_out(tmp_path: Path) -> None:
    trials = [make_trial("a", 1, "solved"), make_trial("a", 2, "unscored:task")]
    status = read_status(write_made_up(tmp_path, make_run(["a"], 2), trials), NOW)
    assert (status.state, status.done, status.heard) == ("finished", 2, None)


def test_a_cancelled_cell_waits(tmp_path: Path) -> None:
    trials = [make_trial("a", 1, "unscored:cancelled")]
    status = read_status(write_made_up(tmp_path, make_run(["a"], 1), trials), NOW)
    assert (status.state, status.waiting, status.unscored) == ("unfinished", 1, {})


def test_without_a_verdict_nothing_is_estimated(tmp_path: Path) -> None:
    directory = write_made_up(tmp_path, make_run(["a"], 1), [])
    write_progress(directory, RunProgress(process=Process.this(), written=NOW, concurrency=1))
    status = read_status(directory, NOW)
    assert (status.state, status.ends) == ("running", None)
