"""A summary as Markdown: `reports/<checkpoint>/report.md`."""

import json
import os
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from tbeval.reports import words
from tbeval.reports.escape import markdown
from tbeval.reports.summary import RunSummary

_REPORT = "report.md"


def summary_markdown(summary: RunSummary) -> str:
    """The report's text: the words and numbers of the terminal's summary, and the settings."""
    run = summary.run
    own = {
        "concurrency": str(run.concurrency),
        "time_multiplier": str(run.time_multiplier),
        "turn_limit": str(run.turn_limit),
    }
    # finalize passes over everything that a template fills in: nothing gets in unescaped
    environment = Environment(
        loader=PackageLoader("tbeval.reports"),
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701 - that is HTML's; Markdown's is `finalize`
        finalize=lambda value: markdown(str(value)),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template("report.md.j2").render(
        summary=summary,
        run=run,
        head=words.head(summary),
        figures=words.figures(summary),
        costs=words.costs(summary),
        endings=words.endings(summary),
        row_heads=words.ROW_HEADS,
        rows=[words.row(task, run.attempts) for task in summary.rows],
        settings=sorted((own | dict(_flat(run.scoring))).items()),
        identity=sorted(run.identity.items()),
        versions=sorted(run.versions.items()),
    )


def write_report(summary: RunSummary, reports: Path) -> Path:
    """Write `<reports>/<checkpoint>/report.md`, whole or not at all.

    Returns:
        The file.

    Raises:
        OSError: It cannot be written.
    """
    directory = reports / summary.run.checkpoint
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / _REPORT
    temporary = directory / f".{_REPORT}.{os.getpid()}"
    try:
        temporary.write_text(summary_markdown(summary), encoding="utf-8")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    return path


def _flat(table: dict[str, Any], before: str = "") -> list[tuple[str, str]]:
    """Nested settings as dotted names and values, in the order of names."""
    flat: list[tuple[str, str]] = []
    for name, value in sorted(table.items()):
        if isinstance(value, dict):
            flat += _flat(value, f"{before}{name}.")
        else:
            text = value if isinstance(value, str) else json.dumps(value, default=str)
            flat.append((before + name, text))
    return flat
