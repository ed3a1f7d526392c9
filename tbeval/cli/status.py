"""`tbeval status`: how far a run is, from its files alone."""

import time
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

if TYPE_CHECKING:
    from datetime import datetime

    from rich.console import Group

    from tbeval.results.status import RunStatus

_EVERY_SEC = 1.0


@click.command("status")
@click.argument("run", required=False)
@click.option("--watch", is_flag=True, help="Draw it again every second until the run ends.")
@click.option("--json", "as_data", is_flag=True, help="Print it as JSON.")
@click.option(
    "--results-dir", type=click.Path(path_type=Path), default=Path("results"), show_default=True
)
def command(run: str | None, *, watch: bool, as_data: bool, results_dir: Path) -> None:
    """Print how far RUN is: a run id, a checkpoint (its newest run) or a path.

    Without RUN: the newest run of all. It works from another terminal while the run goes on.
    """
    from datetime import UTC, datetime

    from rich.console import Console
    from rich.live import Live

    from tbeval.results.find import find_run
    from tbeval.results.status import read_status

    if watch and as_data:
        raise click.UsageError("--watch draws on a terminal: take one of --watch and --json.")
    directory = find_run(results_dir, run)
    status = read_status(directory)
    if as_data:
        import json

        click.echo(json.dumps(status.as_dict(datetime.now(UTC)), indent=2))
        return
    console = Console()
    if not watch:
        console.print(_drawn(status))
        return
    with Live(_drawn(status), console=console, auto_refresh=False) as live:
        while status.state == "running":
            time.sleep(_EVERY_SEC)
            status = read_status(directory)
            live.update(_drawn(status), refresh=True)


def _drawn(status: "RunStatus") -> "Group":
    from datetime import UTC, datetime

    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from tbeval.reports.escape import visible
    from tbeval.reports.words import duration
    from tbeval.results.status import seconds_since

    now = datetime.now(UTC)
    lines = [f"{status.run.checkpoint}, run {status.run.run_id}: {_state(status, now)}"]
    lines.append(_counts(status))
    if status.ends is not None:
        rest = duration(max(0.0, (status.ends - now).total_seconds()))
        lines.append(f"estimated end: {status.ends:%Y-%m-%d %H:%M} UTC, in {rest}")
    texts = [Text(visible(line)) for line in lines]
    if not status.running:
        return Group(*texts)
    table = Table(box=None, padding=(0, 2), show_edge=False, header_style="dim")
    for column in ("running", "attempt", "phase", "seconds", "in all", "calls"):
        left = column in {"running", "phase"}
        table.add_column(column, justify="left" if left else "right")
    for trial in status.running:
        again = f" (try {trial.try_number})" if trial.try_number > 1 else ""
        row = (
            trial.task,
            f"{trial.attempt}{again}",
            trial.phase,
            f"{seconds_since(trial.entered, now):.0f}",
            f"{seconds_since(trial.began, now):.0f}",
            str(trial.calls),
        )
        table.add_row(*(Text(visible(text)) for text in row))
    return Group(*texts, table)


def _state(status: "RunStatus", now: "datetime") -> str:
    from tbeval.reports.words import duration
    from tbeval.results.status import seconds_since

    if status.state != "unfinished":
        return status.state
    again = f"not running, unfinished (tbeval eval {status.run.checkpoint} continues it)"
    if status.heard is None:
        return again
    return f"{again}; last sign of life {duration(seconds_since(status.heard, now))} ago"


def _counts(status: "RunStatus") -> str:
    from tbeval.reports.words import counts

    unscored = counts(status.unscored)
    return (
        f"{status.done}/{status.run.planned} cells done · {status.solved} solved · "
        f"{sum(status.unscored.values())} unscored{f' ({unscored})' if unscored else ''} · "
        f"{len(status.running)} running · {status.waiting} waiting"
    )
