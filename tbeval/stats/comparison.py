"""Two checkpoints, paired by task."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy import integrate
from scipy.stats import norm
from statsmodels.stats.multitest import multipletests

from tbeval.stats.counts import PASS_AT_1, Metric, TaskCounts, on_one_grid
from tbeval.stats.exact import SignFlip, sign_flip, within_tasks
from tbeval.stats.intervals import Interval
from tbeval.stats.planning import attempts_needed, smallest_seen

ALPHA = 0.05


@dataclass(frozen=True, eq=False)
class Paired:
    """The tasks for which a metric is defined on both sides.

    Attributes:
        base: The base's counts.
        other: The other's, in the same order.
        before: The metric of the base, exactly.
        after: That of the other.
        test: The sign-flip test of after - before.
    """

    base: tuple[TaskCounts, ...]
    other: tuple[TaskCounts, ...]
    before: tuple[Fraction, ...]
    after: tuple[Fraction, ...]
    test: SignFlip

    @property
    def differences(self) -> tuple[Fraction, ...]:
        """After - before, per task."""
        return tuple(a - b for a, b in zip(self.after, self.before, strict=True))


@dataclass(frozen=True)
class Comparison:
    """What is known of the difference between two checkpoints, and the verdict's ingredients.

    Attributes:
        metric: `pass@1`, `pass@k` or `score`.
        tasks: Over how many tasks, all with a value on both sides.
        base: The base's mean over these tasks.
        other: The other's.
        delta: Other - base, from -1 to 1.
        interval: The inverted sign-flip test: 0 is outside exactly where `p` <= .05.
        p: The sign-flip test's: for tasks like these. The headline.
        p_these_tasks: The within-task permutation's: for these tasks only; None but for pass@1.
        gained: Tasks that only the other solved at least once.
        lost: Tasks that only the base did.
        smallest_seen: The difference that this design sees with 80 % power (two-sided .05).
        attempts_needed: Attempts per task that would see `delta`; None where none would, or where
            it cannot be told; always None but for pass@1.
    """

    metric: str
    tasks: int
    base: float
    other: float
    delta: float
    interval: Interval
    p: float
    p_these_tasks: float | None
    gained: tuple[str, ...]
    lost: tuple[str, ...]
    smallest_seen: float | None
    attempts_needed: int | None

    @property
    def differs(self) -> bool:
        """Whether chance is ruled out for tasks like these, at .05 and alone (see `holm`)."""
        return self.p <= ALPHA


def pair(base: Sequence[TaskCounts], other: Sequence[TaskCounts], metric: Metric) -> Paired:
    """The tasks of both, by name; those without a value on either side are left out.

    Raises:
        ValueError: No task is left, or a task is there twice.
    """
    mine, theirs = _by_name(base), _by_name(other)
    found = [
        (mine[name], theirs[name], one, two)
        for name in sorted(mine.keys() & theirs.keys())
        if (one := metric.of(mine[name])) is not None
        and (two := metric.of(theirs[name])) is not None
    ]
    if not found:
        raise ValueError(f"no task has {metric} in both checkpoints")
    before, after = tuple(f[2] for f in found), tuple(f[3] for f in found)
    steps, grid = on_one_grid([a - b for a, b in zip(after, before, strict=True)])
    test = sign_flip(steps, grid)
    return Paired(tuple(f[0] for f in found), tuple(f[1] for f in found), before, after, test)


def compare(
    base: Sequence[TaskCounts], other: Sequence[TaskCounts], metric: Metric = PASS_AT_1
) -> Comparison:
    """Compare two checkpoints over the tasks they share.

    Raises:
        ValueError: No task has the metric on both sides, or a task is there twice.
    """
    paired = pair(base, other, metric)
    tasks, pass_at_1 = len(paired.base), metric.k == 1
    differences = paired.differences
    delta = float(sum(differences) / tasks)
    deviation = float(np.std([float(d) for d in differences], ddof=1)) if tasks > 1 else 0.0
    both = list(zip(paired.base, paired.other, strict=True))
    return Comparison(
        metric=str(metric),
        tasks=tasks,
        base=float(sum(paired.before) / tasks),
        other=float(sum(paired.after) / tasks),
        delta=delta,
        interval=Interval(
            max(-1.0, paired.test.low(ALPHA / 2)),
            min(1.0, paired.test.high(ALPHA / 2)),
            1 - ALPHA,
            "tasks like these",
        ),
        p=paired.test.p(),
        p_these_tasks=within_tasks(
            [(b.scored, b.solved) for b, _ in both], [(o.scored, o.solved) for _, o in both]
        )
        if pass_at_1
        else None,
        gained=tuple(o.task for b, o in both if o.solved and not b.solved),
        lost=tuple(b.task for b, o in both if b.solved and not o.solved),
        smallest_seen=smallest_seen(deviation / math.sqrt(tasks)) if deviation else None,
        attempts_needed=attempts_needed(paired.base, paired.other, delta) if pass_at_1 else None,
    )


def holm(ps: Sequence[float]) -> tuple[float, ...]:
    """The p-values adjusted for being several against one base (Holm 1979)."""
    if not ps:
        return ()
    return tuple(float(p) for p in multipletests(ps, alpha=ALPHA, method="holm")[1])


def best_of(k: int, standard_error: float) -> float:
    """By how much the best of k equal checkpoints is expected to exceed the truth.

    The expected maximum of k standard normals, times the error of one checkpoint's mean on these
    tasks (`error_on_these_tasks`).

    Raises:
        ValueError: k < 1.
    """
    if k < 1:
        raise ValueError(f"the best of {k} is not defined")
    expected, _ = integrate.quad(
        lambda z: z * k * norm.pdf(z) * norm.cdf(z) ** (k - 1), -10.0, 10.0
    )
    return 0.0 if k == 1 else float(expected) * standard_error


def error_on_these_tasks(counts: Sequence[TaskCounts]) -> float | None:
    """The standard error of pass@1 from the attempts alone; None where a task has but one."""
    tried = [task for task in counts if task.scored]
    if not tried or min(task.scored for task in tried) < 2:  # noqa: PLR2004 - a variance takes two
        return None
    n = np.array([task.scored for task in tried], float)
    c = np.array([task.solved for task in tried], float)
    return math.sqrt(float(np.mean(c * (n - c) / (n**2 * (n - 1)))) / len(tried))


def _by_name(counts: Sequence[TaskCounts]) -> dict[str, TaskCounts]:
    named = {task.task: task for task in counts}
    if len(named) < len(counts):
        raise ValueError("a task is there twice: its attempts belong into one entry")
    return named
