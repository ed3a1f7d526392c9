"""Each figure is computed anew here, from the ledger's own lines and by other means."""

import json
from collections.abc import Iterable
from itertools import combinations
from pathlib import Path
from statistics import mean
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tbeval.records.run import RunRecord
from tbeval.reports.as_json import as_json
from tbeval.reports.summary import summarise, summarise_results
from tbeval.results.cells import cells_of
from tbeval.results.run_results import RunResults
from tests.made_up_runs import make_run, make_trial, write_made_up

#: Published, 3 attempts at 66 tasks: solved trials, unique solved, (pass@1, pass@3).
PUBLISHED = [
    ("base30b", 12, 8, (0.0606, 0.1212)),
    ("iter335", 16, 10, (0.0808, 0.1515)),
    ("iter351", 11, 5, (0.0556, 0.0758)),
    ("iter367", 13, 8, (0.0657, 0.1212)),
]


def by_hand(ledger: bytes, tasks: list[str], attempts: int) -> dict[str, Any]:
    lines = [json.loads(line) for line in ledger.splitlines()]
    verdicts = {
        task: [x for x in lines if x["task"] == task and x["score"] is not None] for task in tasks
    }

    def any_of(k: int, solved: list[bool]) -> float:
        return mean(any(drawn) for drawn in combinations(solved, k))

    def mean_or_none(values: Iterable[float]) -> float | None:
        found = list(values)
        return mean(found) if found else None

    solved = {task: [x["solved"] for x in found] for task, found in verdicts.items()}
    padded = {task: found + [False] * (attempts - len(found)) for task, found in solved.items()}
    ks = range(1, attempts + 1)
    return {
        "scored": sum(map(len, verdicts.values())),
        "solved_trials": sum(map(sum, solved.values())),
        "unique_solved": sum(map(any, solved.values())),
        "pass_at": {
            str(k): mean_or_none(any_of(k, found) for found in solved.values() if len(found) >= k)
            for k in ks
        },
        "pass_at_tasks": {str(k): sum(len(x) >= k for x in solved.values()) for k in ks},
        "pass_at_planned": {str(k): mean(any_of(k, x) for x in padded.values()) for k in ks},
        "score": mean_or_none(
            mean(x["score"] for x in found) for found in verdicts.values() if found
        ),
        "score_planned": sum(x["score"] or 0 for x in lines) / (len(tasks) * attempts),
        "tokens_in": sum(x["tokens_in"] for x in lines),
        "tokens_out": sum(x["tokens_out"] for x in lines),
    }


def test_every_figure_agrees_with_another_way_to_compute_it(
    directory: Path, run: RunRecord
) -> None:
    figures = as_json(summarise(directory))
    ledger = (directory / "ledger.jsonl").read_bytes()
    expected = by_hand(ledger, [task.id for task in run.tasks], run.attempts)
    assert expected["scored"] == 9
    for name, value in expected.items():
        assert figures[name] == pytest.approx(value), name


ends = st.sampled_from([0, 1, 2, 3, 4, "unscored:sandbox", "unscored:cancelled", "not run"])


@given(
    st.integers(1, 4).flatmap(lambda n: st.lists(st.tuples(*[ends] * n), min_size=1, max_size=5))
)
def test_it_agrees_for_any_run(matrix: list[tuple[int | str, ...]]) -> None:
    attempts = len(matrix[0])
    tasks = [f"t{n}" for n in range(len(matrix))]
    trials = [
        make_trial(task, attempt, end, tokens_in=1)
        if isinstance(end, str)
        else make_trial(task, attempt, "solved" if end == 4 else "unsolved", passed=end)
        for task, row in zip(tasks, matrix, strict=True)
        for attempt, end in enumerate(row, start=1)
        if end != "not run"
    ]
    run = make_run(tasks, attempts)
    summary = summarise_results(RunResults(Path(), run, cells_of(run, trials), tuple(trials)))
    figures = as_json(summary)
    for name, value in by_hand(b"".join(t.to_line() for t in trials), tasks, attempts).items():
        assert figures[name] == pytest.approx(value), name
    unscored = sum(figures["unscored"].values())
    assert figures["planned"] == figures["scored"] + unscored + figures["not_run"]
    for k in range(2, attempts + 1):
        assert summary.pass_at_planned[k] >= summary.pass_at_planned[k - 1]


