"""A comparison as text, Markdown and plain data, in the same words."""

from typing import Any

from tbeval.records.measured import Measured
from tbeval.reports.comparing import (
    Compared,
    ComparisonReport,
    p_value,
    percent,
    points,
    verdict,
    winner_sentence,
)
from tbeval.reports.escape import markdown, visible

HEADS = (
    "checkpoint",
    "metric",
    "Δ points",
    "95 % interval",
    "p",
    "p, Holm",
    "these tasks",
    "gained",
    "lost",
)
_ABSENT = "\N{EN DASH}"


def row_cells(row: Compared) -> tuple[str, ...]:
    """One comparison, as a table shows it."""
    found = row.comparison
    low, high = (points(end, signed=True) for end in (found.interval.low, found.interval.high))
    within = found.p_these_tasks
    return (
        row.other.checkpoint,
        percent(found.other),
        points(found.delta, signed=True),
        f"{low} … {high}",
        p_value(found.p).removeprefix("p ").removeprefix("= "),
        p_value(row.adjusted).removeprefix("p ").removeprefix("= "),
        _ABSENT if within is None else p_value(within).removeprefix("p ").removeprefix("= "),
        str(len(found.gained)),
        str(len(found.lost)),
    )


def notes(report: ComparisonReport) -> tuple[str, ...]:
    """What belongs beside the numbers, a sentence each."""
    said: list[str] = []
    for row in report.rows:
        name = row.other.checkpoint
        said += [f"{name}: NOT MEASURED ALIKE: {each}" for each in row.overridden]
        said += [f"{name}: {each}" for each in row.warnings]
        for what, tasks in (("gained", row.comparison.gained), ("lost", row.comparison.lost)):
            if tasks:
                said.append(f"{name} {what}: {', '.join(tasks)}")
    if report.winner is not None:
        said.append(winner_sentence(report.winner))
    return tuple(said)


def design(measured: Measured) -> str:
    """Tasks, attempts and completeness of one measurement."""
    return (
        f"{measured.checkpoint}: {len(measured.tasks)} tasks × {measured.attempts} attempts, "
        f"{measured.scored} of {measured.planned} cells scored "
        f"({', '.join(measured.runs)})"
    )


METHOD = (
    "Δ is paired by task; p and its interval are one exact sign-flip test (mid-p), for tasks like "
    "these; the p for these tasks only is an exact permutation within tasks; Holm adjusts for "
    "several comparisons. See docs/statistics.md."
)


def as_text(report: ComparisonReport) -> str:
    """For a terminal or a log."""
    table = [HEADS, *(row_cells(row) for row in report.rows)]
    widths = [max(len(line[n]) for line in table) for n in range(len(HEADS))]
    lines = [
        *(verdict(row) for row in report.rows),
        "",
        *(
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
            for line in table
        ),
        "",
        design(report.base),
        *(design(row.other) for row in report.rows),
        *notes(report),
        METHOD,
    ]
    return "\n".join(visible(line) for line in lines)


def as_markdown(report: ComparisonReport) -> str:
    """For a pull request's comment."""
    cells = [HEADS, *(row_cells(row) for row in report.rows)]
    head, *rows = (f"| {' | '.join(markdown(cell) for cell in line)} |" for line in cells)
    rule = f"|{'---|' * len(HEADS)}"
    said = [design(report.base), *(design(row.other) for row in report.rows), *notes(report)]
    return "\n".join(
        [
            *(f"**{markdown(verdict(row))}**\n" for row in report.rows),
            head,
            rule,
            *rows,
            "",
            *(f"- {markdown(line)}" for line in said),
            "",
            markdown(METHOD),
            "",
        ]
    )


def as_data(report: ComparisonReport) -> dict[str, Any]:
    """For programs: every number."""
    return {
        "metric": str(report.metric),
        "base": _measured(report.base),
        "comparisons": [_compared(row) for row in report.rows],
        "winner": None
        if report.winner is None
        else {
            "checkpoint": report.winner.checkpoint,
            "of": report.winner.of,
            "excess": report.winner.excess,
        },
    }


def _compared(row: Compared) -> dict[str, Any]:
    found = row.comparison
    return {
        "other": _measured(row.other),
        "verdict": verdict(row),
        "differs": row.differs,
        "tasks": found.tasks,
        "base_value": found.base,
        "value": found.other,
        "delta": found.delta,
        "interval": [found.interval.low, found.interval.high],
        "interval_for": found.interval.target,
        "p": found.p,
        "p_holm": row.adjusted,
        "p_these_tasks": found.p_these_tasks,
        "gained": list(found.gained),
        "lost": list(found.lost),
        "smallest_seen": found.smallest_seen,
        "attempts_needed": found.attempts_needed,
        "not_alike": [str(each) for each in row.overridden],
        "warnings": [str(each) for each in row.warnings],
    }


def _measured(measured: Measured) -> dict[str, Any]:
    return {
        "checkpoint": measured.checkpoint,
        "runs": list(measured.runs),
        "tasks": len(measured.tasks),
        "attempts": measured.attempts,
        "planned": measured.planned,
        "scored": measured.scored,
        "completeness": measured.completeness,
        "time_limited": measured.time_limited,
    }
