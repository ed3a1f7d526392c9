"""pass@k and pass^k: what k attempts at a task would give, from n that were made."""

import math
from collections.abc import Iterable
from dataclasses import dataclass


def pass_at_k(n: int, c: int, k: int) -> float | None:
    """The chance that at least one of k attempts, drawn from n with c solved, is solved.

    The unbiased estimator 1 - C(n-c, k) / C(n, k) of Chen et al. 2021 (arXiv 2107.03374), in
    integers until the last division.

    Returns:
        None where n < k: it is not defined there, and never 1.

    Raises:
        ValueError: Not 0 <= c <= n, or k < 1.
    """
    _check(n, c, k)
    if n < k:
        return None
    ways = math.comb(n, k)
    return (ways - math.comb(n - c, k)) / ways


def pass_hat_k(n: int, c: int, k: int) -> float | None:
    """The chance that all of k attempts, drawn from n with c solved, are solved: C(c, k) / C(n, k).

    Yao et al. 2024 (arXiv 2406.12045) call it pass^k.

    Returns:
        None where n < k.

    Raises:
        ValueError: Not 0 <= c <= n, or k < 1.
    """
    _check(n, c, k)
    return math.comb(c, k) / math.comb(n, k) if n >= k else None


@dataclass(frozen=True)
class TaskMean:
    """A mean over tasks.

    Attributes:
        value: The mean; None if no task had a value.
        tasks: Over how many tasks it is.
    """

    value: float | None
    tasks: int


def mean_over_tasks(values: Iterable[float | None]) -> TaskMean:
    """The mean of one value per task; tasks whose value is not defined (None) are left out."""
    defined = [value for value in values if value is not None]
    if not defined:
        return TaskMean(None, 0)
    return TaskMean(math.fsum(defined) / len(defined), len(defined))


def _check(n: int, c: int, k: int) -> None:
    if not 0 <= c <= n:
        raise ValueError(f"{c} of {n} attempts cannot be solved")
    if k < 1:
        raise ValueError(f"k is {k}; it must be 1 or more")
