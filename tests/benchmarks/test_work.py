"""The work of the benchmarks is what their figures say it is."""

import subprocess
from pathlib import Path

import pytest

from benchmarks.work import Work, durations, make_tasks
from tbeval.settings.subsets import load_subset
from tbeval.tasks.load import load_tasks
from tbeval.tasks.reports import parse_report, read_session

TASKS = [f"task-{number}" for number in range(66)]


@pytest.mark.parametrize(("concurrency", "bound"), [(8, 75.0), (32, 120.0), (8, 30.0)])
def test_durations_fill_the_run_and_one_task_is_very_long(concurrency: int, bound: float) -> None:
    found = durations(TASKS, 3, bound_sec=bound, concurrency=concurrency)
    every = [seconds for times in found.values() for seconds in times]
    assert len(every) == 198
    assert sum(every) == pytest.approx(bound * concurrency)
    longest = sorted(every)[-3:]
    assert sorted(found["task-33"]) == longest
    assert bound * 0.3 < longest[0] <= longest[-1] <= bound * 0.5
    assert min(every) > 0
    assert found == durations(TASKS, 3, bound_sec=bound, concurrency=concurrency)


def test_too_few_tasks_for_a_run_are_refused() -> None:
    with pytest.raises(ValueError, match="cannot take"):
        durations(TASKS[:4], 1, bound_sec=100, concurrency=32)


def test_tasks_are_a_subset_that_tbeval_can_load(tmp_path: Path) -> None:
    names = make_tasks(tmp_path, 3)
    loaded = load_tasks(load_subset(str(tmp_path / "bench.toml")))
    assert [task.id for task in loaded] == list(names)
    assert f"Task id: {names[1]}." in loaded[1].instruction


def test_the_test_script_reports_as_pytest_would(tmp_path: Path) -> None:
    (name,) = make_tasks(tmp_path, 1)
    script = tmp_path / "tasks" / name / "tests" / "test.sh"
    text = script.read_text().replace("/logs", str(tmp_path / "logs"))
    env = {"TBEVAL_REPORT_DIR": str(tmp_path), "TBEVAL_REPORT_NONCE": "n", "PATH": "/usr/bin:/bin"}
    subprocess.run(["bash", "-c", text], env=env, check=True)
    events = parse_report((tmp_path / "1-1.jsonl").read_bytes(), "n")
    assert events is not None
    session = read_session(events)
    assert (session.ran, session.status, session.ended) == (1, 1, True)
    assert (tmp_path / "logs" / "verifier" / "reward.txt").read_text() == "0\n"


def test_work_comes_back_from_its_file(tmp_path: Path) -> None:
    work = Work(("a", "b"), tmp_path, 3, 8, "terminus-2", {"a": [1.5, 2.0, 3.0]}, calls=7)
    work.save(tmp_path / "work.json")
    assert Work.load(tmp_path / "work.json") == work
