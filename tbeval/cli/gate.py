"""`tbeval gate`: PASS, FAIL or INCONCLUSIVE, for a CI job."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click
from click.exceptions import Exit

if TYPE_CHECKING:
    from tbeval.reports.gating import GateReport


@click.command("gate")
@click.argument("checkpoint")
@click.option("--baseline", metavar="B", help="A run, a checkpoint, or a frozen file (*.json).")
@click.option("--metric", default="pass@1", show_default=True, help="pass@1, pass@N, or score.")
@click.option(
    "--margin",
    type=click.FloatRange(0, 1, min_open=True),
    default=0.05,
    show_default=True,
    help="The drop that is put up with, as a rate.",
)
@click.option(
    "--min-complete",
    type=click.FloatRange(0, 1),
    default=0.95,
    show_default=True,
    help="Share of the planned cells that must have a verdict.",
)
@click.option("--min-pass", type=click.FloatRange(0, 1), help="A rate that must be reached.")
@click.option(
    "--inconclusive",
    type=click.Choice(["fail", "warn", "pass"]),
    help="What INCONCLUSIVE counts as (default: exit code 3).",
)
@click.option("--anyway", is_flag=True, help="Judge the common tasks though settings differ.")
@click.option("--pool", is_flag=True, help="Merge all complete runs of a checkpoint.")
@click.option("--json", "as_json", is_flag=True, help="Print every number as JSON.")
@click.option("--junit", type=click.Path(path_type=Path), help="Write JUnit XML to this file.")
@click.option(
    "--results-dir", type=click.Path(path_type=Path), default=Path("results"), show_default=True
)
def command(checkpoint: str, *, as_json: bool, junit: Path | None, **asked: Any) -> None:
    """Judge whether CHECKPOINT (or a run of it) is worse than its baseline.

    FAIL if chance is ruled out and it is worse; else PASS if a drop of the margin is ruled out;
    else INCONCLUSIVE. Exit codes: 0 PASS, 1 FAIL, 3 INCONCLUSIVE, 4 incomplete or not measured
    alike, 2 a mistake in what was asked. Where $GITHUB_STEP_SUMMARY is set, it gets the verdict.
    """
    from tbeval.reports import gate_views
    from tbeval.reports.comparing import NotComparableError
    from tbeval.reports.escape import markdown, visible
    from tbeval.reports.gating import ExitCode, IncompleteError

    try:
        report = _judge(checkpoint, asked)
    except (NotComparableError, IncompleteError) as error:
        why = str(error)
        _write(junit, gate_views.no_answer_junit(checkpoint, why))
        _summarise(f"### ⚠️ NO ANSWER: {markdown(checkpoint)}\n\n{markdown(why)}\n")
        if as_json:
            _print_json({"verdict": None, "exit_code": int(ExitCode.NO_ANSWER), "why": why})
        click.echo(f"tbeval: no answer: {visible(why)}", err=True)
        raise Exit(ExitCode.NO_ANSWER) from error
    _write(junit, gate_views.as_junit(report))
    _summarise(gate_views.as_markdown(report))
    if as_json:
        _print_json(gate_views.as_data(report))
    else:
        click.echo(gate_views.as_text(report))
    raise Exit(report.exit_code)


def _judge(checkpoint: str, asked: dict[str, Any]) -> "GateReport":
    from tbeval.reports.comparing import metric_named
    from tbeval.reports.gating import judge
    from tbeval.results.measured import find_measured
    from tbeval.settings.base import SettingsError

    if asked["baseline"] is None and asked["min_pass"] is None:
        raise SettingsError(
            "there is nothing to judge by: name a --baseline (a run, a checkpoint or a frozen "
            "file), a bound (--min-pass), or both."
        )
    results, pool = asked["results_dir"], asked["pool"]
    measured, _ = find_measured(results, checkpoint, pooled=pool)
    baseline = None
    if asked["baseline"] is not None:
        baseline, left = find_measured(results, asked["baseline"], pooled=pool)
        if left:
            click.echo(f"baseline {baseline.checkpoint}: not used: {', '.join(left)}", err=True)
    try:
        return judge(
            measured,
            baseline,
            metric=metric_named(asked["metric"], measured.attempts),
            margin=asked["margin"],
            min_complete=asked["min_complete"],
            at_least=asked["min_pass"],
            inconclusive=asked["inconclusive"],
            anyway=asked["anyway"],
        )
    except ValueError as error:
        raise SettingsError(f"{error}.") from error


def _write(path: Path | None, text: str) -> None:
    if path is not None:
        path.write_text(text, encoding="utf-8")


def _summarise(text: str) -> None:
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        with Path(summary).open("a", encoding="utf-8") as file:
            file.write(text)


def _print_json(data: dict[str, Any]) -> None:
    import json

    click.echo(json.dumps(data, indent=2))
