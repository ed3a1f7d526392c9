import math
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tbeval.stats.passk import TaskMean, mean_over_tasks, pass_at_k, pass_hat_k

attempts = st.lists(st.booleans(), min_size=0, max_size=9)
ks = st.integers(1, 10)


@given(attempts, ks)
def test_both_agree_with_drawing_every_set_of_k_attempts(solved: list[bool], k: int) -> None:
    drawn = list(combinations(solved, k))
    n, c = len(solved), sum(solved)
    if not drawn:
        assert pass_at_k(n, c, k) is None
        assert pass_hat_k(n, c, k) is None
    else:
        assert pass_at_k(n, c, k) == float(Fraction(sum(map(any, drawn)), len(drawn)))
        assert pass_hat_k(n, c, k) == float(Fraction(sum(map(all, drawn)), len(drawn)))


@given(st.integers(1, 2000), st.data())
def test_large_numbers_stay_exact_and_within_bounds(n: int, data: st.DataObject) -> None:
    c = data.draw(st.integers(0, n))
    k = data.draw(st.integers(1, n))
    at, hat = pass_at_k(n, c, k), pass_hat_k(n, c, k)
    assert at is not None
    assert hat is not None
    assert 0 <= hat <= at <= 1
    assert (at == 0) == (c == 0)
    assert pass_at_k(n, c, 1) == c / n == pass_hat_k(n, c, 1)
    assert at == float(1 - Fraction(math.comb(n - c, k), math.comb(n, k)))


@pytest.mark.parametrize(("n", "c", "k"), [(3, 4, 1), (3, -1, 1), (3, 1, 0), (-1, 0, 1)])
@pytest.mark.parametrize("estimate", [pass_at_k, pass_hat_k])
def test_impossible_counts_are_refused(
    estimate: Callable[[int, int, int], float | None], n: int, c: int, k: int
) -> None:
    with pytest.raises(ValueError, match=r"must be 1 or more|cannot be solved"):
        estimate(n, c, k)


def test_a_mean_leaves_undefined_tasks_out_and_says_so() -> None:
    assert mean_over_tasks([0.0, None, 1.0]) == TaskMean(0.5, 2)
    assert mean_over_tasks([None, None]) == TaskMean(None, 0)
    assert mean_over_tasks([]) == TaskMean(None, 0)