def test_a_cell_without_a_verdict_is_named_and_never_a_zero(directory: Path) -> None:
    summary = summarise(directory)
    assert summary.unscored == {"task": 3, "model-endpoint": 1}
    assert summary.not_run == 2
    assert summary.planned == summary.scored + sum(summary.unscored.values()) + summary.not_run
    assert summary.completeness == 9 / 15
    assert summary.unfinished
    broken = next(row for row in summary.rows if row.task == "broken")
    assert (broken.scored, broken.score) == (0, None)


def test_wall_time_leaves_out_when_nothing_ran(directory: Path) -> None:
    assert summarise(directory).wall_sec == 20 + (75 - 30) + (111 - 100)


def test_ends_are_counted_once_per_cell_a_retried_try_left_out(directory: Path) -> None:
    summary = summarise(directory)
    assert summary.stop_reasons == {
        "finished": 4,
        "time limit": 1,
        "turn limit": 3,
        "sandbox died": 1,
    }
    assert summary.limits_hit == {"memory": 1, "processes": 1}
    assert summary.tries == 14


def test_a_task_with_too_few_verdicts_leaves_pass_at_k_and_not_pass_at_1(tmp_path: Path) -> None:
    trials = [
        make_trial("a", 1, "solved"),
        make_trial("a", 2, "unscored:verifier"),
        make_trial("b", 1, "unsolved"),
        make_trial("b", 2, "unsolved"),
    ]
    summary = summarise(write_made_up(tmp_path, make_run(["a", "b"], 2), trials))
    assert (summary.pass_at[1].value, summary.pass_at[1].tasks) == (0.5, 2)
    assert (summary.pass_at[2].value, summary.pass_at[2].tasks) == (0.0, 1)
    assert summary.pass_at_planned == {1: 0.25, 2: 0.5}


@pytest.mark.parametrize("outcome", ["unscored:cancelled", "unscored:sandbox"])
def test_an_interrupted_cell_is_to_be_run_a_failed_one_has_had_its_tries(
    tmp_path: Path, outcome: str
) -> None:
    summary = summarise(write_made_up(tmp_path, make_run(["a"], 1), [make_trial("a", 1, outcome)]))
    assert summary.unfinished == (outcome == "unscored:cancelled")
    assert summary.pass_at[1].value is None
    assert summary.score.value is None


@pytest.mark.parametrize(("checkpoint", "solved", "unique", "pass_at"), PUBLISHED)
def test_the_published_counts_give_the_published_figures(
    tmp_path: Path, checkpoint: str, solved: int, unique: int, pass_at: tuple[float, float]
) -> None:
    tasks = [f"task-{n}" for n in range(66)]
    counts = [1] * unique + [0] * (66 - unique)
    for position in range(solved - unique):  # the others are second and third attempts
        counts[position % unique] += 1
    trials = [
        make_trial(task, attempt, "solved" if attempt <= count else "unsolved")
        for task, count in zip(tasks, counts, strict=True)
        for attempt in (1, 2, 3)
    ]
    run = make_run(tasks, 3, checkpoint=checkpoint)
    summary = summarise(write_made_up(tmp_path, run, trials))
    assert (summary.solved_trials, summary.unique_solved) == (solved, unique)
    assert (summary.planned, summary.scored, summary.unfinished) == (198, 198, False)
    values = (summary.pass_at[1].value, summary.pass_at[3].value)
    assert values == pytest.approx(pass_at, abs=5e-5)
    assert (summary.pass_at_planned[1], summary.pass_at_planned[3]) == values


def test_what_time_went_to_and_how_often_it_ran_out(directory: Path) -> None:
    summary = summarise(directory)
    assert summary.model_sec == 6.5
    assert summary.command_sec == 100 - 6.5 - 1.5
    assert summary.time_limited == 1
