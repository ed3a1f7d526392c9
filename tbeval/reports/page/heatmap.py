"""The heatmap: a table of task × run, each cell solved of scored attempts."""

from dataclasses import dataclass

from tbeval.reports.page.content import Content, Shown
from tbeval.reports.words import ABSENT, counts
from tbeval.results.cells import Cell

STEPS = 10


@dataclass(frozen=True)
class Square:
    """One task of one run.

    Attributes:
        text: `2/3`, or a dash where nothing has a verdict.
        score: Mean share of tests passed, as `.42`; empty without a verdict.
        said: All of it in words.
        step: 0 (never solved) to 10 (always); None without a verdict.
        missing: Whether an attempt has no verdict.
        rate: For sorting; -1 without a verdict.
        page: Of a trial of it: a solved one if there is one; empty if none has run.
    """

    text: str
    score: str
    said: str
    step: int | None
    missing: bool
    rate: float
    page: str


@dataclass(frozen=True)
class Row:
    """One task. `kinds` are the filters that it passes."""

    task: str
    squares: tuple[Square, ...]
    kinds: tuple[str, ...]
    rate: float


def rows(content: Content) -> tuple[Row, ...]:
    """All tasks, in the order of the content."""
    gained = {t for row in _compared(content) for t in row[0]}
    lost = {t for row in _compared(content) for t in row[1]}
    never = set(content.never)
    found = []
    for task in content.tasks:
        squares = tuple(_square(shown, task) for shown in content.shown)
        rates = [square.rate for square in squares if square.rate >= 0]
        kinds = [
            kind
            for kind, holds in (
                ("solved", any(rates)),
                ("never", task in never),
                ("gained", task in gained),
                ("lost", task in lost),
                ("unscored", any(square.missing for square in squares)),
            )
            if holds
        ]
        mean = sum(rates) / len(rates) if rates else -1.0
        found.append(Row(task, squares, tuple(kinds), mean))
    return tuple(found)


def _compared(content: Content) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    if content.comparison is None:
        return []
    return [(row.comparison.gained, row.comparison.lost) for row in content.comparison.rows]


def _square(shown: Shown, task: str) -> Square:
    cells = shown.cells.get(task)
    if cells is None:
        said = f"{shown.name}, {task}: not part of the run"
        return Square(ABSENT, "", said, None, missing=False, rate=-1, page="")
    scored = [cell for cell in cells if cell.scored]
    solved = sum(cell.solved for cell in scored)
    reasons: dict[str, int] = {}
    for cell in cells:
        if not cell.scored:
            reason = cell.unscored or "not run"
            reasons[reason] = reasons.get(reason, 0) + 1
    mean = sum(cell.score or 0.0 for cell in scored) / len(scored) if scored else None
    said = f"{shown.name}, {task}: {solved} of {len(scored)} scored attempts solved"
    said += "" if mean is None else f", score {mean:.2f}"
    said += f"; no verdict: {counts(reasons)}" if reasons else ""
    rate = solved / len(scored) if scored else -1.0
    return Square(
        text=f"{solved}/{len(scored)}" if scored else ABSENT,
        score="" if mean is None else f"{mean:.2f}",
        said=said,
        step=None if not scored else max(round(STEPS * rate), 1 if solved else 0),
        missing=bool(reasons),
        rate=rate,
        page=_page(shown, cells),
    )


def _page(shown: Shown, cells: tuple[Cell, ...]) -> str:
    ran = [cell for cell in cells if cell.trial is not None]
    best = sorted(ran, key=lambda cell: (not cell.solved, not cell.scored, cell.attempt))
    return shown.page_of(best[0].trial.trial_id) if best and best[0].trial else ""
