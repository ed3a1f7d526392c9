"""`tbeval report`: a folder to look at, that works from a file system."""

from pathlib import Path

import rich_click as click


@click.command("report")
@click.argument("runs", metavar="[RUN or CHECKPOINT]...", nargs=-1)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    help="The folder.  [default: reports/CHECKPOINT, reports/all for several]",
)
@click.option("--baseline", default="", help="What the others are compared with.")
@click.option(
    "--references",
    type=click.Path(path_type=Path),
    help="A TOML file of published figures to show for scale.",
)
@click.option("--trials/--no-trials", default=True, help="Whether each trial gets a page.")
@click.option("--figures/--no-figures", default=True, help="Whether to draw SVG and PNG, too.")
@click.option(
    "--results-dir", type=click.Path(path_type=Path), default=Path("results"), show_default=True
)
def command(
    runs: tuple[str, ...],
    *,
    output: Path | None,
    baseline: str,
    references: Path | None,
    trials: bool,
    figures: bool,
    results_dir: Path,
) -> None:
    """Write a report about runs: index.html, report.md, report.json, figures and trial pages.

    Each is a run's id or path, or a checkpoint (its newest complete run). Without any: every
    checkpoint that has a run. The first is what the others are compared with, unless --baseline
    or a run's own baseline says otherwise.
    """
    import shlex

    from tbeval.reports.escape import visible
    from tbeval.reports.page.content import content_of, file_name
    from tbeval.reports.page.folder import write_folder
    from tbeval.results.measured import runs_of_series
    from tbeval.results.references import read_references
    from tbeval.results.select import select_runs
    from tbeval.settings.base import SettingsError

    found = select_runs(results_dir, runs)
    names = {name for each in found for name in (each.run.checkpoint, each.run.run_id)}
    if baseline and baseline not in names:
        raise SettingsError(f'the baseline "{baseline}" is none of the runs: name it, too.')
    told = ["tbeval", "report", *runs]
    told += ["--baseline", baseline] if baseline else []
    content = content_of(
        found,
        command=shlex.join(told),
        baseline=baseline,
        references=read_references(references) if references else (),
        ranked=runs_of_series(results_dir, found[0].run.series),
    )
    name = found[0].run.checkpoint if len(found) == 1 else "all"
    directory = output or Path("reports") / file_name(name)
    written = write_folder(content, directory, trials=trials, figures=figures)
    click.echo(visible(f"report: {written.index}"))
    if trials:
        click.echo(f"trial pages: {written.trial_pages}, of which {written.renewed} are new")
