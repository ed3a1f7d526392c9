"""`tbeval show`: print a run's summary again, from its run.toml and ledger alone."""

from pathlib import Path

import rich_click as click


@click.command("show")
@click.argument("run", required=False)
@click.option("--json", "as_data", is_flag=True, help="Print the figures as JSON.")
@click.option(
    "--results-dir", type=click.Path(path_type=Path), default=Path("results"), show_default=True
)
def command(run: str | None, *, as_data: bool, results_dir: Path) -> None:
    """Print what came of RUN: a run id, a checkpoint (its newest run) or a path.

    Without RUN: the newest run of all.
    """
    from tbeval.reports.summary import summarise
    from tbeval.results.find import find_run

    summary = summarise(find_run(results_dir, run))
    if as_data:
        import json

        from tbeval.reports.as_json import as_json

        click.echo(json.dumps(as_json(summary), indent=2))
        return
    from rich.console import Console

    from tbeval.reports.text import render

    console = Console()
    console.print(render(summary))
    console.print(f"results: {summary.directory}", markup=False, highlight=False, soft_wrap=True)
