import json
from datetime import timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner

from tbeval.cli.show import command
from tbeval.settings.base import SettingsError
from tests.made_up_runs import BEGAN, make_run, make_trial, write_made_up


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a finished run and a newer one that has begun."""
    monkeypatch.chdir(tmp_path)
    trials = [make_trial("a", 1, "solved"), make_trial("a", 2, "unsolved", passed=1)]
    write_made_up(Path("results"), make_run(["a"], 2, run_id="older"), trials)
    newer = make_run(
        ["a"], 2, run_id="newer", checkpoint="base30b", created=BEGAN + timedelta(days=1)
    )
    write_made_up(Path("results"), newer, trials[:1])
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "run_id"),
    [
        ([], "newer"),
        (["iter335"], "older"),
        (["older"], "older"),
        (["results/base30b/newer"], "newer"),
    ],
)
def test_the_figures_come_as_json(project: Path, arguments: list[str], run_id: str) -> None:
    result = CliRunner().invoke(command, [*arguments, "--json"], catch_exceptions=False)
    figures = json.loads(result.output)
    assert result.exit_code == 0
    assert figures["run_id"] == run_id
    wanted = {
        "planned", "scored", "unscored", "tasks", "attempts", "solved_trials", "unique_solved",
        "pass_at", "pass_at_planned", "score", "tokens_in", "tokens_out", "wall_sec",
    }  # fmt: skip
    assert wanted <= set(figures)
    assert set(figures["pass_at"]) == set(figures["pass_at_planned"]) == {"1", "2"}


def test_the_summary_tells_where_the_results_lie(project: Path) -> None:
    result = CliRunner().invoke(command, ["iter335"], catch_exceptions=False)
    assert "pass@1          0.5000" in result.output
    assert result.output.endswith("results: results/iter335/older\n")
    assert "not run" not in result.output
    assert "not run" in CliRunner().invoke(command, []).output


def test_the_ledger_alone_is_enough(project: Path) -> None:
    directory = project / "results" / "iter335" / "older"
    assert {path.name for path in directory.iterdir()} == {"run.toml", "ledger.jsonl"}
    assert CliRunner().invoke(command, ["older"]).exit_code == 0


def test_an_unknown_run_is_a_users_mistake(project: Path) -> None:
    with pytest.raises(SettingsError, match='no run "iter353"'):
        CliRunner().invoke(command, ["iter353"], catch_exceptions=False)
