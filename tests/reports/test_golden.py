"""Whole outputs, as they were last looked at.

After an intended change: `UPDATE_GOLDEN=1 pytest tests/reports/test_golden.py`, then read the diff.
"""

import json
import os
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from tbeval.reports.as_json import as_json
from tbeval.reports.markdown import summary_markdown
from tbeval.reports.summary import RunSummary, summarise
from tbeval.reports.text import render

GOLDEN = Path(__file__).with_name("golden")


def as_text(summary: RunSummary) -> str:
    output = StringIO()
    Console(file=output, width=120).print(render(summary))
    return "".join(f"{line.rstrip()}\n" for line in output.getvalue().splitlines())


def as_json_text(summary: RunSummary) -> str:
    return json.dumps(as_json(summary), indent=2, ensure_ascii=False) + "\n"


@pytest.mark.parametrize(
    ("name", "write"),
    [("summary.txt", as_text), ("summary.json", as_json_text), ("report.md", summary_markdown)],
)
def test_the_output_is_as_it_was_last_looked_at(
    name: str,
    write: Callable[[RunSummary], str],
    directory: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(directory.parents[2])  # a relative path: the same in every golden file
    actual = write(summarise(directory.relative_to(directory.parents[2])))
    golden = GOLDEN / name
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(actual, encoding="utf-8")
    assert actual == golden.read_text(encoding="utf-8")
