import time
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tbeval.stats.comparison import best_of, compare, error_on_these_tasks, holm
from tbeval.stats.counts import Metric, TaskCounts
from tbeval.stats.estimates import estimate

#: Solved attempts of the published checkpoints at the 14 tasks that any of them ever solved (the
#: last three iter335 alone), and: solved trials, unique solved, pass@1, pass@3. The counts per
#: checkpoint are the published ones, which tasks they fall on is made up.
REFERENCE = {
    "base": ([0, 0, 0, 1, 2, 1, 1, 3, 2, 1, 1], 12, 8, 0.0606, 0.1212),
    "iter335": ([3, 3, 2, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 2], 16, 10, 0.0808, 0.1515),
    "iter351": ([3, 3, 1, 0, 0, 0, 0, 2, 2], 11, 5, 0.0556, 0.0758),
    "iter367": ([3, 3, 2, 0, 1, 1, 0, 0, 1, 1, 1], 13, 8, 0.0657, 0.1212),
}
matrices = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=20)


def matrix(solved: list[int], *, shift: int = 0, tasks: int = 66) -> list[TaskCounts]:
    """The solved ones begin at task number `shift`."""
    row = ([0] * shift + solved + [0] * tasks)[:tasks]
    return [TaskCounts(f"task-{i}", 3, 3, c, float(c)) for i, c in enumerate(row)]


@pytest.mark.parametrize("name", REFERENCE)
def test_reference_counts_give_the_published_columns(name: str) -> None:
    solved, trials, unique, at_1, at_3 = REFERENCE[name]
    found = estimate(matrix(solved))
    assert (found.solved_trials, found.unique_solved, found.scored) == (trials, unique, 198)
    assert [found.at[0].pass_at.value, found.at[2].pass_at.value] == [
        pytest.approx(at_1, abs=5e-5),
        pytest.approx(at_3, abs=5e-5),
    ]


def test_no_pair_of_the_published_checkpoints_differs() -> None:
    found = [
        compare(matrix(REFERENCE[one][0]), matrix(REFERENCE[two][0]))
        for one, two in combinations(REFERENCE, 2)
    ]
    assert not any(pair.differs for pair in found)
    assert all(0 in pair.interval and pair.delta in pair.interval for pair in found)
    assert min(holm([pair.p for pair in found])) > 0.05


def test_gained_and_lost_are_named() -> None:
    found = compare(matrix([3, 1]), matrix([3, 1], shift=1))
    assert (found.gained, found.lost) == (("task-2",), ("task-0",))


@given(matrices, st.sampled_from([Metric(1), Metric(2), Metric(3), Metric(None)]))
def test_p_and_interval_never_disagree(pairs: list[tuple[int, int]], metric: Metric) -> None:
    base, other = (matrix([p[i] for p in pairs], tasks=len(pairs)) for i in (0, 1))
    found, back = compare(base, other, metric), compare(other, base, metric)
    assert found.differs == (0 not in found.interval)
    assert found.delta == -back.delta
    assert found.p == pytest.approx(back.p)
    assert found.gained == back.lost


def test_a_large_difference_is_seen_by_both_tests() -> None:
    found = compare(matrix([0]), matrix([3] * 10))
    assert found.differs
    assert found.p_these_tasks is not None
    assert found.p_these_tasks < 0.001


def test_unscored_attempts_stay_out_of_the_headline_and_count_beside_it() -> None:
    found = estimate([TaskCounts("a", 3, 2, 1), TaskCounts("b", 3, 0, 0)])
    first, third = found.at[0], found.at[2]
    assert (first.pass_at.value, first.pass_at.tasks) == (0.5, 1)
    assert first.pass_at_planned.value == pytest.approx(1 / 6)
    assert (third.pass_at.value, third.pass_at_planned.value) == (None, 0.5)
    assert found.completeness == pytest.approx(1 / 3)
    with pytest.raises(ValueError, match="no task has pass@3"):
        compare([TaskCounts("a", 3, 2, 1)], [TaskCounts("a", 3, 3, 1)], Metric(3))


def test_best_of_several_equal_ones_exceeds_the_truth() -> None:
    error = (0.06 * 0.94 * 0.5 / 198) ** 0.5
    assert [round(100 * best_of(k, error), 2) for k in (1, 5, 10, 20)] == [0, 1.39, 1.84, 2.23]
    assert error_on_these_tasks(matrix([3, 3])) == 0
    assert error_on_these_tasks([TaskCounts("a", 1, 1, 1)]) is None


def test_uneven_attempts_and_many_tasks_take_no_time() -> None:
    uneven = (5, 4, 6, 3)
    base = [TaskCounts(f"{i}", 6, uneven[i % 4], i % 3) for i in range(80)]
    other = [TaskCounts(f"{i}", 6, uneven[(i + 1) % 4], i % 4 // 2) for i in range(80)]
    began = time.process_time()
    compare(base, other)
    assert time.process_time() - began < 2


def test_a_task_that_is_there_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="twice"):
        compare([*matrix([1]), *matrix([1])], matrix([1]))
