"""The published submissions: every figure that was counted in them, from trials alone."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tbeval.reports.summary import summarise
from tbeval.results.importing.assemble import read_foreign, write_imported

DATA = Path(__file__).parents[4] / "shared" / "data"
SUBMISSIONS = DATA / "leaderboard"

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="../shared is missing: no real results")


def expected() -> dict[str, Any]:
    path = SUBMISSIONS / "expected.json"
    content: dict[str, Any] = json.loads(path.read_text()) if path.is_file() else {}
    return content


def cases() -> list[tuple[str, bool]]:
    """Each submission as it is; and without its run-level files where all trials have their own."""
    wanted = expected()
    alone = [name for name in wanted if wanted[name]["per_trial_files"] == wanted[name]["n_trials"]]
    return [(name, False) for name in wanted] + [(name, True) for name in alone]


@pytest.mark.parametrize(("name", "trials_alone"), cases())
def test_every_figure_follows_from_the_trials(
    tmp_path: Path, name: str, trials_alone: bool
) -> None:
    wanted = expected()[name]
    root = SUBMISSIONS / wanted["dir"]
    if trials_alone:
        root = Path(shutil.copytree(root, tmp_path / "copy"))
        for path in root.rglob("*results.json"):
            if "results" in json.loads(path.read_text()):
                path.unlink()
    found = read_foreign(root, name)
    summary = summarise(write_imported(found, tmp_path / "results")[0])
    assert summary.planned == wanted["n_trials"]
    assert summary.solved_trials == wanted["n_resolved"]
    assert summary.unique_solved == wanted["n_tasks_solved_once"]
    assert {str(k): value for k, value in summary.pass_at_planned.items()} == pytest.approx(
        wanted["pass_at_k"], abs=1e-15
    )
    per_task = {row.task: row.solved for row in summary.rows}
    assert per_task == {task: solved for task, (solved, _) in wanted["per_task"].items()}
    modes = wanted["failure_mode"]
    faults = {mode: n for mode, n in modes.items() if mode not in {"unset", "agent_timeout"}}
    assert sum(summary.unscored.values()) >= sum(faults.values())
    stopped = sum(trial.stop_reason == "time limit" for trial in found.trials)
    assert stopped == modes["agent_timeout"]
    assert (summary.tokens_in, summary.tokens_out) == (wanted["tokens_in"], wanted["tokens_out"])


def test_a_harbor_job(tmp_path: Path) -> None:
    found = read_foreign(DATA / "harbor-job" / "glm-5-openclaw-tb2", "glm-5")
    summary = summarise(write_imported(found, tmp_path / "results")[0])
    assert (summary.planned, summary.scored, summary.solved_trials) == (89, 85, 37)
    assert summary.pass_at_planned[1] == pytest.approx(0.4157303370786517)  # the job's own mean
    assert dict(summary.unscored) == {"verifier": 4}
