"""The bounds of every score: the tasks' own solutions, and nothing at all."""

import tomllib
from pathlib import Path

import pytest

from tbeval.records.ledger import read_ledger
from tests.e2e.commands import DEMO, figures, tbeval

pytestmark = [pytest.mark.e2e, pytest.mark.sandbox]


def test_oracle_solves_everything_and_nop_nothing(tmp_path: Path) -> None:
    done = tbeval("eval", "oracle", "-n", 1, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    oracle = figures(tmp_path)
    assert oracle["planned"] == oracle["scored"] == oracle["solved_trials"] == 12
    assert oracle["score"] == 1.0
    assert oracle["unscored"] == {}

    done = tbeval("eval", "nop", "-n", 1, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    nop = figures(tmp_path)
    assert (nop["planned"], nop["scored"], nop["solved_trials"]) == (12, 12, 0)
    untouched = tomllib.loads((DEMO / "untouched.toml").read_text())
    (ledger,) = tmp_path.glob("results/nop/*/ledger.jsonl")
    records = read_ledger(ledger).records
    assert len(records) == 12
    for record in records:
        assert f"{record.tests.passed}/{record.tests.total}" == untouched[record.task]

    for name in ("oracle", "nop"):
        assert (tmp_path / "reports" / name / "report.md").is_file()


def test_a_finished_run_is_printed_again_and_new_starts_another(tmp_path: Path) -> None:
    args = ("eval", "oracle", "-n", 1, "--tasks", "write-motto,office-modes")
    assert tbeval(*args, cwd=tmp_path).returncode == 0
    again = tbeval(*args, cwd=tmp_path)
    assert again.returncode == 0
    assert "is finished (--new starts another)" in again.stdout
    assert "solved trials" in again.stdout
    assert len(list(tmp_path.glob("results/oracle/*"))) == 1
    (ledger,) = tmp_path.glob("results/oracle/*/ledger.jsonl")
    assert len(read_ledger(ledger).records) == 2
    assert tbeval(*args, "--new", cwd=tmp_path).returncode == 0
    assert len(list(tmp_path.glob("results/oracle/*"))) == 2


def test_other_settings_make_another_run(tmp_path: Path) -> None:
    args = ("eval", "nop", "--tasks", "write-motto")
    assert tbeval(*args, "-n", 1, cwd=tmp_path).returncode == 0
    assert tbeval(*args, "-n", 2, cwd=tmp_path).returncode == 0
    assert tbeval(*args, "-n", 2, "-j", 1, cwd=tmp_path).returncode == 0, "only speed differs"
    assert len(list(tmp_path.glob("results/nop/*"))) == 2
