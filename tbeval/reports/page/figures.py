"""Pictures for Markdown and slides, as SVG and PNG: leaderboard, forest, heatmap, trajectory."""

import math
import os
import warnings
from collections.abc import Iterator
from pathlib import Path

import matplotlib as mpl
import matplotlib.patches
from matplotlib.figure import Figure

from tbeval.reports.escape import visible
from tbeval.reports.page import heatmap, leaderboard
from tbeval.reports.page.content import Content

_BLUE, _GREY, _INK = "#0b7fb5", "#8a939d", "#1b1f24"
_LONGEST = 40
#: Taller pictures than this many tasks are left to the page.
MOST_TASKS = 120


def write_figures(content: Content, directory: Path) -> tuple[str, ...]:
    """Draw into `figures/`; the SVG files' paths, relative to the directory.

    Raises:
        OSError: They cannot be written.
    """
    (directory / "figures").mkdir(exist_ok=True)
    written = []
    with mpl.rc_context(), warnings.catch_warnings():
        _style()
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        for name, figure in _figures(content):
            for form, metadata in (("svg", {"Date": None}), ("png", {"Software": None})):
                path = directory / "figures" / f"{name}.{form}"
                temporary = path.with_name(f".{path.name}.{os.getpid()}")
                try:
                    figure.savefig(
                        temporary, format=form, metadata=metadata, dpi=144, bbox_inches="tight"
                    )
                    temporary.replace(path)
                finally:
                    temporary.unlink(missing_ok=True)
            written.append(f"figures/{name}.svg")
    return tuple(written)


def _figures(content: Content) -> Iterator[tuple[str, Figure]]:
    yield "leaderboard", _leaderboard(content)
    if content.comparison is not None:
        yield "forest", _forest(content)
    if len(content.tasks) <= MOST_TASKS:
        yield "heatmap", _heatmap(content)
    if len({x.results.run.rollout for x in content.shown if x.results.run.rollout}) > 1:
        yield "trajectory", _trajectory(content)


def _leaderboard(content: Content) -> Figure:
    lines = leaderboard.lines(content)[::-1]
    figure = Figure(figsize=(7, 0.8 + 0.38 * len(lines)), facecolor="white")
    axes = figure.subplots()
    for at, line in enumerate(lines):
        value = 100 * (line.pass_1 or 0.0)
        axes.barh(at, value, height=0.6, color=_GREY if line.is_base else _BLUE)
        if line.interval is not None:
            ends = (100 * line.interval.low, 100 * line.interval.high)
            axes.plot(ends, (at, at), color=_INK, linewidth=1.2, marker="|", markersize=7)
            axes.text(ends[1], at, f"  {leaderboard.rate(line.pass_1)}", va="center", color=_INK)
    axes.set_yticks(range(len(lines)), [_short(line.name) for line in lines])
    axes.set_xlabel("pass@1, per cent; line: 95 % interval for tasks like these")
    axes.set_xlim(0, min(108, 115 * leaderboard.scale(content)))
    return figure


def _forest(content: Content) -> Figure:
    rows = content.comparison.rows[::-1] if content.comparison else ()
    figure = Figure(figsize=(7, 0.9 + 0.38 * len(rows)), facecolor="white")
    axes = figure.subplots()
    for at, row in enumerate(rows):
        found = row.comparison
        if found.smallest_seen is not None:
            band = 100 * found.smallest_seen
            axes.barh(at, 2 * band, left=-band, height=0.8, color=_GREY, alpha=0.25)
        ends = (100 * found.interval.low, 100 * found.interval.high)
        axes.plot(ends, (at, at), color=_INK, linewidth=1.2, marker="|", markersize=7)
        axes.plot([100 * found.delta], [at], marker="o", color=_BLUE)
    axes.axvline(0, color=_INK, linewidth=0.8)
    axes.set_yticks(range(len(rows)), [_short(row.other.checkpoint) for row in rows])
    base = _short(content.base.name) if content.base else ""
    axes.set_xlabel(f"Δ pass@1 against {base}, points; grey: what this design cannot resolve")
    return figure


def _heatmap(content: Content) -> Figure:
    rows = heatmap.rows(content)
    columns = len(content.shown)
    figure = Figure(figsize=(3.5 + 0.55 * columns, 1 + 0.19 * len(rows)), facecolor="white")
    axes = figure.subplots()
    values = [[s.rate if s.step is not None else math.nan for s in row.squares] for row in rows]
    axes.imshow(values, cmap="Blues", vmin=0, vmax=1.4, aspect="auto")
    for y, row in enumerate(rows):
        for x, square in enumerate(row.squares):
            if square.missing:
                box = (x - 0.5, y - 0.5), 1, 1
                axes.add_patch(
                    mpl.patches.Rectangle(*box, fill=False, hatch="////", edgecolor="#b5bbc2", lw=0)
                )
            axes.text(x, y, square.text, ha="center", va="center", fontsize=6.5, color=_INK)
    axes.set_yticks(range(len(rows)), [_short(row.task) for row in rows], fontsize=6.5)
    names = [_short(shown.name) for shown in content.shown]
    axes.set_xticks(range(columns), names, rotation=40, ha="left", fontsize=7)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    return figure


def _trajectory(content: Content) -> Figure:
    figure = Figure(figsize=(7, 3), facecolor="white")
    axes = figure.subplots()
    series: dict[str, list[tuple[int, leaderboard.Line]]] = {}
    for line in leaderboard.lines(content):
        run = line.shown.results.run
        if run.rollout is not None and line.pass_1 is not None:
            series.setdefault(run.series, []).append((run.rollout, line))
    for name, points in sorted(series.items()):
        points.sort(key=lambda point: point[0])
        at = [rollout for rollout, _ in points]
        rates = [100 * (line.pass_1 or 0.0) for _, line in points]
        axes.plot(at, rates, marker="o", label=_short(name) or None)
        for rollout, line in points:
            if line.interval is not None:
                ends = (100 * line.interval.low, 100 * line.interval.high)
                axes.plot((rollout, rollout), ends, color=_GREY, linewidth=1)
    axes.set_xlabel("rollout")
    axes.set_ylabel("pass@1, per cent")
    axes.set_ylim(bottom=0)
    if any(series):
        axes.legend(frameon=False)
    return figure


def _short(text: str) -> str:
    shown = visible(text)
    return shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 1]}…"


def _style() -> None:
    """The look of all pictures, for the context that is open."""
    mpl.rcParams["text.parse_math"] = False  # names are text, whatever dollars they hold
    mpl.rcParams["svg.fonttype"] = "none"
    mpl.rcParams["svg.hashsalt"] = "tbeval"  # the same picture twice is the same file
    mpl.rcParams["font.size"] = 9
    mpl.rcParams["axes.spines.top"] = mpl.rcParams["axes.spines.right"] = False
