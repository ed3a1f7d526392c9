from datetime import timedelta
from pathlib import Path

import pytest

from tbeval.results.select import select_runs
from tbeval.settings.base import SettingsError
from tests.made_up_runs import BEGAN, make_run, make_trial, write_made_up


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Of `a` an older complete run and a newer one that has begun; of `b` only one that has."""
    done = [make_trial("t", 1, "solved"), make_trial("t", 2, "unscored:task")]
    for checkpoint, run_id, day, trials in (
        ("a", "a-old", 1, done),
        ("a", "a-new", 2, done[:1]),
        ("b", "b-new", 3, done[:1]),
    ):
        run = make_run(
            ["t"], 2, checkpoint=checkpoint, run_id=run_id, created=BEGAN + timedelta(days=day)
        )
        write_made_up(tmp_path, run, trials)
    return tmp_path


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ((), ["a-old", "b-new"]),
        (("b", "a"), ["b-new", "a-old"]),
        (("a-new", "a", "a-old"), ["a-new", "a-old"]),
    ],
)
def test_a_checkpoint_is_its_newest_complete_run_and_no_run_comes_twice(
    results: Path, asked: tuple[str, ...], found: list[str]
) -> None:
    assert [each.run.run_id for each in select_runs(results, asked)] == found


def test_without_a_run_it_says_how_to_start_one(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="tbeval eval CHECKPOINT"):
        select_runs(tmp_path, ())
