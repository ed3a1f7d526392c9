"""A report as Markdown for a pull request's comment: sections 1 to 6 of the page, same words."""

from collections.abc import Iterable, Sequence

from tbeval.reports.comparison_views import HEADS, METHOD, row_cells
from tbeval.reports.escape import markdown
from tbeval.reports.page import heatmap, leaderboard
from tbeval.reports.page.content import Content
from tbeval.reports.page.verdicts import COMPLETENESS_HEADS, completeness, verdicts, warnings

#: GitHub takes 65,536 characters in a comment.
LONGEST = 60_000

_LEADERBOARD_HEADS = (
    "checkpoint",
    "agent",
    "tasks × attempts",
    "pass@1",
    "95 % interval",
    "pass@k",
    "pass^k",
    "score",
    "unique solved",
    "solved trials",
    "date",
)


def report_markdown(content: Content, figures: Sequence[str] = ()) -> str:
    """The report's text, at most 60,000 characters: the tasks' table gives way.

    Args:
        content: What it says.
        figures: Paths of pictures, relative to the report.
    """
    before = [
        *(f"**{markdown(sentence)}**\n" for sentence in verdicts(content)),
        "## Completeness\n",
        *(f"- {markdown(sentence)}" for sentence in warnings(content)),
        *([""] if warnings(content) else []),
        *_table(COMPLETENESS_HEADS, (completeness(shown) for shown in content.shown)),
        "## Leaderboard\n",
        *_table(_LEADERBOARD_HEADS, _lines(content)),
        *_differences(content),
        *(f"![{path.rpartition('/')[2].partition('.')[0]}]({path})\n" for path in figures),
    ]
    after = _gained(content)
    room = LONGEST - len("\n".join([*before, *after])) - 400
    return "\n".join([*before, *_tasks(content, room), *after])[:LONGEST]


def _lines(content: Content) -> Iterable[tuple[str, ...]]:
    for line in leaderboard.lines(content):
        estimates = line.shown.estimates
        yield (
            f"{line.name} (baseline)" if line.is_base else line.name,
            line.agent,
            line.design,
            leaderboard.rate(line.pass_1),
            line.interval_text,
            leaderboard.rate(line.pass_k),
            leaderboard.rate(line.all_k),
            leaderboard.rate(line.score),
            f"{estimates.unique_solved} of {estimates.tasks}",
            f"{estimates.solved_trials} of {estimates.scored}",
            line.date,
        )
    for each in content.references:
        design = f"{each.tasks} tasks" if each.tasks else ""
        rate = leaderboard.rate(each.pass_at_1)
        name = f"{each.name} (published)"
        yield (name, each.agent, design, rate, "", "", "", "", "", "", each.date)


def _differences(content: Content) -> list[str]:
    if content.comparison is None or content.base is None:
        return []
    return [
        f"## Differences from {markdown(content.base.name)}\n",
        *_table(HEADS, (row_cells(row) for row in content.comparison.rows)),
        f"{markdown(METHOD)}\n",
    ]


def _tasks(content: Content, room: int) -> list[str]:
    rows = heatmap.rows(content)
    heads = ("task", *(shown.name for shown in content.shown))
    lines = _table(heads, ((row.task, *(s.text for s in row.squares)) for row in rows))
    kept = len(lines)
    while kept > 2 and sum(len(line) + 1 for line in lines[:kept]) > room:  # noqa: PLR2004 - heads
        kept -= 1
    said = "Solved of scored attempts.\n"
    if kept < len(lines):
        said = f"Solved of scored attempts; {len(lines) - kept} more tasks are in index.html.\n"
    return ["## Tasks\n", said, *lines[:kept], ""]


def _gained(content: Content) -> list[str]:
    if content.base is None:
        return []
    said = [f"## Gained and lost against {markdown(content.base.name)}\n"]
    for row in content.comparison.rows if content.comparison else ():
        for what, tasks in (("gained", row.comparison.gained), ("lost", row.comparison.lost)):
            listed = f": {', '.join(tasks)}" if tasks else ""
            said.append(f"- {markdown(f'{row.other.checkpoint} {what} {len(tasks)}{listed}')}")
    for name, tasks in content.alone:
        said.append(f"- {markdown(f'solved by {name} alone: {", ".join(tasks) or "none"}')}")
    said.append(f"- {len(content.never)} of {len(content.tasks)} tasks were solved by none\n")
    return said


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [f"| {' | '.join(markdown(text) for text in row)} |" for row in (heads, *rows)]
    return [lines[0], f"|{'---|' * len(heads)}", *lines[1:], ""]
