"""Compare measurements: refuse what is not comparable, compute the rest, say it in sentences."""

from collections.abc import Sequence
from dataclasses import dataclass

from tbeval.records.measured import Measured
from tbeval.results.comparable import Difference, common_tasks, differences
from tbeval.stats.comparison import (
    ALPHA,
    Comparison,
    best_of,
    compare,
    error_on_these_tasks,
    holm,
)
from tbeval.stats.counts import Metric, TaskCounts

_MINUS = "\N{MINUS SIGN}"


class NotComparableError(Exception):
    """Two measurements differ in what affects a score; the message says in what."""

    def __init__(self, base: Measured, other: Measured, found: Sequence[Difference]) -> None:
        self.differences = tuple(found)
        listed = "; ".join(str(difference) for difference in found)
        super().__init__(
            f"{other.checkpoint} and {base.checkpoint} were not measured alike ({listed}): measure "
            "both with the same settings, or compare what is common to both with --anyway."
        )


@dataclass(frozen=True)
class Compared:
    """One checkpoint against the base.

    Attributes:
        base: The base, restricted to the common tasks where that was asked for.
        other: The checkpoint, likewise.
        comparison: What is known of the difference.
        adjusted: Its p, adjusted for all comparisons that were made at once (Holm).
        overridden: Differences that refuse a comparison, and were put up with.
        warnings: Differences that are worth a word.
    """

    base: Measured
    other: Measured
    comparison: Comparison
    adjusted: float
    overridden: tuple[Difference, ...]
    warnings: tuple[Difference, ...]

    @property
    def differs(self) -> bool:
        """Whether chance is ruled out, at .05 over all comparisons."""
        return self.adjusted <= ALPHA


@dataclass(frozen=True)
class Winner:
    """What being the best of several does to the best.

    Attributes:
        checkpoint: The best by the metric.
        of: Out of how many runs it was picked.
        excess: By how much the best of so many equals is expected to exceed the truth (pass@1);
            None where tasks have one attempt.
    """

    checkpoint: str
    of: int
    excess: float | None


@dataclass(frozen=True)
class ComparisonReport:
    """A base and those compared with it, in the order they were named."""

    metric: Metric
    base: Measured
    rows: tuple[Compared, ...]
    winner: Winner | None


def counts_of(measured: Measured) -> tuple[TaskCounts, ...]:
    """Per task, what the statistics need."""
    return tuple(
        TaskCounts(
            task=task.id,
            planned=task.planned,
            scored=len(task.solved),
            solved=sum(task.solved),
            score_sum=min(float(len(task.scores)), sum(task.scores)),
        )
        for task in measured.tasks
    )


def compare_measured(
    base: Measured,
    others: Sequence[Measured],
    metric: Metric,
    *,
    anyway: bool = False,
    ranked: int | None = None,
) -> ComparisonReport:
    """Compare several measurements with a base.

    Args:
        base: What they are compared with.
        others: At least one.
        metric: What is compared.
        anyway: Compare the common tasks even where settings differ; the report says so.
        ranked: Out of how many runs the best was picked; by default as many as are compared.

    Raises:
        NotComparableError: See `anyway`.
        ValueError: No task has the metric on both sides.
    """
    pairs = [_comparable(base, other, anyway=anyway) for other in others]
    found = [compare(counts_of(mine), counts_of(theirs), metric) for mine, theirs, _ in pairs]
    adjusted = holm([each.p for each in found])
    rows = tuple(
        Compared(
            base=mine,
            other=theirs,
            comparison=comparison,
            adjusted=p,
            overridden=tuple(d for d in told if d.refuses),
            warnings=tuple(d for d in told if not d.refuses),
        )
        for (mine, theirs, told), comparison, p in zip(pairs, found, adjusted, strict=True)
    )
    return ComparisonReport(metric, base, rows, _winner(rows, ranked))


