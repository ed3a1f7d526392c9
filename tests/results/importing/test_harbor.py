"""harbor's job and trial directories."""

import json
from pathlib import Path
from typing import Any

import pytest

from tbeval.reports.summary import summarise
from tbeval.results.importing.assemble import read_foreign, write_imported
from tbeval.settings.base import SettingsError
from tests.made_up_runs import make_run, make_trial, write_made_up


def write(job: Path, name: str, rewards: object, error: str = "", *, task: str = "a") -> Path:
    directory = job / name
    (directory / "verifier").mkdir(parents=True)
    content: dict[str, Any] = {
        "id": f"id-{name}",
        "task_name": task,
        "trial_name": name,
        "task_checksum": "7fa0",
        "agent_info": {"name": "openclaw", "model_info": {"name": "z-ai/glm-5"}},
        "agent_result": {"n_input_tokens": 5, "n_output_tokens": 3},
        "verifier_result": {"rewards": rewards},
        "exception_info": {"exception_type": error, "exception_message": "m"} if error else None,
        "agent_execution": {
            "started_at": "2026-04-14T08:23:07.1587Z",
            "finished_at": "2026-04-14T08:24:07.1587Z",
        },
        "verifier": None,
    }
    (directory / "result.json").write_text(json.dumps(content))
    return directory


@pytest.mark.parametrize(
    ("rewards", "error", "outcome", "score", "told"),
    [
        ({"reward": 1.0}, "", "solved", 1.0, False),
        ({"reward": 0}, "", "unsolved", 0.0, False),
        ({"reward": 0.25}, "", "unsolved", 0.25, False),
        ({"accuracy": 1}, "", "solved", 1.0, False),
        ({"reward": 1, "style": 0.1}, "", "solved", 1.0, True),
        ({"speed": 1, "style": 0.1}, "", "unscored:verifier", None, True),
        ({"reward": True}, "", "solved", 1.0, True),
        ({"reward": "1.0"}, "", "solved", 1.0, True),
        ({"reward": "good"}, "", "unscored:verifier", None, True),
        ({"reward": float("nan")}, "", "unscored:verifier", None, True),
        ({"reward": float("inf")}, "", "unscored:verifier", None, True),
        ({"reward": -1}, "", "unscored:verifier", None, True),
        ({"reward": 2}, "", "unscored:verifier", None, True),
        ({"reward": None}, "", "unscored:verifier", None, True),
        (None, "", "unscored:verifier", None, True),
        ({"reward": 1.0}, "AgentTimeoutError", "solved", 1.0, False),
        (None, "AgentTimeoutError", "unscored:verifier", None, False),
        (None, "RewardFileNotFoundError", "unscored:verifier", None, False),
        (None, "AgentSetupTimeoutError", "unscored:agent-setup", None, False),
        ({"reward": 0.0}, "RateLimitError", "unscored:model-endpoint", None, True),
        (None, "EnvironmentStartTimeoutError", "unscored:sandbox", None, False),
        (None, "CancelledError", "unscored:cancelled", None, False),
        ({"reward": 0.0}, "SomethingNewError", "unscored:harness", None, True),
    ],
)
def test_rewards_and_exceptions(
    tmp_path: Path, rewards: object, error: str, outcome: str, score: float | None, told: bool
) -> None:
    write(tmp_path, "a__1", rewards, error)
    found = read_foreign(tmp_path, "c")
    (trial,) = found.trials
    assert (trial.outcome, trial.score) == (outcome, score)
    assert bool(found.run.notes) is told
    assert (trial.error_class, trial.tokens_in) == (error, 5)
    assert found.run.agent == "openclaw"
    assert found.run.identity == {"model": "z-ai/glm-5"}


def test_the_score_comes_from_the_tests_where_a_report_tells(tmp_path: Path) -> None:
    counts = {"tests": 4, "passed": 3, "skipped": 1, "failed": 0}
    for name, summary in (("a__1", counts), ("a__2", counts | {"passed": 9}), ("a__3", None)):
        report = json.dumps({"results": {"summary": summary}})
        (write(tmp_path, name, {"reward": 0.0}) / "verifier" / "ctrf.json").write_text(report)
    found = read_foreign(tmp_path, "c")
    assert [trial.score for trial in found.trials] == [0.75, 0.0, 0.0]
    assert [trial.tests.total for trial in found.trials] == [4, 0, 0]
    assert "more tests than there are" in "".join(found.run.notes)


def test_an_unfinished_job_plans_what_its_configuration_says(tmp_path: Path) -> None:
    job = tmp_path / "job"
    write(job, "a__1", {"reward": 1.0})
    begun = job / "b-task-with-a-long-na__2"
    begun.mkdir()
    config = {"trial_name": begun.name, "task": {"path": "tasks/b-task-with-a-long-name"}}
    (begun / "config.json").write_text(json.dumps(config))
    cut = write(job, "a__3", {"reward": 1.0})
    (cut / "result.json").write_text((cut / "result.json").read_text()[:99])
    (cut / "config.json").write_text(json.dumps({"trial_name": "a__3", "task": {"path": "a"}}))
    (job / "config.json").write_text(json.dumps({"n_attempts": 3, "job_name": "j"}))
    (job / "result.json").write_text(json.dumps({"n_total_trials": 9, "stats": {}}))
    found = read_foreign(job, "c")
    summary = summarise(write_imported(found, tmp_path / "results")[0])
    assert (summary.planned, summary.scored, summary.solved_trials) == (6, 1, 1)
    assert (dict(summary.unscored), summary.not_run) == ({"cancelled": 2}, 3)
    notes = "".join(found.run.notes)
    assert "planned 9 trials" in notes
    assert "a__3" in notes
    assert begun.name in notes


def test_attempts_are_numbered_by_task_however_uneven(tmp_path: Path) -> None:
    for number, (task, reward) in enumerate([("a", 1), ("b", 0), ("a", 0), ("a", 1)]):
        write(tmp_path, f"{task}__{number}", {"reward": reward}, task=task)
    found = read_foreign(tmp_path, "c")
    assert [(t.task, t.attempt) for t in found.trials] == [("a", 1), ("a", 2), ("a", 3), ("b", 1)]
    assert found.run.planned == 4


def test_a_run_of_tbeval_and_a_mixture_are_refused(tmp_path: Path) -> None:
    run = write_made_up(tmp_path, make_run(["a"], 1), [make_trial("a", 1, "solved")])
    with pytest.raises(SettingsError, match="is a run of tbeval"):
        read_foreign(run, "c")
    trial = write(run / "trials", "a__1", {"reward": 1})
    (trial / "config.json").write_text('{"trial_name": "a__1", "task": {"path": "a"}}')
    with pytest.raises(SettingsError, match=r"holds no result.*a run of tbeval itself"):
        read_foreign(tmp_path, "c")
    write(tmp_path / "both", "a__1", {"reward": 1})
    entry = {"task_id": "a", "is_resolved": True, "trial_name": "a.1-of-1"}
    (tmp_path / "both" / "results.json").write_text(json.dumps(entry))
    with pytest.raises(SettingsError, match="harbor and terminal-bench"):
        read_foreign(tmp_path / "both", "c")
