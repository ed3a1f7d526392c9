"""How much a design can see: spread of the tasks, power, attempts needed."""

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import beta, norm

from tbeval.stats.counts import TaskCounts
from tbeval.stats.exact import Array, sign_flip

ALPHA = 0.05
#: What a simulated difference is told to.
STEP = 0.0025


@dataclass(frozen=True)
class Spread:
    """How the tasks' own rates are spread, and how alike two checkpoints find them.

    Attributes:
        rate: The mean of the tasks' rates (pass@1).
        together: The intraclass correlation of attempts at one task: 0 where all tasks are alike,
            near 1 where each is solved always or never.
        between: The correlation of two checkpoints' task rates (before the drop, on the normal
            scale of a copula); 1 for the same checkpoint.
    """

    rate: float
    together: float = 0.6
    between: float = 0.95


def spread_of(counts: Sequence[TaskCounts], *, between: float = 0.95) -> Spread:
    """The spread of an existing run, by moments; the usual correlation where it has none.

    Within 0.05 and 0.95: a few tasks cannot tell more.
    """
    tried = [task for task in counts if task.scored]
    if not tried:
        return Spread(0.0, between=between)
    n = np.array([task.scored for task in tried], float)
    rates = np.array([task.solved for task in tried]) / n
    rate = float(rates.mean())
    repeated = n > 1
    if not 0 < rate < 1 or repeated.sum() < 2:  # noqa: PLR2004 - two tasks make a spread
        return Spread(rate, between=between)
    r, m = rates[repeated], n[repeated]
    within = float(np.mean(r * (1 - r) * m / (m - 1)))
    total = float(np.var(r, ddof=1)) + float(np.mean(r * (1 - r)))
    together = 1 - within / total if total > 0 else 0.6
    return Spread(rate, min(max(together, 0.05), 0.95), between)


def draw_rates(
    spread: Spread, drop: float, size: tuple[int, int], rng: np.random.Generator
) -> tuple[Array, Array]:
    """Rates of tasks for the base and for the other checkpoint, (draws, tasks) each.

    Beta-distributed, joined by a Gaussian copula. A drop scales all tasks of the other; a rise
    (a drop below 0) cannot, since rates end at 1: there the other's beta has the higher mean.
    """
    first = rng.standard_normal(size)
    second = spread.between * first + math.sqrt(1 - spread.between**2) * rng.standard_normal(size)
    scale = 1 / spread.together - 1
    base = _rates(first, spread.rate, scale)
    if drop < 0:
        return base, _rates(second, spread.rate - drop, scale)
    other = base if spread.between >= 1 else _rates(second, spread.rate, scale)
    return base, other * ((spread.rate - drop) / spread.rate)


def power(
    spread: Spread, *, tasks: int, attempts: int, delta: float, draws: int = 500, seed: int = 0
) -> float:
    """The chance that the sign-flip test (two-sided .05) sees a rise by delta, by simulation.

    Raises:
        ValueError: The rate of the spread, or that after the rise, is not between 0 and 1.
    """
    if not 0 < spread.rate < 1 or not 0 <= delta < 1 - spread.rate:
        raise ValueError(f"no checkpoint can be at {spread.rate:g}, and another {delta:g} above it")
    rng = np.random.default_rng(seed)
    base, other = draw_rates(spread, -delta, (draws, tasks), rng)
    differences = rng.binomial(attempts, other) - rng.binomial(attempts, base)
    return sum(sign_flip(row.tolist()).p() <= ALPHA for row in differences) / draws


def smallest_simulated(
    spread: Spread, *, tasks: int, attempts: int, wanted: float = 0.8, draws: int = 300
) -> float | None:
    """The smallest rise that is seen with the wanted power, to a quarter of a point.

    Returns:
        None if no rise is: the design is too small.
    """
    steps = math.ceil((1 - spread.rate) / STEP) - 1

    def seen(step: int) -> bool:
        delta = step * STEP
        return power(spread, tasks=tasks, attempts=attempts, delta=delta, draws=draws) >= wanted

    found = bisect_left(range(1, steps + 1), x=True, key=seen)
    return (found + 1) * STEP if found < steps else None


def attempts_simulated(
    spread: Spread,
    *,
    tasks: int,
    delta: float,
    wanted: float = 0.8,
    most: int = 64,
    draws: int = 300,
) -> int | None:
    """The fewest attempts per task that see a rise by delta with the wanted power.

    Returns:
        None if `most` do not: it takes more tasks.
    """

    def seen(attempts: int) -> bool:
        return power(spread, tasks=tasks, attempts=attempts, delta=delta, draws=draws) >= wanted

    found = bisect_left(range(1, most + 1), x=True, key=seen)
    return found + 1 if found < most else None


def smallest_seen(standard_error: float, *, wanted: float = 0.8, alpha: float = 0.05) -> float:
    """The difference that is seen with the wanted power: (z(1-alpha/2) + z(power)) errors."""
    return float(norm.ppf(1 - alpha / 2) + norm.ppf(wanted)) * standard_error


def attempts_needed(
    base: Sequence[TaskCounts], other: Sequence[TaskCounts], delta: float
) -> int | None:
    """Attempts per task and checkpoint with which delta would be seen with 80 % power.

    The variance of a task's difference is taken apart: what comes from the attempts shrinks with
    their number, what the tasks truly differ by does not.

    Args:
        base: One entry per task.
        other: The same tasks in the same order.
        delta: The difference to be seen.

    Returns:
        None where no number of attempts is enough (it takes more tasks), or it cannot be told:
        delta is 0, or tasks have a single attempt.
    """
    pairs = [(b, o) for b, o in zip(base, other, strict=True) if b.scored > 1 and o.scored > 1]
    if not delta or len(pairs) < 2:  # noqa: PLR2004 - a variance takes two
        return None
    n = np.array([[t.scored for t in pair] for pair in pairs], float)
    rates = np.array([[t.solved for t in pair] for pair in pairs]) / n
    single = rates * (1 - rates) * n / (n - 1)
    noise = float(np.mean(np.sum(single / n, axis=1)))
    between = max(0.0, float(np.var(rates[:, 1] - rates[:, 0], ddof=1)) - noise)
    allowed = len(pairs) * (abs(delta) / smallest_seen(1.0)) ** 2 - between
    if allowed <= 0:
        return None
    return max(1, math.ceil(float(np.mean(single.sum(axis=1))) / allowed))


def _rates(normal: Array, mean: float, scale: float) -> Array:
    rates: Array = beta.ppf(norm.cdf(normal), mean * scale, (1 - mean) * scale)
    return rates
