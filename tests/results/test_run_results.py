from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tbeval.records.ledger import LedgerError
from tbeval.records.run import RunFileError
from tbeval.results.run_results import read_results, running_seconds
from tests.made_up_runs import make_run, make_trial, write_made_up

spans = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)), max_size=8)


@given(spans)
def test_wall_time_counts_each_second_in_which_something_ran_once(
    spans: list[tuple[int, int]],
) -> None:
    trials = [make_trial("a", 1, "unsolved", span=(start, start + n)) for start, n in spans]
    seconds = {second for start, n in spans for second in range(start, start + n)}
    assert running_seconds(trials) == len(seconds)


def test_a_trial_runs_from_its_first_phase_to_its_last() -> None:
    trial = make_trial("a", 1, "unsolved", span=(0, 5))
    later = make_trial("a", 1, "unsolved", span=(8, 9)).phases
    assert running_seconds([trial.model_copy(update={"phases": trial.phases + later})]) == 9


def test_an_incomplete_last_line_is_a_cell_that_has_not_run(tmp_path: Path) -> None:
    trials = [make_trial("a", 1, "solved", tokens_in=7), make_trial("a", 2, "solved", tokens_in=5)]
    directory = write_made_up(tmp_path, make_run(["a"], 2), trials)
    ledger = directory / "ledger.jsonl"
    ledger.write_bytes(ledger.read_bytes()[:-9])
    results = read_results(directory)
    assert [cell.scored for cell in results.cells] == [True, False]
    assert results.tokens_in == 7


def test_a_run_that_has_not_begun_has_no_ledger(tmp_path: Path) -> None:
    directory = write_made_up(tmp_path, make_run(["a"], 2), [])
    (directory / "ledger.jsonl").unlink()
    results = read_results(directory)
    assert len(results.cells) == 2
    assert results.wall_sec == 0


def test_a_corrupt_middle_line_is_refused_with_its_number(tmp_path: Path) -> None:
    trials = [make_trial("a", n, "solved") for n in (1, 2, 3)]
    directory = write_made_up(tmp_path, make_run(["a"], 3), trials)
    ledger = directory / "ledger.jsonl"
    lines = ledger.read_bytes().splitlines(keepends=True)
    ledger.write_bytes(lines[0] + b"{oops\n" + lines[2])
    with pytest.raises(LedgerError, match=r"ledger\.jsonl, line 2: not valid JSON"):
        read_results(directory)


def test_a_directory_without_run_toml_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(RunFileError, match=r"is not a run: it has no run\.toml"):
        read_results(tmp_path)
