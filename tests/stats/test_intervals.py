from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tbeval.stats.intervals import Interval, tasks_like_these, these_tasks_only

solved = st.lists(st.integers(0, 3), min_size=1, max_size=70)


@given(solved, st.randoms())
def test_both_contain_the_estimate_and_forget_the_order(counts: list[int], random: Random) -> None:
    mixed = random.sample(counts, len(counts))
    for interval, again in (
        (of_new(counts), of_new(mixed)),
        (these_tasks_only([3] * len(counts), counts), these_tasks_only([3] * len(mixed), mixed)),
    ):
        assert interval is not None
        assert again is not None
        assert sum(counts) / (3 * len(counts)) == pytest.approx(
            min(max(sum(counts) / (3 * len(counts)), interval.low), interval.high)
        )
        assert 0 <= interval.low <= interval.high <= 1
        assert (interval.low, interval.high) == pytest.approx((again.low, again.high))


@given(solved)
def test_new_tasks_solved_and_not_solved_mirror_each_other(counts: list[int]) -> None:
    one, two = of_new(counts), of_new([3 - c for c in counts])
    assert one is not None
    assert two is not None
    assert one.low == pytest.approx(1 - two.high, abs=1e-12)


def test_targets_are_named_and_the_fixed_one_is_narrower() -> None:
    counts = [3, 3, 3, 2] + [0] * 62
    new, only = of_new(counts), these_tasks_only([3] * 66, counts)
    assert new is not None
    assert only is not None
    assert (new.target, only.target) == ("tasks like these", "these tasks only")
    assert only.high - only.low < new.high - new.low


def test_nothing_solved_leaves_room_above() -> None:
    nothing = of_new([0] * 66)
    assert nothing is not None
    assert nothing.low == 0
    assert nothing.high == pytest.approx(0.055, abs=0.001)


def test_without_data_there_is_none() -> None:
    assert tasks_like_these([], 0) is None
    assert these_tasks_only([0], [0]) is None


def of_new(counts: list[int]) -> Interval | None:
    return tasks_like_these([c / 3 for c in counts], 3 * len(counts))
