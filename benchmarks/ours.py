"""The work done by tbeval: what `tbeval eval` does between its options and its summary."""

import io
from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from benchmarks.work import CHECKPOINT, Work
from tbeval.records.ledger import TrialRecord
from tbeval.runs.asked import find
from tbeval.runs.finding import Request
from tbeval.runs.progress import PlainProgress, Tally
from tbeval.runs.session import evaluate
from tbeval.settings.checkpoint import Checkpoint
from tbeval.settings.options import Choices, resolve
from tbeval.settings.subsets import load_subset
from tbeval.tasks.load import load_tasks


def request_for(work: Work, base_url: str, results: Path) -> Request:
    """The work as `tbeval eval` takes it."""
    checkpoint = Checkpoint.model_validate(
        {"id": CHECKPOINT, "agent": work.agent}
        | ({"base_url": base_url, "served_model": "scripted"} if base_url else {})
    )
    choices = Choices(
        subset="bench",
        attempts=work.attempts,
        concurrency=work.concurrency,
        turn_limit=work.calls + 5,
    )
    options, _ = resolve(choices, checkpoint)
    subset = load_subset(str(work.directory / "bench.toml"))
    tasks = load_tasks(subset, select=work.tasks)
    return Request(checkpoint, options, subset, tasks, results)


async def run(work: Work, base_url: str, results: Path, ended: Callable[[], None]) -> Path:
    """Do the work; returns where the trials' directories are."""

    class Listener(PlainProgress):
        def trial_ended(self, record: TrialRecord) -> None:
            super().trial_ended(record)
            ended()

    request = request_for(work, base_url, results)
    finding = find(request)
    with Listener(Console(file=io.StringIO()), Tally(finding.run.planned)) as listener:
        return await evaluate(request, finding, listener) / "trials"
