"""Which run a request leads to."""

from pathlib import Path
from typing import Any

import pytest

from tbeval.records.run import RunRecord, fingerprint
from tbeval.runs.finding import Finding, Request, find
from tbeval.settings.base import SettingsError
from tbeval.settings.checkpoint import Checkpoint
from tbeval.settings.options import RunOptions
from tbeval.settings.subset import Subset, TaskSource
from tests.made_up_runs import make_run, make_task, make_trial, write_made_up

SETTINGS = {"attempts": 2, "sampling": {"top_p": 0.9}}


def wanted(tasks: str = "ab", attempts: int = 2, **scoring: Any) -> RunRecord:
    settings = SETTINGS | {"attempts": attempts} | scoring
    return make_run(list(tasks), attempts, run_id="new", scoring=settings)


def look(results: Path, run: RunRecord, **said: Any) -> Finding:
    options = RunOptions(
        subset="demo",
        agent="terminus-2",
        attempts=run.attempts,
        sandbox="bubblewrap",
        turn_limit=1,
        time_multiplier=1,
        concurrency=1,
    )
    request = Request(
        checkpoint=Checkpoint(id="iter335"),
        options=options,
        subset=Subset(name="demo", tasks=("a",), source=TaskSource()),
        tasks=[make_task(task.id) for task in run.tasks],
        results_dir=results,
        **said,
    )
    return find(request, run)


def begun(results: Path, *, done: int = 1, **changes: Any) -> Path:
    """A run on disk with so many of its four cells done."""
    trials = [make_trial(task, n, "solved") for task in "ab" for n in (1, 2)][:done]
    run = make_run(["a", "b"], 2, scoring=SETTINGS, **{"run_id": "old"} | changes)
    return write_made_up(results, run, trials)


def test_the_same_settings_continue(tmp_path: Path) -> None:
    directory = begun(tmp_path)
    found = look(tmp_path, wanted())
    assert (found.directory, found.run.run_id, len(found.open)) == (directory, "old", 3)
    assert "continuing run old: 1 done, 3 to go" in found.announcement(4)


@pytest.mark.parametrize(
    ("run", "said"),
    [
        (wanted(sampling={"top_p": 0.5}), r"sampling.top_p: 0.9 → 0.5"),
        (wanted(sampling={}), r"sampling.top_p: 0.9 → not set"),
        (wanted(attempts=5), r"attempts: 2 → 5"),
        (wanted(tasks="abc"), r"tasks: 2 → 3"),
    ],
)
def test_other_settings_of_an_unfinished_run_are_shown_and_want_a_word(
    tmp_path: Path, run: RunRecord, said: str
) -> None:
    directory = begun(tmp_path)
    with pytest.raises(SettingsError, match=f"run old .*{said}.*--new.*--force"):
        look(tmp_path, run)
    assert look(tmp_path, run, new=True).directory is None
    forced = look(tmp_path, run, force=True)
    assert (forced.directory, forced.run.run_id) == (directory, "old")
    assert forced.run.fingerprint == run.fingerprint
    assert forced.run.changes == forced.changes != ()
    assert len(forced.open) == run.planned - 1
    assert said.replace("\\", "") in forced.announcement(4)


def test_what_was_forced_continues_without_another_word(tmp_path: Path) -> None:
    begun(tmp_path, done=0)
    forced = look(tmp_path, wanted(sampling={}), force=True)
    write_made_up(tmp_path / "then", forced.run, [])
    again = look(tmp_path / "then", wanted(sampling={}))
    assert (again.run.run_id, again.changes) == ("old", ())
    assert [str(change) for change in again.run.changes] == ["sampling.top_p: 0.9 → not set"]


@pytest.mark.parametrize("run", [wanted(tasks="a"), wanted(attempts=1)])
def test_a_run_cannot_lose_cells(tmp_path: Path, run: RunRecord) -> None:
    begun(tmp_path)
    with pytest.raises(SettingsError, match="cannot go on"):
        look(tmp_path, run, force=True)


@pytest.mark.parametrize("changes", [{"done": 4}, {"subset": "other"}, {"checkpoint": "base"}])
def test_other_settings_elsewhere_are_another_run(tmp_path: Path, changes: dict[str, Any]) -> None:
    begun(tmp_path, **changes)
    assert look(tmp_path, wanted(sampling={})).directory is None


def test_a_changed_task_is_named(tmp_path: Path) -> None:
    begun(tmp_path)
    run = wanted()
    tasks = (run.tasks[0], run.tasks[1].model_copy(update={"digest": "e"}))
    changed = run.model_copy(
        update={"tasks": tasks, "fingerprint": fingerprint(run.scoring, tasks)}
    )
    with pytest.raises(SettingsError, match=r"task.b: d, 60.0 s.*→ e, 60.0 s"):
        look(tmp_path, changed)
