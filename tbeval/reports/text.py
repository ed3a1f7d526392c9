"""A summary on the terminal."""

from collections.abc import Iterable

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tbeval.reports import words
from tbeval.reports.escape import visible
from tbeval.reports.summary import RunSummary


def render(summary: RunSummary, *, per_task: bool = True) -> RenderableType:
    """The summary of a run for rich's console. Foreign text is shown, never interpreted.

    Args:
        summary: The figures.
        per_task: Whether each task gets its line.
    """
    parts: list[RenderableType] = [_lines(words.head(summary)), Text("")]
    if per_task:
        parts += [_tasks(summary), Text("")]
    parts += [_lines(words.figures(summary)), Text("")]
    ends = words.endings(summary)
    if ends:
        parts += [Text("how the cells ended", style="bold"), _lines(ends), Text("")]
    return Group(*parts, _lines(words.costs(summary)))


def _lines(lines: Iterable[words.Line]) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(style="cyan")
    table.add_column(style="bold", overflow="fold")
    table.add_column(style="dim", overflow="fold")
    for line in lines:
        table.add_row(*(_shown(text) for text in (line.name, line.value, line.basis)))
    return table


def _tasks(summary: RunSummary) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in words.ROW_HEADS:
        table.add_column(name, overflow="fold", justify="right" if name == "score" else "left")
    for task in summary.rows:
        table.add_row(*(_shown(text) for text in words.row(task, summary.run.attempts)))
    return table


def _shown(text: str) -> Text:
    return Text(visible(text))  # Text, not str: rich reads [brackets] in a str as style
