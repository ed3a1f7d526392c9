import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tbeval.records.measured import Measured, TaskOutcomes
from tbeval.results.measured import find_measured, freeze, measure, pool, read_frozen
from tbeval.results.run_results import read_results
from tbeval.settings.base import SettingsError
from tests.made_up_runs import BEGAN, make_run, make_trial, write_made_up

SCORING = {"agent": "terminus-2", "served_model": "iter335", "sampling": {"top_p": 0.9}}


def write(results: Path, run_id: str = "r1", *, complete: bool = True, **fields: Any) -> Path:
    fields = {"scoring": SCORING, "identity": {"served_model": "x", "engine": "sglang"}} | fields
    trials = [
        make_trial("a", 1, "solved", stop_reason="time limit"),
        make_trial("a", 2, "unscored:sandbox"),
        make_trial("b", 1, "unsolved", passed=1),
        *([make_trial("b", 2, "solved")] if complete else []),
    ]
    return write_made_up(results, make_run(["a", "b"], 2, run_id=run_id, **fields), trials)


def test_what_a_comparison_needs(tmp_path: Path) -> None:
    found = measure(read_results(write(tmp_path)))
    assert [(task.id, task.solved, task.scores) for task in found.tasks] == [
        ("a", (True,), (1.0,)),
        ("b", (False, True), (0.25, 1.0)),
    ]
    assert (found.planned, found.scored, found.completeness) == (4, 3, 0.75)
    assert found.time_limited == pytest.approx(1 / 3)
    assert found.settings == {"agent": "terminus-2", "sampling.top_p": 0.9}
    assert found.engine == {"engine": "sglang"}


def test_a_checkpoint_is_its_newest_complete_run(tmp_path: Path) -> None:
    write(tmp_path, "old")
    write(tmp_path, "newer", created=BEGAN + timedelta(hours=1))
    write(tmp_path, "begun", created=BEGAN + timedelta(hours=2), complete=False)
    write(tmp_path, "other", created=BEGAN + timedelta(hours=3), checkpoint="base")
    found, left = find_measured(tmp_path, "iter335")
    assert (found.runs, left) == (("newer",), ("begun", "old"))
    found, left = find_measured(tmp_path, "begun")
    assert (found.runs, left) == (("begun",), ())
    found, _ = find_measured(tmp_path, str(tmp_path / "iter335" / "old"))
    assert found.runs == ("old",)


def test_runs_of_the_same_settings_are_pooled(tmp_path: Path) -> None:
    write(tmp_path, "old")
    write(tmp_path, "newer", created=BEGAN + timedelta(hours=1))
    other = SCORING | {"sampling": {"top_p": 0.5}}
    write(tmp_path, "other", created=BEGAN - timedelta(hours=1), scoring=other)
    found, left = find_measured(tmp_path, "iter335", pooled=True)
    assert (found.runs, left) == (("newer", "old"), ("other",))
    assert (found.attempts, found.planned, found.scored) == (4, 8, 6)
    assert found.tasks[1].solved == (False, True, False, True)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"checkpoint": "base"}, "different checkpoints"),
        ({"settings": {"agent": "nop"}}, "settings, tasks or engines differ"),
        ({"engine": {"engine": "vllm"}}, "settings, tasks or engines differ"),
    ],
)
def test_what_differs_is_not_pooled(tmp_path: Path, changes: dict[str, Any], why: str) -> None:
    found = measure(read_results(write(tmp_path)))
    with pytest.raises(SettingsError, match=why):
        pool([found, found.model_copy(update=changes)])


def test_a_frozen_baseline_is_read_as_it_was(tmp_path: Path) -> None:
    found = measure(read_results(write(tmp_path)))
    path = tmp_path / "baseline.json"
    path.write_text(freeze(found))
    assert read_frozen(path) == find_measured(tmp_path, str(path))[0] == found
    assert len(path.read_text().splitlines()) < 40


@given(
    st.lists(
        st.lists(st.tuples(st.booleans(), st.floats(0, 1)), max_size=4), min_size=1, max_size=5
    ),
    st.text(max_size=8).filter(lambda text: text.isprintable()),
)
def test_freezing_loses_nothing(
    tmp_path_factory: pytest.TempPathFactory, tasks: list[list[tuple[bool, float]]], label: str
) -> None:
    measured = Measured(
        checkpoint="c",
        label=label,
        runs=("r",),
        created=BEGAN,
        source="tbeval",
        subset="s",
        attempts=4,
        tasks=tuple(
            TaskOutcomes(
                id=f"t{number}",
                planned=4,
                solved=tuple(solved for solved, _ in task),
                scores=tuple(score for _, score in task),
            )
            for number, task in enumerate(tasks)
        ),
    )
    path = tmp_path_factory.getbasetemp() / "frozen.json"
    path.write_text(freeze(measured), encoding="utf-8")
    assert read_frozen(path) == measured


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda _: "{", "not JSON"),
        (lambda _: "[]", "no frozen baseline"),
        (lambda _: "[" * 100_000, "not JSON"),
        (lambda content: json.dumps(content | {"schema_version": 99}), "a later tbeval"),
        (lambda content: json.dumps(content | {"extra": 1}), r"\(extra: "),
        (
            lambda content: json.dumps(
                content | {"tasks": [content["tasks"][0] | {"planned": 0}, content["tasks"][1]]}
            ),
            "contradict each other",
        ),
    ],
)
def test_a_file_that_is_none_is_refused(tmp_path: Path, change: Any, why: str) -> None:
    content = json.loads(freeze(measure(read_results(write(tmp_path)))))
    path = tmp_path / "b.json"
    path.write_text(change(content))
    with pytest.raises(SettingsError, match=why):
        read_frozen(path)
