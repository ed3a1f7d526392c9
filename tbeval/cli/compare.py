"""`tbeval compare`: is a checkpoint better than another, or is it chance?"""

from pathlib import Path

import rich_click as click
from click.exceptions import Exit

#: What was asked cannot be answered from these runs: they were not measured alike.
NOT_ALIKE = 4


@click.command("compare")
@click.argument("base")
@click.argument("others", metavar="OTHER...", nargs=-1, required=True)
@click.option("--metric", default="pass@1", show_default=True, help="pass@1, pass@N, or score.")
@click.option(
    "--anyway",
    is_flag=True,
    help="Compare the common tasks though settings differ; every output says so.",
)
@click.option("--pool", is_flag=True, help="Merge all complete runs of a checkpoint.")
@click.option(
    "--best-of",
    type=click.IntRange(1),
    metavar="K",
    help="Out of how many runs the best was picked (default: all of the series on disk).",
)
@click.option("--format", "form", type=click.Choice(["text", "markdown", "json"]), default="text")
@click.option(
    "--results-dir", type=click.Path(path_type=Path), default=Path("results"), show_default=True
)
def command(
    base: str,
    others: tuple[str, ...],
    *,
    metric: str,
    anyway: bool,
    pool: bool,
    best_of: int | None,
    form: str,
    results_dir: Path,
) -> None:
    """Compare each OTHER with BASE, paired by task, and say what this design can tell.

    Each is a run's id or path, a checkpoint (its newest complete run), or a file that `tbeval
    freeze` wrote. Exit code 4: they were not measured alike.
    """
    from tbeval.reports.comparing import NotComparableError, compare_measured, metric_named
    from tbeval.reports.comparison_views import as_data, as_markdown, as_text
    from tbeval.reports.escape import visible
    from tbeval.results.measured import find_measured, runs_of_series
    from tbeval.settings.base import SettingsError

    found = [find_measured(results_dir, name, pooled=pool) for name in (base, *others)]
    for measured, left in found:
        if left:
            click.echo(visible(f"{measured.checkpoint}: not used: {', '.join(left)}"), err=True)
    first, *rest = (measured for measured, _ in found)
    ranked = best_of or max(len(rest), runs_of_series(results_dir, first.series))
    try:
        report = compare_measured(
            first, rest, metric_named(metric, first.attempts), anyway=anyway, ranked=ranked
        )
    except NotComparableError as error:
        click.echo(f"tbeval: {visible(str(error))}", err=True)
        raise Exit(NOT_ALIKE) from error
    except ValueError as error:
        raise SettingsError(f"{error}.") from error
    if form == "json":
        import json

        click.echo(json.dumps(as_data(report), indent=2))
    else:
        click.echo(as_text(report) if form == "text" else as_markdown(report))
