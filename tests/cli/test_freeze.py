from pathlib import Path

from click.testing import CliRunner

from tbeval.cli.freeze import command
from tbeval.results.measured import find_measured, read_frozen
from tbeval.settings.base import SettingsError
from tests.made_up_runs import make_run, make_trial, write_made_up


def test_what_is_frozen_is_what_was_measured(tmp_path: Path) -> None:
    results, file = tmp_path / "results", tmp_path / "baseline.json"
    write_made_up(results, make_run(["a"], 1), [make_trial("a", 1, "solved")])
    asked = ["iter335", "-o", str(file), "--results-dir", str(results)]
    done = CliRunner().invoke(command, asked, catch_exceptions=False)
    assert "iter335, 1 tasks, 1 of 1 cells scored" in done.output
    assert read_frozen(file) == find_measured(results, "iter335")[0]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["baseline.json", "results"]


def test_a_name_that_would_not_be_known_again_is_refused(tmp_path: Path) -> None:
    error = CliRunner().invoke(command, ["iter335", "-o", str(tmp_path / "b.txt")]).exception
    assert isinstance(error, SettingsError)
    assert "should end in .json" in str(error)
