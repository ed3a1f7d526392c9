"""The plan: every cell once, longest first; tries count on from what the ledger and disk hold."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tbeval.records.outcome import Outcome
from tbeval.runs.plan import (
    MAX_TRIES,
    Cell,
    new_run_id,
    next_try,
    open_cells,
    plan_cells,
    trial_id,
)
from tests.made_up_runs import make_task, make_trial


@given(
    st.dictionaries(st.from_regex(r"[a-z]{1,8}", fullmatch=True), st.integers(1, 9), min_size=1),
    st.integers(1, 5),
)
def test_each_cell_once_and_the_longest_first(seconds: dict[str, int], attempts: int) -> None:
    cells = plan_cells([make_task(name, limit) for name, limit in seconds.items()], attempts)
    assert {cell.key for cell in cells} == {
        (name, n) for name in seconds for n in range(1, attempts + 1)
    }
    assert len(cells) == len(seconds) * attempts
    limits = [cell.task.agent_timeout_sec for cell in cells]
    assert limits == sorted(limits, reverse=True)


def test_a_trial_id_is_fit_for_urls_and_container_names() -> None:
    run = new_run_id()
    name = trial_id(Cell(make_task("csv-to-json"), 2), 3, run)
    assert name == f"csv-to-json.2.3-{run}"
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789.-")


def test_a_killed_try_on_disk_counts_though_the_ledger_knows_nothing(tmp_path: Path) -> None:
    cell = Cell(make_task("a.b"), 1)
    assert next_try(cell, [], tmp_path / "none") == 1
    for name in ("a.b.1.4-run", "a.b.11.9-run", "axb.1.8-run", "a.b.1.x-run"):
        (tmp_path / name).mkdir()
    assert next_try(cell, [make_trial("a.b", 1, Outcome.VERIFIER, number=2)], tmp_path) == 5


def test_verdicts_and_broken_tasks_close_a_cell_and_cancelled_tries_cost_nothing() -> None:
    cells = plan_cells([make_task(name) for name in "abcdef"], 1)
    records = [
        make_trial("a", 1, Outcome.SOLVED),
        make_trial("b", 1, Outcome.UNSOLVED),
        make_trial("c", 1, Outcome.TASK),
        *(make_trial("d", 1, Outcome.VERIFIER, number=n) for n in range(1, MAX_TRIES + 1)),
        *(make_trial("e", 1, Outcome.CANCELLED, number=n) for n in range(1, 9)),
    ]
    assert [cell.task.id for cell in open_cells(cells, records)] == ["e", "f"]


def test_a_verdict_after_an_unscored_try_closes_the_cell() -> None:
    cells = plan_cells([make_task("a")], 1)
    first = make_trial("a", 1, Outcome.SANDBOX)
    assert open_cells(cells, [first]) == cells
    assert open_cells(cells, [first, make_trial("a", 1, Outcome.UNSOLVED, number=2)]) == ()


def test_forgiven_tries_do_not_count_but_verdicts_do() -> None:
    cells = plan_cells([make_task(name) for name in "ab"], 1)
    tries = [make_trial("a", 1, Outcome.VERIFIER, number=n) for n in range(1, MAX_TRIES + 1)]
    records = [*tries, make_trial("b", 1, Outcome.UNSOLVED)]
    assert open_cells(cells, records) == ()
    assert [cell.task.id for cell in open_cells(cells, records, forgiven=4)] == ["a"]
    again = [make_trial("a", 1, Outcome.VERIFIER, number=MAX_TRIES + n) for n in range(1, 4)]
    assert open_cells(cells, records + again, forgiven=4) == ()
