"""The forest plot: differences from the base, and the band that the design cannot resolve."""

from dataclasses import dataclass

from tbeval.reports.comparing import ComparisonReport, points

#: Half of the drawing's width, in its own units.
HALF = 100.0
_LEAST = 0.05


@dataclass(frozen=True)
class Mark:
    """One comparison, in units of the drawing: 0 is no difference, ±100 its edges."""

    name: str
    delta: float
    low: float
    high: float
    band: float | None  # half its width
    said: str


@dataclass(frozen=True)
class Forest:
    """All marks; `reach` is the difference at the edges, in points."""

    marks: tuple[Mark, ...]
    reach: float


def forest(report: ComparisonReport | None) -> Forest | None:
    """Where to draw what; None without a comparison."""
    if report is None:
        return None
    found = [row.comparison for row in report.rows]
    ends = [abs(end) for each in found for end in (each.interval.low, each.interval.high)]
    reach = min(1.0, -(-max([_LEAST, *ends]) // _LEAST) * _LEAST)

    def at(value: float) -> float:
        return round(max(-HALF, min(HALF, HALF * value / reach)), 2)

    marks = []
    for row in report.rows:
        each = row.comparison
        low, high = (points(end, signed=True) for end in (each.interval.low, each.interval.high))
        marks.append(
            Mark(
                name=row.other.checkpoint,
                delta=at(each.delta),
                low=at(each.interval.low),
                high=at(each.interval.high),
                band=None if each.smallest_seen is None else at(each.smallest_seen),
                said=f"{points(each.delta, signed=True)} points, 95 % interval {low} to {high}",
            )
        )
    return Forest(tuple(marks), round(100 * reach, 1))
