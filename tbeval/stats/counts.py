"""What the statistics need to know of a checkpoint: per task, how many attempts were solved."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

#: Scores are rational, but their common denominator may be huge: they are rounded to this.
SCORE_STEPS = 1000


@dataclass(frozen=True)
class TaskCounts:
    """The attempts at one task.

    Attributes:
        task: Its name; pairs are made by it.
        planned: How many attempts were planned.
        scored: How many have a verdict.
        solved: How many of these were solved.
        score_sum: The sum of the scores of those with a verdict; None where it is not known.

    Raises:
        ValueError: Not 0 <= solved <= scored <= planned, or a score sum outside 0 to scored.
    """

    task: str
    planned: int
    scored: int
    solved: int
    score_sum: float | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.solved <= self.scored <= self.planned:
            raise ValueError(
                f"{self.task}: {self.solved} solved of {self.scored} scored of {self.planned}"
            )
        if self.score_sum is not None and not 0 <= self.score_sum <= self.scored:
            raise ValueError(f"{self.task}: scores of {self.scored} attempts sum {self.score_sum}")


@dataclass(frozen=True)
class Metric:
    """What is measured of a task: `pass@k`, or its mean score where k is None."""

    k: int | None = 1

    def __str__(self) -> str:
        return "score" if self.k is None else f"pass@{self.k}"

    def of(self, counts: TaskCounts) -> Fraction | None:
        """The task's value, exactly (scores to a thousandth); None where it is not defined."""
        if self.k is None:
            if not counts.scored or counts.score_sum is None:
                return None
            return Fraction(round(counts.score_sum / counts.scored * SCORE_STEPS), SCORE_STEPS)
        if counts.scored < self.k:
            return None
        ways = math.comb(counts.scored, self.k)
        return Fraction(ways - math.comb(counts.scored - counts.solved, self.k), ways)


#: What is meant where nothing else is said.
PASS_AT_1 = Metric()


def on_one_grid(values: Sequence[Fraction]) -> tuple[list[int], int]:
    """The values as integers, and the common denominator they were multiplied with."""
    grid = math.lcm(*(value.denominator for value in values))
    return [int(value * grid) for value in values], grid
