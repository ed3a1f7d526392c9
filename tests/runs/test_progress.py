"""Telling how a run goes on must never end it."""

import os
import subprocess
import sys

import pytest
from rich.console import Console

from tbeval.runs.progress import LiveProgress, Tally

_RUN = """
import sys
from rich.console import Console
from tbeval.runs.progress import PlainProgress, Tally

listener = PlainProgress(Console(), Tally(planned=1))
for _ in range(2):
    listener.note("a line that nobody reads")
print("the run went on", file=sys.stderr)
"""


def test_a_run_goes_on_when_nobody_reads_its_output_any_more() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [sys.executable, "-c", _RUN],
            stdout=writer,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    finally:
        os.close(writer)
    assert done.returncode == 0
    assert done.stderr.endswith("the run went on\n")


def test_who_ends_at_once_leaves_the_cursor_visible(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")  # rich draws nothing on a dumb one, as CI's is
    ours, terminal = os.openpty()
    try:
        with os.fdopen(terminal, "w") as file:
            console = Console(file=file, force_terminal=True)
            live = LiveProgress(console, Tally(planned=1))
            with live:
                drawn = os.read(ours, 4096)
                live.abandon()
                after = os.read(ours, 4096)
    finally:
        os.close(ours)
    assert b"\x1b[?25l" in drawn
    assert b"\x1b[?25h" in after
