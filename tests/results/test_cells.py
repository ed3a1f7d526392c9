import pytest

from tbeval.records.ledger import LedgerError, TrialRecord
from tbeval.records.outcome import Outcome
from tbeval.results.cells import cells_of
from tests.made_up_runs import make_run, make_trial

RUN = make_run(["a", "b"], 2)


def test_every_planned_cell_is_there_in_the_order_of_the_plan_whatever_ran() -> None:
    cells = cells_of(RUN, [make_trial("b", 2, "solved"), make_trial("a", 1, "unsolved", passed=1)])
    assert [(cell.task, cell.attempt) for cell in cells] == [
        ("a", 1), ("a", 2), ("b", 1), ("b", 2),
    ]  # fmt: skip
    assert [cell.tries for cell in cells] == [1, 0, 0, 1]
    assert [cell.score for cell in cells] == [0.25, None, None, 1.0]
    assert [cell.solved for cell in cells] == [False, False, False, True]
    assert [cell.unscored for cell in cells] == [None] * 4


def test_the_scored_try_is_the_result_and_its_failed_tries_are_counted() -> None:
    trials = [
        make_trial("a", 1, "unscored:sandbox", number=1),
        make_trial("a", 1, "unsolved", number=2, passed=2),
    ]
    cell = cells_of(RUN, trials)[0]
    assert (cell.scored, cell.tries, cell.score, cell.unscored) == (True, 2, 0.5, None)


def test_without_a_scored_try_the_last_one_says_why() -> None:
    trials = [
        make_trial("a", 1, "unscored:sandbox", number=1),
        make_trial("a", 1, "unscored:model-endpoint", number=2),
    ]
    cell = cells_of(RUN, trials)[0]
    assert (cell.scored, cell.score, cell.unscored) == (False, None, "model-endpoint")


def test_two_verdicts_for_one_cell_are_refused() -> None:
    trials = [make_trial("a", 1, "unsolved", number=n) for n in (1, 2)]
    with pytest.raises(LedgerError, match=r"attempt 1 at a has 2 verdicts \(a\.1\.1-.* and a\.1\."):
        cells_of(RUN, trials)


@pytest.mark.parametrize(("task", "attempt"), [("c", 1), ("a", 3)])
def test_a_trial_outside_the_plan_is_refused(task: str, attempt: int) -> None:
    with pytest.raises(LedgerError, match=f"attempt {attempt} at {task}, which run"):
        cells_of(RUN, [make_trial(task, attempt, "unsolved")])


@pytest.mark.parametrize(
    "change",
    [
        {"outcome": Outcome.SOLVED},
        {"solved": True},
        {"score": None},
        {"outcome": Outcome.SANDBOX},
        {"outcome": Outcome.SOLVED, "solved": True, "score": 0.5},
    ],
)
def test_a_verdict_that_contradicts_itself_is_refused(change: dict[str, object]) -> None:
    trial = make_trial("a", 1, "unsolved", passed=1)
    broken = TrialRecord.model_validate(trial.model_dump(by_alias=True) | change)
    with pytest.raises(LedgerError, match="contradict"):
        cells_of(RUN, [broken])
