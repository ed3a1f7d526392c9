"""The gate: has a checkpoint become worse than its baseline?"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tbeval.stats.comparison import Comparison, compare, pair
from tbeval.stats.counts import PASS_AT_1, Metric, TaskCounts
from tbeval.stats.estimates import estimate
from tbeval.stats.exact import SignFlip, sign_flip
from tbeval.stats.intervals import tasks_like_these
from tbeval.stats.planning import Spread, attempts_needed, draw_rates, spread_of

Verdict = Literal["PASS", "FAIL", "INCONCLUSIVE"]

#: One-sided, on either side.
ALPHA = 0.05
DROPS = (0.03, 0.05)


@dataclass(frozen=True)
class Chances:
    """How often a gate would say what, by simulation.

    Attributes:
        drop: By how much the checkpoint is truly worse, in pass@1.
        fail: The share of FAIL.
        passed: The share of PASS.
        inconclusive: The rest.
        spread: What was assumed.
    """

    drop: float
    fail: float
    passed: float
    inconclusive: float
    spread: Spread


@dataclass(frozen=True)
class Decision:
    """What the gate says.

    Attributes:
        verdict: PASS, FAIL or INCONCLUSIVE.
        low: The one-sided 95 % lower bound of the difference.
        high: The one-sided 95 % upper bound.
        margin: The drop that is put up with.
        comparison: The difference, in full.
        chances: What the gate does at true drops of 3 and 5 points; without those that the
            baseline cannot drop by, and empty but for pass@1.
        attempts_needed: Attempts per task that would decide; None where it is decided, or where no
            number would.
    """

    verdict: Verdict
    low: float
    high: float
    margin: float
    comparison: Comparison
    chances: tuple[Chances, ...]
    attempts_needed: int | None


@dataclass(frozen=True)
class Threshold:
    """Whether a rate reaches an absolute bound, and how sure that is.

    Attributes:
        verdict: PASS where the one-sided 95 % lower bound reaches it, FAIL where the upper bound
            is below it, else INCONCLUSIVE.
        rate: The estimate.
        low: The one-sided 95 % lower bound, for tasks like these.
        high: The upper one.
        at_least: The bound.
    """

    verdict: Verdict
    rate: float
    low: float
    high: float
    at_least: float


def verdict_of(test: SignFlip, margin: float) -> Verdict:
    """FAIL if the upper bound is below 0; else PASS if the lower is above -margin; else neither."""
    if test.p_below(0.0) <= ALPHA:
        return "FAIL"
    return "PASS" if test.p_above(-margin) <= ALPHA else "INCONCLUSIVE"


def decide(
    base: Sequence[TaskCounts],
    other: Sequence[TaskCounts],
    *,
    metric: Metric = PASS_AT_1,
    margin: float = 0.05,
    draws: int = 400,
    seed: int = 0,
) -> Decision:
    """What the gate says of `other`, with `base` as its baseline.

    Raises:
        ValueError: The margin is not above 0, or no task has the metric on both sides.
    """
    if not 0 < margin <= 1:
        raise ValueError(f"the margin is {margin}; it must be above 0, and at most 1")
    paired = pair(base, other, metric)
    comparison = compare(base, other, metric)
    verdict = verdict_of(paired.test, margin)
    chances: tuple[Chances, ...] = ()
    needed = None
    if metric.k == 1:
        spread = spread_of(paired.base)
        attempts = round(float(np.mean([task.scored for task in paired.other])))
        chances = tuple(
            chances_at(
                spread,
                drop,
                tasks=len(paired.base),
                attempts=attempts,
                margin=margin,
                draws=draws,
                seed=seed,
            )
            for drop in DROPS
            if drop < spread.rate < 1
        )
        if verdict == "INCONCLUSIVE":
            # what would decide is the nearer of the two borders: 0 from below, -margin from above
            away = max(-comparison.delta, margin + comparison.delta)
            needed = attempts_needed(paired.base, paired.other, away)
    return Decision(
        verdict=verdict,
        low=max(-1.0, paired.test.low(ALPHA)),
        high=min(1.0, paired.test.high(ALPHA)),
        margin=margin,
        comparison=comparison,
        chances=chances,
        attempts_needed=needed,
    )


def chances_at(
    spread: Spread,
    drop: float,
    *,
    tasks: int,
    attempts: int,
    margin: float,
    draws: int = 400,
    seed: int = 0,
) -> Chances:
    """How often the gate says what at a true drop, under the assumptions of the spread."""
    rng = np.random.default_rng(seed)
    base, other = draw_rates(spread, drop, (draws, tasks), rng)
    differences = rng.binomial(attempts, other) - rng.binomial(attempts, base)
    said = [verdict_of(sign_flip(row.tolist(), attempts), margin) for row in differences]
    fail, passed = said.count("FAIL") / draws, said.count("PASS") / draws
    return Chances(drop, fail, passed, said.count("INCONCLUSIVE") / draws, spread)


def threshold(
    counts: Sequence[TaskCounts], at_least: float, *, metric: Metric = PASS_AT_1
) -> Threshold:
    """Whether the rate reaches an absolute bound, for tasks like these.

    Raises:
        ValueError: No task has the metric.
    """
    values = [float(value) for task in counts if (value := metric.of(task)) is not None]
    interval = tasks_like_these(values, estimate(counts).scored, level=1 - 2 * ALPHA)
    if interval is None:
        raise ValueError(f"no task has {metric}")
    verdict: Verdict = "INCONCLUSIVE"
    if interval.high < at_least:
        verdict = "FAIL"
    elif interval.low >= at_least:
        verdict = "PASS"
    return Threshold(verdict, float(np.mean(values)), interval.low, interval.high, at_least)
