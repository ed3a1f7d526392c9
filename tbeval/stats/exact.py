"""The two exact tests of a difference between two checkpoints, without random numbers.

Both count a tie with what was seen half (mid-p), and double the smaller side.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import hypergeom

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SignFlip:
    """The sign-flip test of paired differences, for every possible difference at once.

    If the differences lie symmetric about δ, each d - δ may have had either sign. Flipping the
    set F turns the sum by -2 Σ_F (d - δ): as unusual as what was seen, or more so, are the sets
    whose mean is below δ. So all that is needed is the distribution of the mean of a random
    subset, and the interval is read off it: it is the inverted test and cannot disagree with p.

    Attributes:
        means: The possible means of a non-empty subset, ascending.
        chances: Their chances; with that of the empty set, which always ties, they sum to 1.
        empty: The chance of the empty set.
    """

    means: Array
    chances: Array
    empty: float

    def p_above(self, delta: float = 0.0) -> float:
        """The one-sided mid-p of "the difference is above delta": small speaks for it."""
        below, ties = self._below(delta)
        return below + ties / 2

    def p_below(self, delta: float = 0.0) -> float:
        """The one-sided mid-p of "the difference is below delta"."""
        return 1 - self.p_above(delta)

    def p(self, delta: float = 0.0) -> float:
        """The two-sided mid-p of "the difference is delta"."""
        one = self.p_above(delta)
        return min(1.0, 2 * min(one, 1 - one))

    def low(self, alpha: float) -> float:
        """The smallest difference whose `p_above` is more than alpha; -inf if all are."""
        if self.empty / 2 > alpha:
            return -math.inf
        cumulated = np.cumsum(self.chances)
        at = int(np.searchsorted(cumulated + self.empty / 2, alpha, side="right"))
        at = min(at, len(self.means) - 1)
        mean = float(self.means[at])
        # at the jump itself only half of it counts: where that is too little, the end is open
        return mean if self.p_above(mean) > alpha else math.nextafter(mean, math.inf)

    def high(self, alpha: float) -> float:
        """The largest difference whose `p_below` is more than alpha; inf if all are."""
        mirrored = SignFlip(-self.means[::-1], self.chances[::-1], self.empty)
        return -mirrored.low(alpha)

    def _below(self, delta: float) -> tuple[float, float]:
        first = int(np.searchsorted(self.means, delta, side="left"))
        last = int(np.searchsorted(self.means, delta, side="right"))
        ties = float(self.chances[first:last].sum()) + self.empty
        return float(self.chances[:first].sum()), ties


def sign_flip(differences: Sequence[int], grid: int = 1) -> SignFlip:
    """The sign-flip test of differences / grid, one per task.

    A convolution over the tasks of (sum of the subset, size of the subset). Equal fractions give
    equal floats, since division rounds correctly: ties are found without a tolerance.

    Raises:
        ValueError: There is no difference.
    """
    if not differences:
        raise ValueError("no task is common to both checkpoints")
    moved = [d for d in differences if d]
    lowest = sum(d for d in moved if d < 0)
    highest = sum(d for d in moved if d > 0)
    table = np.zeros((highest - lowest + 1, len(moved) + 1))
    table[-lowest, 0] = 1.0
    for d in moved:
        grown = table.copy()
        if d > 0:
            grown[d:, 1:] += table[:-d, :-1]
        else:
            grown[:d, 1:] += table[-d:, :-1]
        table = grown / 2
    unmoved = len(differences) - len(moved)
    table = table @ _spread(_binomial(unmoved), len(moved) + 1)
    rows, sizes = np.nonzero(table[:, 1:])
    sizes += 1
    means, where = np.unique((rows + lowest) / (sizes * float(grid)), return_inverse=True)
    chances = np.bincount(where, weights=table[rows, sizes])
    return SignFlip(means, chances, float(table[-lowest, 0]))


def within_tasks(base: Sequence[tuple[int, int]], other: Sequence[tuple[int, int]]) -> float | None:
    """The two-sided mid-p of "on these very tasks, both checkpoints solve as much".

    Which of a task's attempts belong to whom is permuted within each task, exactly: the solved
    ones of `other` are hypergeometric, and the tasks are convolved.

    Args:
        base: (scored, solved) per task.
        other: The same for the other checkpoint, the same tasks in the same order.

    Returns:
        None without a task that both have scored attempts at.
    """
    pairs = [(n1, c1, n2, c2) for (n1, c1), (n2, c2) in zip(base, other, strict=True) if n1 and n2]
    if not pairs:
        return None
    grid = math.lcm(*(n for n1, _, n2, _ in pairs for n in (n1, n2)))
    chances, offset, seen = np.ones(1), 0, 0
    for n1, c1, n2, c2 in pairs:
        solved = c1 + c2
        possible = np.arange(max(0, solved - n1), min(n2, solved) + 1)
        step = grid // n1 + grid // n2
        first = int(possible[0]) * step - solved * (grid // n1)
        one = np.zeros((len(possible) - 1) * step + 1)
        one[::step] = hypergeom.pmf(possible, n1 + n2, solved, n2) if len(possible) > 1 else 1.0
        chances, offset = np.convolve(chances, one), offset + first
        seen += c2 * (grid // n2) - c1 * (grid // n1)
    at = seen - offset
    above = float(chances[at + 1 :].sum()) + float(chances[at]) / 2
    return min(1.0, 2 * min(above, 1 - above))


def _binomial(n: int) -> Array:
    chances = np.ones(1)
    for _ in range(n):
        chances = np.convolve(chances, [0.5, 0.5])
    return chances


def _spread(kernel: Array, sizes: int) -> Array:
    """The matrix that convolves a row of so many sizes with the kernel."""
    matrix = np.zeros((sizes, sizes + len(kernel) - 1))
    for size in range(sizes):
        matrix[size, size : size + len(kernel)] = kernel
    return matrix
