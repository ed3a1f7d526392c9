"""`tbeval eval`: run a checkpoint's trials and print what came out."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click
from click.exceptions import Exit

if TYPE_CHECKING:
    from rich.console import Console

    from tbeval.runs.finding import Finding, Request
    from tbeval.settings.checkpoint import Checkpoint
    from tbeval.settings.options import Choices

INTERRUPTED = 130

_LATER = {
    "camel": "--agent camel comes with a later version; terminus-2, oracle and nop are here.",
}


@click.command("eval")
@click.argument("checkpoints", metavar="CHECKPOINT...", nargs=-1, required=True)
@click.option("--subset", metavar="NAME", help="Which tasks: a subset's name or a TOML file.")
@click.option("--tasks", metavar="PATTERNS", help="Only these of the subset, e.g. 'git-*,regex'.")
@click.option("--exclude", metavar="PATTERNS", help="All of the subset but these.")
@click.option("--difficulty", metavar="WORD", help="Only tasks that their author calls so: easy, …")
@click.option(
    "--agent",
    type=click.Choice(["terminus-2", "camel", "oracle", "nop"]),
    help="What asks the model.",
)
@click.option("-n", "--attempts", type=int, metavar="N", help="Attempts at each task.")
@click.option("-j", "--concurrency", metavar="J", help="Trials at once: a number, or auto.")
@click.option(
    "--model-calls", type=int, metavar="N", help="Model calls at once, at each replica; else any."
)
@click.option("--builds", type=int, metavar="N", help="Sandboxes built at once (default 2).")
@click.option("--sandbox", type=click.Choice(["bubblewrap", "docker"]), help="Where trials run.")
@click.option("--turn-limit", type=int, metavar="T", help="Turns after which the agent is stopped.")
@click.option("--time-multiplier", type=float, metavar="F", help="Scales every task's time limits.")
@click.option(
    "--base-url",
    metavar="URL",
    multiple=True,
    help="Where the model is served (…/v1); several, or with commas, for replicas.",
)
@click.option("--served-model", metavar="NAME", help="The name it is served under.")
@click.option("--like", metavar="ID", help="Take every other setting from this checkpoint.")
@click.option(
    "--retry-unscored", is_flag=True, help="Try cells without a verdict again, however often tried."
)
@click.option("--no-preflight", is_flag=True, help="Skip the checks at the start (see doctor).")
@click.option(
    "--force", is_flag=True, help="Continue an unfinished run with other settings; reports say so."
)
@click.option("--new", is_flag=True, help="Start another run even if one could be continued.")
@click.option(
    "--side-by-side",
    is_flag=True,
    help="Several at once where their endpoints differ; -j is shared among them.",
)
@click.option(
    "--show-settings", is_flag=True, help="Print every setting and its origin; run nothing."
)
@click.option(
    "--results-dir", type=click.Path(path_type=Path), default=Path("results"), show_default=True
)
@click.option(
    "--reports-dir", type=click.Path(path_type=Path), default=Path("reports"), show_default=True
)
@click.pass_context
def command(
    context: click.RichContext,
    /,
    checkpoints: tuple[str, ...],
    results_dir: Path,
    reports_dir: Path,
    **given: Any,
) -> None:
    """Evaluate CHECKPOINT: attempts × tasks, each in a sandbox of its own.

    Running the same command again continues an unfinished run. CHECKPOINT may be a pattern
    ('iter*'), and there may be several; they run one after the other, or --side-by-side.
    """
    from rich.console import Console

    console = Console()
    named = [one for pattern in checkpoints for one in _checkpoints(pattern, given)]
    found = list({one.id: one for one in named}.values())
    if given["side_by_side"] and not given["show_settings"]:
        _side_by_side(context, found, given)
    worst = 0
    for one in found:
        options = _with_concurrency(console, one, given)
        if options["show_settings"]:
            _show_settings(console, one, options)
            continue
        worst = max(worst, _evaluate(console, one, options, results_dir, reports_dir))
        if worst == INTERRUPTED:
            break
    if worst:
        raise Exit(worst)


def _side_by_side(
    context: "click.Context", checkpoints: "list[Checkpoint]", given: dict[str, Any]
) -> None:
    """Evaluate all at once if that is possible, and end; else return."""
    from tbeval.cli.side_by_side import SideBySide, given_options, groups_of
    from tbeval.settings.base import SettingsError

    groups = groups_of(checkpoints)
    if len(groups) < 2:  # noqa: PLR2004 - nothing to be beside
        return
    options = given_options(context)
    if given["concurrency"] is not None:
        if not given["concurrency"].isdigit() or int(given["concurrency"]) < len(groups):
            raise SettingsError(
                f"-j is {given['concurrency']}: with --side-by-side it must be a number, at least "
                f"{len(groups)} here, one for each endpoint."
            )
        options.append(f"--concurrency={int(given['concurrency']) // len(groups)}")
    raise Exit(SideBySide(options).run(groups))


def _checkpoints(pattern: str, options: dict[str, Any]) -> "tuple[Checkpoint, ...]":
    from tbeval.settings.checkpoints import load_checkpoints

    catalogue = load_checkpoints()
    if any(options[name] for name in ("base_url", "served_model", "like")):
        return (
            catalogue.with_overrides(
                pattern,
                base_url=options["base_url"],
                served_model=options["served_model"],
                like=options["like"],
            ),
        )
    return catalogue.find(pattern)


def _with_concurrency(
    console: "Console", checkpoint: "Checkpoint", options: dict[str, Any]
) -> dict[str, Any]:
    """The options with `-j` as a number; says how `auto` came to its number."""
    from tbeval.runs.concurrency import automatic
    from tbeval.settings.base import SettingsError

    said = options["concurrency"]
    if said is None:
        return options
    if said == "auto":
        choice = automatic(checkpoint.model_copy(update=_agent(options)))
        console.print(f"-j auto: {choice.trials} ({choice.reason})", markup=False, highlight=False)
        return options | {"concurrency": choice.trials}
    try:
        return options | {"concurrency": int(said)}
    except ValueError as error:
        raise SettingsError(f"-j is {said!r}: it must be a number or auto.") from error


def _agent(options: dict[str, Any]) -> dict[str, str]:
    return {"agent": options["agent"]} if options["agent"] else {}


def _choices(options: dict[str, Any]) -> "Choices":
    from tbeval.settings.base import SettingsError
    from tbeval.settings.options import Choices

    flags = {"attempts": "-n", "concurrency": "-j", "model_calls": "--model-calls"}
    for name, flag in (flags | {"builds": "--builds", "turn_limit": "--turn-limit"}).items():
        if options[name] is not None and options[name] < 1:
            raise SettingsError(f"{flag} is {options[name]}: it must be 1 or more.")
    factor = options["time_multiplier"]
    if factor is not None and not 0 < factor < float("inf"):
        raise SettingsError(f"--time-multiplier is {factor}: it must be a number above 0.")
    return Choices(**{name: options[name] for name in Choices.model_fields})


def _request(checkpoint: "Checkpoint", options: dict[str, Any], results_dir: Path) -> "Request":
    from tbeval.runs.finding import Request
    from tbeval.settings.base import SettingsError
    from tbeval.settings.options import resolve
    from tbeval.settings.subsets import load_subset
    from tbeval.tasks.load import load_tasks

    resolved, _ = resolve(_choices(options), checkpoint)
    if resolved.agent in _LATER:
        raise SettingsError(_LATER[resolved.agent])
    subset = load_subset(resolved.subset)
    tasks = load_tasks(
        subset,
        select=_patterns(options["tasks"]),
        exclude=_patterns(options["exclude"]),
        difficulty=options["difficulty"],
    )
    return Request(
        checkpoint=checkpoint,
        options=resolved,
        subset=subset,
        tasks=tasks,
        results_dir=results_dir,
        new=options["new"],
        force=options["force"],
        retry_unscored=options["retry_unscored"],
        preflight=not options["no_preflight"],
    )


def _patterns(text: str | None) -> tuple[str, ...]:
    return tuple(part.strip() for part in (text or "").split(",") if part.strip())


def _evaluate(
    console: "Console",
    checkpoint: "Checkpoint",
    options: dict[str, Any],
    results_dir: Path,
    reports_dir: Path,
) -> int:
    """Evaluate one checkpoint; returns the exit code."""
    import asyncio

    from tbeval.runs.asked import find
    from tbeval.runs.store import check_writable

    check_writable(reports_dir, "--reports-dir")
    request = _request(checkpoint, options, results_dir)
    finding = find(request)
    console.print(
        finding.announcement(request.options.concurrency),
        markup=False,
        highlight=False,
        soft_wrap=True,
    )
    directory = finding.directory
    if directory is None or finding.open:
        directory = asyncio.run(_run(console, request, finding))
    return _report(console, directory, reports_dir)


async def _run(console: "Console", request: "Request", finding: "Finding") -> Path:
    from tbeval.runs.progress import Tally, progress
    from tbeval.runs.session import evaluate

    with progress(console, Tally(planned=finding.run.planned)) as listener:
        return await evaluate(request, finding, listener)


def _report(console: "Console", directory: Path, reports_dir: Path) -> int:
    """Print the summary, write the report.

    Returns:
        The exit code: 0, `INTERRUPTED` if cells are still to be run, 1 if none has a verdict.
    """
    from tbeval.reports.markdown import write_report
    from tbeval.reports.summary import summarise
    from tbeval.reports.text import render

    summary = summarise(directory)
    console.print(render(summary))
    path = write_report(summary, reports_dir)
    console.print(f"results: {directory}\nreport:  {path}", markup=False, highlight=False)
    if summary.unfinished:
        return INTERRUPTED
    if not summary.scored:
        console.print(
            "No trial has a verdict, so nothing was measured: mend what the reasons above name "
            "(tbeval doctor helps), then run the same command with --retry-unscored.",
            highlight=False,
            soft_wrap=True,
        )
        return 1
    return 0


def _show_settings(console: "Console", checkpoint: "Checkpoint", options: dict[str, Any]) -> None:
    from rich.table import Table
    from rich.text import Text

    from tbeval.reports.escape import visible
    from tbeval.settings.options import settings_rows

    table = Table(title=f"Settings of {checkpoint.id}", title_justify="left")
    for column in ("setting", "value", "from"):
        table.add_column(column, overflow="fold")
    given = {name for name in ("base_url", "served_model") if options[name]}
    for row in settings_rows(_choices(options), checkpoint, given):
        table.add_row(*(Text(visible(text)) for text in row))
    console.print(table)
