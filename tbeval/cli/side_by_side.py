"""Several checkpoints at once: a `tbeval eval` for each endpoint, all lines on one screen."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field

import rich_click as click
from click.core import ParameterSource

from tbeval.settings.checkpoint import Checkpoint

INTERRUPTED = 130


def groups_of(checkpoints: Sequence[Checkpoint]) -> list[list[str]]:
    """The ids of checkpoints, those that share an endpoint together: they go one after the other.

    An embedded checkpoint has a server of its own, and one without a model has none.
    """
    groups: list[tuple[set[str], list[str]]] = []
    for checkpoint in checkpoints:
        urls = set(checkpoint.base_urls)
        ids = [checkpoint.id]
        for group in [group for group in groups if group[0] & urls]:
            groups.remove(group)
            urls, ids = urls | group[0], [*group[1], *ids]
        groups.append((urls, ids))
    return [ids for _, ids in groups]


def given_options(context: click.Context) -> list[str]:
    """The options of this command line but for those that are about several checkpoints."""
    words: list[str] = []
    for parameter in context.command.params:
        name = parameter.name or ""
        said = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if not said or name in {"checkpoints", "side_by_side", "concurrency"}:
            continue
        value, flag = context.params[name], parameter.opts[-1]
        if isinstance(value, bool):
            words += [flag] if value else []
            continue
        values = value if isinstance(value, tuple) else (value,)
        words += [f"{flag}={each}" for each in values]
    return words


@dataclass
class SideBySide:
    """Runs groups of checkpoints beside each other.

    Attributes:
        options: For each `tbeval eval`.
        running: What runs now.
        interrupted: Whether nothing more is to be started.
    """

    options: Sequence[str]
    running: set["subprocess.Popen[str]"] = field(default_factory=set)
    interrupted: bool = False
    _printing: threading.Lock = field(default_factory=threading.Lock)

    def run(self, groups: Sequence[Sequence[str]]) -> int:
        """Run them all; returns the worst exit code."""
        with self._passing_signals_on(), ThreadPoolExecutor(len(groups)) as pool:
            return max(pool.map(self._group, groups))

    def _group(self, ids: Sequence[str]) -> int:
        worst = 0
        for checkpoint in ids:
            if self.interrupted:
                return INTERRUPTED
            worst = max(worst, self._one(checkpoint))
        return worst

    def _one(self, checkpoint: str) -> int:
        code = "from tbeval.cli.main import main; main()"
        line = [sys.executable, "-c", code, "eval", checkpoint, *self.options]
        with subprocess.Popen(
            line,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="backslashreplace",
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        ) as process:
            self.running.add(process)
            assert process.stdout is not None  # noqa: S101 - for the type checker: it is a pipe
            for said in process.stdout:
                with self._printing:
                    click.echo(f"[{checkpoint}] {said.rstrip()}")
        self.running.discard(process)
        return process.returncode if process.returncode >= 0 else INTERRUPTED

    @contextmanager
    def _passing_signals_on(self) -> Iterator[None]:
        """A terminal's Ctrl-C reaches the children by itself; other signals are passed on."""

        def interrupt(number: int, _frame: object) -> None:
            self.interrupted = True
            for process in tuple(self.running) if number != signal.SIGINT else ():
                process.send_signal(number)

        signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        before = {number: signal.signal(number, interrupt) for number in signals}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
