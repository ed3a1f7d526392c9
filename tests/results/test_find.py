from datetime import timedelta
from pathlib import Path

import pytest

from tbeval.results.find import find_run, list_runs
from tbeval.settings.base import SettingsError
from tests.made_up_runs import BEGAN, make_run, write_made_up


@pytest.fixture
def results(tmp_path: Path) -> Path:
    for run_id, checkpoint, hours in [
        ("zz-first", "iter335", 0),
        ("aa-second", "iter335", 1),
        ("third", "base30b", 2),
    ]:
        run = make_run(
            ["a"], 1, run_id=run_id, checkpoint=checkpoint, created=BEGAN + timedelta(hours=hours)
        )
        write_made_up(tmp_path, run, [])
    (tmp_path / "iter335" / "broken").mkdir()
    (tmp_path / "iter335" / "broken" / "run.toml").write_text("created = [")
    (tmp_path / "README.md").write_text("not a run")
    return tmp_path


def test_runs_are_listed_by_when_they_began_not_by_name(results: Path) -> None:
    assert [run.run_id for run in list_runs(results)] == ["zz-first", "aa-second", "third"]


@pytest.mark.parametrize(
    ("reference", "found"),
    [
        (None, "base30b/third"),
        ("iter335", "iter335/aa-second"),
        ("zz-first", "iter335/zz-first"),
        ("base30b", "base30b/third"),
    ],
)
def test_a_run_is_found_by_what_a_user_would_type(
    results: Path, reference: str | None, found: str
) -> None:
    assert find_run(results, reference) == results / found


def test_a_run_is_found_by_its_path_wherever_it_lies(results: Path, tmp_path: Path) -> None:
    run = results / "iter335" / "zz-first"
    assert find_run(tmp_path / "elsewhere", str(run)) == run
    assert find_run(tmp_path / "elsewhere", str(run / "run.toml")) == run


def test_an_unknown_run_is_answered_with_the_nearest_and_the_list(results: Path) -> None:
    with pytest.raises(SettingsError, match=r'did you mean "iter335"\?.*runs of: base30b, iter335'):
        find_run(results, "iter353")


def test_an_empty_results_directory_tells_how_to_start(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="start one with: tbeval eval CHECKPOINT"):
        find_run(tmp_path / "none")
