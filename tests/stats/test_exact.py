import math
from itertools import combinations, product

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tbeval.stats.exact import sign_flip, within_tasks

differences = st.lists(st.integers(-3, 3), min_size=1, max_size=8)
counts = st.tuples(st.integers(1, 3), st.integers(0, 3)).map(lambda t: (t[0], min(t)))
pairs = st.lists(st.tuples(counts, counts), min_size=1, max_size=3)


def flipped(values: list[int]) -> float:
    """The one-sided mid-p of a positive sum, by trying every sign."""
    sums = [sum(s * d for s, d in zip(signs, values, strict=True))
            for signs in product((1, -1), repeat=len(values))]  # fmt: skip
    seen = sum(values)
    return sum((s > seen) + (s == seen) / 2 for s in sums) / len(sums)


@given(differences, st.integers(-12, 12))
def test_sign_flip_agrees_with_every_flip_at_every_difference(values: list[int], at: int) -> None:
    quartered = [4 * value - at for value in values]
    test = sign_flip(values)
    assert test.p_above(at / 4) == pytest.approx(flipped(quartered), abs=1e-12)
    assert test.p_below(at / 4) == pytest.approx(flipped([-q for q in quartered]), abs=1e-12)


@given(differences, st.sampled_from([0.025, 0.05, 0.2]), st.integers(-24, 24), st.integers(1, 7))
def test_interval_is_the_inverted_test(
    values: list[int], alpha: float, numerator: int, denominator: int
) -> None:
    test, delta = sign_flip(values), numerator / denominator
    assume(abs(test.p_above(delta) - alpha) > 1e-9)
    assume(abs(test.p_below(delta) - alpha) > 1e-9)
    assert (test.low(alpha) <= delta) == (test.p_above(delta) > alpha)
    assert (delta <= test.high(alpha)) == (test.p_below(delta) > alpha)
    assert test.low(alpha) <= sum(values) / len(values) <= test.high(alpha)


@given(differences)
def test_exchange_of_the_checkpoints_mirrors_everything(values: list[int]) -> None:
    one, two = sign_flip(values, 3), sign_flip([-value for value in values], 3)
    assert one.p() == pytest.approx(two.p())
    assert one.low(0.1) == pytest.approx(-two.high(0.1))


def test_no_difference_at_all_says_nothing() -> None:
    assert sign_flip([0] * 66, 3).p() == 1
    assert math.isinf(sign_flip([1]).low(0.025))
    with pytest.raises(ValueError, match="no task is common"):
        sign_flip([])


@given(pairs)
def test_within_tasks_agrees_with_every_permutation(
    paired: list[tuple[tuple[int, int], tuple[int, int]]],
) -> None:
    def every(n1: int, c1: int, n2: int, c2: int) -> list[float]:
        pool = [1] * (c1 + c2) + [0] * (n1 + n2 - c1 - c2)
        drawn = [sum(pool[i] for i in chosen) for chosen in combinations(range(n1 + n2), n2)]
        return [x / n2 - (c1 + c2 - x) / n1 for x in drawn]

    sums = [sum(each) for each in product(*(every(*b, *o) for b, o in paired))]
    seen = sum(o[1] / o[0] - b[1] / b[0] for b, o in paired)
    above = sum((s > seen + 1e-9) + (abs(s - seen) <= 1e-9) / 2 for s in sums) / len(sums)
    found = within_tasks([b for b, _ in paired], [o for _, o in paired])
    assert found == pytest.approx(min(1, 2 * min(above, 1 - above)), abs=1e-9)


def test_within_tasks_needs_attempts_on_both_sides() -> None:
    assert within_tasks([(0, 0)], [(3, 1)]) is None
