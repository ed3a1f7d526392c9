"""`tbeval import`: take in what another harness ran, beside our own runs."""

from pathlib import Path

import rich_click as click


@click.command("import")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--checkpoint", required=True, help="Whose result it is: an id of your choice.")
@click.option("--label", default="", help="What reports call it.")
@click.option("--subset", default="", help="What its tasks are called together.")
@click.option("--dry-run", is_flag=True, help="Say what would be imported; write nothing.")
@click.option(
    "--results-dir", type=click.Path(path_type=Path), default=Path("results"), show_default=True
)
def command(
    path: Path, *, checkpoint: str, label: str, subset: str, dry_run: bool, results_dir: Path
) -> None:
    """Take in the result at PATH: a harbor job or a `tb run` directory, or a file of one.

    It becomes a run like those of `tbeval eval`. Whatever is odd about it and changes a number is
    listed. The same result is imported once, however often it is named.
    """
    from tbeval.reports.escape import visible
    from tbeval.results.importing.assemble import read_foreign, write_imported

    imported = read_foreign(path, checkpoint, label=label, subset=subset)
    run = imported.run
    click.echo(
        visible(
            f"{path}: {len(imported.trials)} trials of {run.source} at {len(run.tasks)} tasks, up "
            f"to {run.attempts} attempts each; {imported.copies} more records of the same trials"
        )
    )
    for note in run.notes:
        click.echo(visible(f"  odd: {note}"))
    if dry_run:
        return
    directory, new = write_imported(imported, results_dir)
    if not new:
        click.echo(visible(f"imported before, nothing was added: {directory}"))
        return
    from rich.console import Console

    from tbeval.reports.summary import summarise
    from tbeval.reports.text import render

    console = Console()
    console.print(render(summarise(directory)))
    console.print(f"results: {directory}", markup=False, highlight=False, soft_wrap=True)