def _comparable(
    base: Measured, other: Measured, *, anyway: bool
) -> tuple[Measured, Measured, tuple[Difference, ...]]:
    told = differences(base, other)
    refused = [difference for difference in told if difference.refuses]
    if not refused:
        return base, other, told
    if not anyway:
        raise NotComparableError(base, other, refused)
    mine, theirs = common_tasks(base, other)
    if not mine.tasks:
        raise NotComparableError(base, other, refused)
    return mine, theirs, told


def _winner(rows: Sequence[Compared], ranked: int | None) -> Winner | None:
    of = ranked if ranked is not None else len(rows)
    if of < 2:  # noqa: PLR2004 - the best of one is nothing special
        return None
    best = max(rows, key=lambda row: row.comparison.other)
    error = error_on_these_tasks(counts_of(best.other))
    return Winner(best.other.checkpoint, of, None if error is None else best_of(of, error))


def points(value: float, *, signed: bool = False) -> str:
    """A rate's difference in points, with one decimal: `+2.0`."""
    text = f"{abs(100 * value):.1f}"
    if float(text) == 0:
        return text
    return (_MINUS if value < 0 else "+" if signed else "") + text


def percent(value: float) -> str:
    """A rate as per cent, with one decimal."""
    return f"{100 * value:.1f} %"


def p_value(p: float) -> str:
    """`p = 0.31`; never 0."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}" if p < 0.1 else f"p = {p:.2f}"  # noqa: PLR2004


def verdict(row: Compared) -> str:
    """The one sentence that a hurried person reads right."""
    found, other, base = row.comparison, row.other.checkpoint, row.base.checkpoint
    rates = f"{found.metric} {percent(found.other)} against {percent(found.base)}"
    if found.tasks < len(row.base.tasks):
        rates += f", over the {found.tasks} of {len(row.base.tasks)} tasks that both have it for"
    if found.delta == 0:
        what = f"{other} and {base} are equal in {found.metric} ({percent(found.base)})"
    else:
        where = "above" if found.delta > 0 else "below"
        what = f"{other} is {points(abs(found.delta))} points {where} {base} ({rates})"
    if row.differs:
        low, high = (points(end, signed=True) for end in (found.interval.low, found.interval.high))
        better = "better" if found.delta > 0 else "worse"
        return (
            f"{what}: on tasks like these it is {better} (95 % interval {low} to {high} points, "
            f"{p_value(row.adjusted)})."
        )
    sentence = f"{what}; this design cannot tell that from chance ({p_value(row.adjusted)})"
    if found.smallest_seen is not None:
        sentence += f", and sees differences from {points(found.smallest_seen)} points on"
    return f"{sentence}. {_needed(found)}".rstrip()


def _needed(found: Comparison) -> str:
    if found.metric != "pass@1" or not found.delta:
        return ""
    if found.attempts_needed is None:
        return "No number of attempts would settle it: it takes more tasks."
    return f"It would need about {found.attempts_needed} attempts per task."


def winner_sentence(winner: Winner) -> str:
    """What to think of the best of several."""
    if winner.excess is None:
        return (
            f"{winner.checkpoint} is the best of {winner.of}: the best always looks better than it "
            "is; confirm it with fresh attempts."
        )
    return (
        f"{winner.checkpoint} is the best of {winner.of}: the best of so many equals would look "
        f"{points(winner.excess)} points better than it is. Confirm it with fresh attempts."
    )


def metric_named(name: str, attempts: int) -> Metric:
    """The metric that a user names: `pass@1`, `pass@k` for all attempts, `score`.

    Raises:
        ValueError: There is no such metric.
    """
    if name == "score":
        return Metric(None)
    kind, _, k = name.partition("@")
    if kind == "pass" and k == "k":
        return Metric(attempts)
    if kind == "pass" and k.isascii() and k.isdigit() and int(k) > 0:
        return Metric(int(k))
    raise ValueError(f'"{name}" is no metric: take pass@1, pass@2, …, pass@k or score')
