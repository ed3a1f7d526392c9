from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from tbeval.records.table import COLUMNS
from tbeval.results.run_results import read_results
from tbeval.results.table import FORMATS, read_table, trial_table, write_table
from tests.made_up_runs import BEGAN, make_run, make_trial, write_made_up


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    trials = [
        make_trial("a", 1, "unscored:sandbox", error_class="X", error_message="=cmd()|'é\n"),
        make_trial("a", 1, "solved", number=2, span=(0, 60), tokens_in=2**40, limits_hit=["pids"]),
        make_trial("b", 1, "unsolved", passed=1, stop_reason="time limit"),
    ]
    return write_made_up(tmp_path / "results", make_run(["a", "b"], 1), trials)


def test_a_row_for_every_trial_and_a_mark_on_those_that_count(directory: Path) -> None:
    table = read_table([directory])
    assert dict(table.dtypes.astype(str)) == COLUMNS
    assert list(table["result"]) == [False, True, True]
    assert list(table["solved"].astype(object)) == [pd.NA, True, False]
    assert table["score"].isna().tolist() == [True, False, False]
    assert table.loc[1, "agent_sec"] == 60
    assert table.loc[1, "began"] == pd.Timestamp(BEGAN)
    assert table.loc[1, "limits_hit"] == "pids"
    assert table.loc[1, "tokens_in"] == 2**40
    assert pd.isna(table.loc[2, "began"])


def test_what_another_harness_does_not_tell_is_no_number(directory: Path) -> None:
    run = read_results(directory)
    foreign = replace(run, run=run.run.model_copy(update={"source": "harbor"}))
    assert trial_table([run])[["model_sec", "paused_sec"]].notna().all(axis=None)
    assert trial_table([foreign])[["model_sec", "paused_sec"]].isna().all(axis=None)


def test_several_runs_and_none(directory: Path) -> None:
    run = read_results(directory)
    assert len(trial_table([run, run])) == 6
    empty = trial_table([])
    assert (len(empty), list(empty.columns)) == (0, list(COLUMNS))
    assert dict(empty.dtypes.astype(str)) == COLUMNS


@pytest.mark.parametrize("form", FORMATS)
def test_what_is_written_can_be_read_again(directory: Path, tmp_path: Path, form: str) -> None:
    table = read_table([directory])
    path = tmp_path / f"t.{form}"
    write_table(table, path, form)
    read = {
        "parquet": pd.read_parquet,
        "csv": pd.read_csv,
        "jsonl": lambda p: pd.read_json(p, lines=True),
    }[form](path)
    assert list(read.columns) == list(COLUMNS)
    assert list(read["outcome"]) == ["unscored:sandbox", "solved", "unsolved"]
    message = read["error_message"][0]
    assert message == ("'" if form == "csv" else "") + "=cmd()|'é\n"
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


def test_nothing_is_half_written(directory: Path, tmp_path: Path) -> None:
    target = tmp_path / "taken"
    target.mkdir()
    with pytest.raises(OSError, match="taken"):
        write_table(read_table([directory]), target, "csv")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["results", "taken"]
