"""`tbeval export`: the trial table of runs, for other programs."""

from pathlib import Path

import rich_click as click


@click.command("export")
@click.argument("runs", metavar="RUN...", nargs=-1, required=True)
@click.option("--format", "form", type=click.Choice(["parquet", "csv", "jsonl"]), required=True)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="Where to; by default trials.<format>."
)
@click.option(
    "--results-dir", type=click.Path(path_type=Path), default=Path("results"), show_default=True
)
def command(runs: tuple[str, ...], *, form: str, output: Path | None, results_dir: Path) -> None:
    """Write one row per trial of each RUN: a run id, a checkpoint (its newest run) or a path.

    docs/results.md says what the columns mean.
    """
    from tbeval.results.find import find_run
    from tbeval.results.table import read_table, write_table

    directories = dict.fromkeys(find_run(results_dir, run) for run in runs)
    table = read_table(directories)
    path = output or Path(f"trials.{form}")
    write_table(table, path, form)
    runs_of = "1 run" if len(directories) == 1 else f"{len(directories)} runs"
    click.echo(f"{path}: {len(table)} trials of {runs_of}")
