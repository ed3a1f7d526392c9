"""`tbeval freeze`: a baseline that outlives its run, small enough for a repository."""

from pathlib import Path

import rich_click as click


@click.command("freeze")
@click.argument("run")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), required=True, help="A file, *.json."
)
@click.option("--pool", is_flag=True, help="Merge all complete runs of the same settings.")
@click.option(
    "--results-dir", type=click.Path(path_type=Path), default=Path("results"), show_default=True
)
def command(run: str, *, output: Path, pool: bool, results_dir: Path) -> None:
    """Write what RUN measured (a run, or a checkpoint's newest complete one) to a file.

    `tbeval compare` and `tbeval gate` take the file in place of a run.
    """
    from tbeval.reports.escape import visible
    from tbeval.results.measured import find_measured, freeze
    from tbeval.settings.base import SettingsError

    if output.suffix != ".json":
        raise SettingsError(f"{output} should end in .json: that is how a baseline is known.")
    measured, left = find_measured(results_dir, run, pooled=pool)
    temporary = output.with_name(f".{output.name}.new")
    try:
        temporary.write_text(freeze(measured), encoding="utf-8")
        temporary.replace(output)
    finally:
        temporary.unlink(missing_ok=True)
    click.echo(
        visible(
            f"{output}: {measured.checkpoint}, {len(measured.tasks)} tasks, {measured.scored} of "
            f"{measured.planned} cells scored, from {', '.join(measured.runs)}"
        )
    )
    if left:
        click.echo(visible(f"not in it: {', '.join(left)}"))
