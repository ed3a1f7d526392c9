import pytest

from tbeval.stats.counts import TaskCounts
from tbeval.stats.exact import sign_flip
from tbeval.stats.gate import decide, threshold, verdict_of
from tbeval.stats.planning import (
    Spread,
    attempts_needed,
    attempts_simulated,
    power,
    smallest_simulated,
    spread_of,
)


def matrix(solved: list[int], n: int = 3) -> list[TaskCounts]:
    row = (solved + [0] * 66)[:66]
    return [TaskCounts(f"task-{i}", n, n, c) for i, c in enumerate(row)]


def test_the_same_result_passes_and_says_what_it_cannot_see() -> None:
    found = decide(matrix([3, 3, 2, 2, 1, 1]), matrix([3, 3, 2, 2, 1, 1]), draws=200)
    assert found.verdict == "PASS"
    assert found.low <= 0 <= found.high
    three, five = found.chances
    assert (three.drop, five.drop) == (0.03, 0.05)
    assert five.fail > three.fail > 0.2
    again = decide(matrix([3, 3, 2, 2, 1, 1]), matrix([3]), draws=200)
    assert again.chances == found.chances  # of the baseline's spread and a fixed seed


def test_a_drop_fails_although_it_is_within_the_margin() -> None:
    found = decide(matrix([1] * 8), matrix([0]), draws=50)
    assert found.comparison.delta > -0.05
    assert (found.verdict, found.high < 0) == ("FAIL", True)


def test_few_and_wild_tasks_decide_nothing() -> None:
    wild = decide(matrix([3] * 8)[:8], matrix([0, 3, 3, 3, 3, 0, 3, 3])[:8], draws=50)
    assert wild.verdict == "INCONCLUSIVE"
    assert wild.low < -0.05 < 0 < wild.high + 0.01


def test_fail_is_looked_at_first() -> None:
    test = sign_flip([-1] * 8 + [0] * 58, 100)
    assert test.p_above(-0.05) <= 0.05
    assert verdict_of(test, 0.05) == "FAIL"


def test_a_margin_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="margin"):
        decide(matrix([1]), matrix([1]), margin=0)


def test_absolute_thresholds_are_three_valued() -> None:
    half = matrix([3] * 33)
    assert [threshold(half, at).verdict for at in (0.2, 0.5, 0.9)] == [
        "PASS", "INCONCLUSIVE", "FAIL",
    ]  # fmt: skip
    with pytest.raises(ValueError, match="no task"):
        threshold([TaskCounts("a", 3, 0, 0)], 0.1)


def test_power_grows_with_the_difference_and_the_attempts() -> None:
    spread = Spread(0.06, 0.6)

    def chance(attempts: int, delta: float) -> float:
        return power(spread, tasks=66, attempts=attempts, delta=delta, draws=300)

    assert chance(3, 0.0) < 0.08
    assert chance(3, 0.02) < chance(3, 0.05)
    assert chance(1, 0.04) < chance(10, 0.04)
    with pytest.raises(ValueError, match="above it"):
        chance(3, 0.95)


def test_spread_of_a_run_is_found() -> None:
    assert spread_of(matrix([3] * 6)).together == 0.95
    assert spread_of(matrix([1] * 66)).together == 0.05
    assert spread_of(matrix([0])).rate == 0
    mixed = spread_of(matrix([3, 3, 2, 1, 1, 1]))
    assert 0.3 < mixed.together < 0.8


def test_attempts_needed_falls_with_the_difference_and_may_not_exist() -> None:
    base, other = matrix([1, 2, 1, 2, 1]), matrix([2, 1, 2, 1, 2])
    few, many = attempts_needed(base, other, 0.05), attempts_needed(base, other, 0.02)
    assert few is not None
    assert many is not None
    assert few < many
    assert attempts_needed(matrix([3] * 9), matrix([0] * 9 + [3] * 9), 0.01) is None
    assert attempts_needed(base, other, 0) is None


def test_what_a_design_sees_and_what_would_see_it_agree() -> None:
    spread = Spread(0.06, 0.6)
    smallest = smallest_simulated(spread, tasks=66, attempts=3, draws=150)
    assert smallest is not None
    assert 0.05 < smallest < 0.08
    needed = attempts_simulated(spread, tasks=66, delta=smallest, draws=150, most=8)
    assert needed in {2, 3}
    assert smallest_simulated(spread, tasks=2, attempts=1, draws=50) is None
    assert attempts_simulated(spread, tasks=5, delta=0.01, most=4, draws=50) is None
