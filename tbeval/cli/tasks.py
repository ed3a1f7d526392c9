"""`tbeval tasks`: fetch the tasks of a subset, list them, and show one."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

if TYPE_CHECKING:
    from tbeval.settings.subset import Subset
    from tbeval.tasks.facts import TaskFacts
    from tbeval.tasks.load import TaskInfo

_SUBSETS = ("subset", "tasks", "here", "description")
_OF_A_SUBSET = ("task", "difficulty", "category", "agent", "verifier", "warnings")


@click.group("tasks", context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Fetch the tasks of a subset, list them, or show one."""


@command.command("fetch")
@click.argument("subset")
@click.option(
    "--from",
    "origin",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Take the task directories from here (terminal-bench's or harbor's format).",
)
@click.option("--again", is_flag=True, help="Fetch even what is there.")
def fetch(subset: str, *, origin: Path | None, again: bool) -> None:
    """Bring the tasks of SUBSET into the cache, converted to harbor's format.

    What is there and unchanged is not fetched again, and then no network is needed.
    """
    from tbeval.reports.escape import visible
    from tbeval.settings.subsets import load_subset
    from tbeval.tasks.fetch import fetch_tasks

    fetch_tasks(
        load_subset(subset),
        origin=origin,
        again=again,
        note=lambda line: click.echo(visible(line)),
    )


@command.command("list")
@click.argument("subset", required=False)
def list_(subset: str | None) -> None:
    """List the tasks of SUBSET, or without it, the subsets that are known."""
    from tbeval.settings.subsets import list_subsets, load_subset

    if subset is not None:
        _print_aligned([_OF_A_SUBSET, *_tasks(load_subset(subset))])
        return
    _print_folded(_SUBSETS, (_subset(name) for name in list_subsets()))


@command.command("show")
@click.argument("task", metavar="ID")
@click.option("--subset", metavar="NAME", help="Whose task: a subset's name or a TOML file.")
def show(task: str, *, subset: str | None) -> None:
    """Show what the task ID is: limits, services, tests, warnings and its instruction.

    Without --subset: of the first subset that has it.
    """
    from tbeval.reports.escape import visible, visible_lines
    from tbeval.tasks.facts import task_facts
    from tbeval.tasks.load import load_tasks

    chosen = _holding(task, subset)
    info = load_tasks(chosen, select=(task,))[0]
    rows = list(_facts(chosen, info, task_facts(info.path)))
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        click.echo(f"{name:<{width}}  {visible(value)}")
    click.echo(f"\n{visible_lines(info.instruction).strip()}")


def _holding(task: str, subset: str | None) -> "Subset":
    """The subset to look in; one whose tasks are here before one that must be fetched."""
    from tbeval.settings.base import SettingsError
    from tbeval.settings.subsets import list_subsets, load_subset
    from tbeval.settings.wording import nearest
    from tbeval.tasks.load import tasks_here

    if subset is not None:
        return load_subset(subset)
    known = [load_subset(name) for name in list_subsets()]
    holding = [one for one in known if task in one.tasks]
    if not holding:
        near = nearest(task, {each for one in known for each in one.tasks})
        raise SettingsError(
            f'no known subset has a task "{task}"{near}; `tbeval tasks list` names the subsets.'
        )
    return next((one for one in holding if task in tasks_here(one)), holding[0])


def _facts(subset: "Subset", info: "TaskInfo", facts: "TaskFacts") -> Iterable[tuple[str, str]]:
    yield "task", info.id
    yield "subset", subset.name
    yield "difficulty", info.difficulty or "-"
    yield "category", info.category or "-"
    yield "tags", ", ".join(info.tags) or "-"
    yield "agent limit", f"{info.agent_timeout_sec:g} s"
    yield "verifier limit", f"{info.verifier_timeout_sec:g} s"
    yield "services", ", ".join(facts.services)
    yield "images", ", ".join(facts.images) or "-"
    yield from (*facts.limits, *facts.marks)
    yield "tests", f"{len(facts.tests)} in its sources"
    yield from (("", test) for test in facts.tests)
    yield from (("warning", warning) for warning in info.warnings)
    yield "digest", info.digest
    yield "directory", str(info.path)


def _subset(name: str) -> tuple[str, ...]:
    """What is known of a subset, or why it cannot be used: that must not hide the others."""
    from tbeval.settings.base import SettingsError
    from tbeval.settings.subsets import load_subset
    from tbeval.tasks.load import tasks_here

    try:
        subset = load_subset(name)
        here = len(tasks_here(subset))
    except SettingsError as error:
        return name, "-", "-", str(error)
    return name, str(len(subset.tasks)), str(here), subset.description


def _tasks(subset: "Subset") -> Iterable[tuple[str, ...]]:
    from tbeval.tasks.load import load_tasks, tasks_here

    here = tasks_here(subset)
    loaded = {task.id: task for task in load_tasks(subset, select=here)} if here else {}
    for task in subset.tasks:
        if task not in loaded:
            yield task, "not fetched", "", "", "", ""
            continue
        info = loaded[task]
        yield (
            task,
            info.difficulty or "-",
            info.category or "-",
            f"{info.agent_timeout_sec:g} s",
            f"{info.verifier_timeout_sec:g} s",
            str(len(info.warnings)),
        )


def _print_aligned(rows: Sequence[tuple[str, ...]]) -> None:
    """In columns as wide as they must be, for `grep` and `awk`: ids are long, terminals vary."""
    from tbeval.reports.escape import visible

    shown = [[visible(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    for row in shown:
        cells = (f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True))
        click.echo("  ".join(cells).rstrip())


def _print_folded(columns: Iterable[str], rows: Iterable[tuple[str, ...]]) -> None:
    """As a table that folds its last column to the terminal's width."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from tbeval.reports.escape import visible

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold", no_wrap=column != "description")
    for row in rows:
        table.add_row(*(Text(visible(cell)) for cell in row))
    Console().print(table)
