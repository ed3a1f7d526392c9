"""`tbeval runs`: list the runs and how far each is."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

if TYPE_CHECKING:
    from tbeval.results.find import FoundRun

_COLUMNS = (
    "checkpoint",
    "run_id",
    "begun",
    "subset",
    "agent",
    "done",
    "solved",
    "unscored",
    "state",
)
_WIDTH = 160


@click.command("runs")
@click.argument("checkpoint", required=False)
@click.option("--json", "as_data", is_flag=True, help="Print them as JSON.")
@click.option(
    "--results-dir", type=click.Path(path_type=Path), default=Path("results"), show_default=True
)
def command(checkpoint: str | None, *, as_data: bool, results_dir: Path) -> None:
    """List the runs, the oldest first: all, or those of CHECKPOINT."""
    from tbeval.results.find import list_runs
    from tbeval.settings.base import SettingsError

    found = [run for run in list_runs(results_dir) if checkpoint in {None, run.checkpoint}]
    if checkpoint is not None and not found:
        raise SettingsError(
            f"there is no run of {checkpoint} in {results_dir}; `tbeval runs` lists all."
        )
    rows = [_row(run) for run in found]
    if as_data:
        import json

        click.echo(json.dumps(rows, indent=2))
        return
    _print(rows)


def _row(run: "FoundRun") -> dict[str, Any]:
    """A run's line; a run that cannot be read must not hide the others."""
    from datetime import UTC, datetime

    from tbeval.records.ledger import LedgerError
    from tbeval.records.run import RunFileError
    from tbeval.results.status import read_status

    try:
        return read_status(run.directory).as_dict(datetime.now(UTC))
    except (LedgerError, RunFileError, OSError) as error:
        return {
            "checkpoint": run.checkpoint,
            "run_id": run.run_id,
            "begun": run.created.astimezone(UTC).isoformat(),
            "state": "unreadable",
            "error": str(error),
        }


def _print(rows: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from tbeval.reports.escape import visible

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in _COLUMNS:
        number = column in {"done", "solved", "unscored"}
        table.add_column(
            column.removesuffix("_id"),
            justify="right" if number else "left",
            overflow="fold",
            no_wrap=column in {"checkpoint", "run_id"},
        )
    for row in rows:
        shown = row | {"begun": row["begun"][:16].replace("T", " ")}
        if "planned" in row:
            shown["done"] = f"{row['done']}/{row['planned']}"
        table.add_row(*(Text(visible(str(shown.get(column, "-")))) for column in _COLUMNS))
    # On a narrow terminal a line goes on below: a folded column is harder to read, or to grep.
    console = Console(width=max(Console().width, _WIDTH))
    console.print(table)
    for row in rows:
        if "error" in row:
            console.print(visible(row["error"]), markup=False, highlight=False, soft_wrap=True)
