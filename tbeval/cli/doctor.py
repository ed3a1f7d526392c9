"""`tbeval doctor`: whether a run can work here, and what to do if not."""

from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click
from click.exceptions import Exit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console

    from tbeval.runs.preflight import Finding, Subject

_STYLES = {"ok": "green", "warning": "yellow", "failure": "bold red"}


@click.command("doctor")
@click.argument("checkpoint", required=False)
@click.option("--subset", metavar="NAME", help="Which tasks: a subset's name or a TOML file.")
@click.option("-j", "--concurrency", type=click.IntRange(1), metavar="J", help="Trials at once.")
@click.option("--sandbox", type=click.Choice(["bubblewrap", "docker"]), help="Where trials run.")
@click.option("--json", "as_data", is_flag=True, help="Print the findings as JSON.")
@click.option(
    "--results-dir", type=click.Path(path_type=Path), default=Path("results"), show_default=True
)
def command(
    checkpoint: str | None,
    *,
    subset: str | None,
    concurrency: int | None,
    sandbox: str | None,
    as_data: bool,
    results_dir: Path,
) -> None:
    """Check this machine, its sandboxes and, with CHECKPOINT, the model that is served.

    Each line is ok, a warning or a failure, with what to do. Exit code 1 if something failed.
    """
    import asyncio

    from rich.console import Console

    from tbeval.runs.preflight import examine

    choices = {"subset": subset, "concurrency": concurrency, "sandbox": sandbox}
    subject = _subject(checkpoint, choices, results_dir)
    console, findings = Console(), list["Finding"]()

    def report(finding: "Finding") -> None:
        findings.append(finding)
        if not as_data:
            _show(console, finding)

    asyncio.run(examine(subject, report))
    if as_data:
        import json

        click.echo(json.dumps([finding.as_dict() for finding in findings], indent=2))
    if any(finding.status == "failure" for finding in findings):
        raise Exit(1)


def _subject(name: str | None, choices: "Mapping[str, object]", results_dir: Path) -> "Subject":
    from tbeval.runs.preflight import Subject
    from tbeval.settings.checkpoint import Checkpoint
    from tbeval.settings.checkpoints import load_checkpoints
    from tbeval.settings.options import Choices, resolve
    from tbeval.settings.subsets import load_subset
    from tbeval.tasks.load import load_tasks

    checkpoint = load_checkpoints().get(name) if name is not None else None
    options, _ = resolve(Choices.model_validate(choices), checkpoint or Checkpoint(id="none"))
    wanted = checkpoint is not None or choices["subset"] is not None
    tasks = load_tasks(load_subset(options.subset)) if wanted else ()
    return Subject(checkpoint, options, tasks, results_dir)


def _show(console: "Console", finding: "Finding") -> None:
    from rich.text import Text

    from tbeval.reports.escape import visible

    line = Text(f"{finding.status:<8}", style=_STYLES[finding.status])
    line.append(f"{finding.name:<11} {visible(finding.what)}", style="default")
    console.print(line, soft_wrap=True)
    if finding.advice:
        console.print(Text(f"{'':<20}{visible(finding.advice)}"), soft_wrap=True)
