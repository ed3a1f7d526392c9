"""Intervals for a mean over tasks, each with the words for what it generalises to."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from statsmodels.stats.proportion import proportion_confint

Target = Literal["tasks like these", "these tasks only"]

#: Below so many independent trials per task Wilson gives nothing away any more.
FEWEST_PER_TASK = 0.3
#: Attempts that all went alike say that a task is near 0 or 1, not that it is 0 or 1: a trial is
#: never worth more than this many of a single common rate (an intraclass correlation of .75).
MOST_PER_TRIAL = 4.0


@dataclass(frozen=True)
class Interval:
    """A confidence interval.

    Attributes:
        low: Its lower end.
        high: Its upper end.
        level: How often such intervals contain the truth, nominally.
        target: What it is a statement about.
    """

    low: float
    high: float
    level: float
    target: Target

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high


def tasks_like_these(
    values: Sequence[float], trials: int, *, level: float = 0.95
) -> Interval | None:
    """Wilson's interval with the effective number of trials: for new tasks of the same kind.

    n_eff = p(1-p) / Var(mean of the task values), within 0.3 per task and the number of trials,
    since attempts at one task go together; the number of tasks where p is 0 or 1. At 66 × 3 it
    covers what it should from p = .02 up (benchmarks/calibration.md); Wald does not.

    Args:
        values: One value from 0 to 1 per task.
        trials: How many scored attempts these are made of.
        level: The nominal coverage.

    Returns:
        None without tasks.
    """
    if not values:
        return None
    tasks = len(values)
    p = min(1.0, max(0.0, float(np.mean(values))))
    effective = float(tasks)
    if tasks > 1 and 0 < p < 1:
        variance = float(np.var(values, ddof=1)) / tasks
        most = float(max(trials, tasks))
        effective = p * (1 - p) / variance if variance > 0 else most
        effective = min(max(effective, FEWEST_PER_TASK * tasks), most)
    return _wilson(p, effective, level, "tasks like these")


def these_tasks_only(
    scored: Sequence[int], solved: Sequence[int], *, level: float = 0.95
) -> Interval | None:
    """Wilson's interval for pass@1 of the very same tasks, had they been attempted without end.

    The variance is that within tasks alone (what the ± of public leaderboards means; Miller 2024,
    arXiv 2411.00640): the mean over tasks of c(n-c) / n²(n-1), by the number of tasks. Where a
    task has one attempt, its variance cannot be seen, and all trials count as of one rate.

    Returns:
        None without a scored attempt.
    """
    n, c = np.asarray(scored, float), np.asarray(solved, float)
    n, c = n[n > 0], c[n > 0]
    if not n.size:
        return None
    p, trials = float(np.mean(c / n)), float(n.sum())
    effective = trials
    if n.min() > 1 and 0 < p < 1:
        variance = float(np.mean(c * (n - c) / (n**2 * (n - 1)))) / n.size
        most = MOST_PER_TRIAL * trials
        effective = p * (1 - p) / variance if variance > 0 else most
        effective = min(max(effective, trials), most)
    return _wilson(p, effective, level, "these tasks only")


def _wilson(p: float, effective: float, level: float, target: Target) -> Interval:
    low, high = proportion_confint(p * effective, effective, alpha=1 - level, method="wilson")
    # rounding must not push the estimate out of its own interval
    return Interval(max(0.0, min(float(low), p)), min(1.0, max(float(high), p)), level, target)
