"""Runs that nobody ran, for tests of what reads them."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tbeval.records.ledger import LedgerWriter, Phase, TrialRecord
from tbeval.records.outcome import Outcome
from tbeval.records.run import LEDGER_FILE, RunRecord, RunTask, fingerprint, write_run
from tbeval.records.verdict import TestCounts
from tbeval.tasks.load import TaskInfo

BEGAN = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def make_run(tasks: list[str], attempts: int, **changes: Any) -> RunRecord:
    fields: dict[str, Any] = {
        "run_id": "20260301-120000-abc",
        "created": BEGAN,
        "checkpoint": "iter335",
        "subset": "demo",
        "agent": "terminus-2",
        "protocol": "terminus-2/json",
        "attempts": attempts,
        "sandbox": "bubblewrap",
        "turn_limit": 50,
        "time_multiplier": 1.0,
        "concurrency": 4,
        "tasks": tuple(
            RunTask(id=task, digest="d", agent_timeout_sec=60, verifier_timeout_sec=60)
            for task in tasks
        ),
    }
    fields |= changes
    fields.setdefault("fingerprint", fingerprint(fields.get("scoring", {}), fields["tasks"]))
    return RunRecord(**fields)


def make_task(name: str, seconds: float = 60) -> TaskInfo:
    return TaskInfo(
        id=name,
        path=Path(name),
        digest="d",
        instruction="",
        agent_timeout_sec=seconds,
        verifier_timeout_sec=60,
    )


def make_trial(
    task: str,
    attempt: int,
    outcome: Outcome | str,
    *,
    passed: int = 0,
    total: int = 4,
    number: int = 1,
    span: tuple[float, float] | None = None,
    **fields: Any,
) -> TrialRecord:
    """A trial; `span` is when it ran, in seconds after `BEGAN`."""
    outcome = Outcome(outcome)
    if outcome is Outcome.SOLVED:
        passed = total
    if outcome.scored:
        fields |= {
            "score": passed / total,
            "solved": outcome is Outcome.SOLVED,
            "tests": TestCounts(passed=passed, failed=total - passed, total=total),
        }
    if span is not None:
        began, ended = (BEGAN + timedelta(seconds=second) for second in span)
        fields["phases"] = (
            Phase(name="agent", began=began, ended=ended, seconds=span[1] - span[0]),
        )
    return TrialRecord.model_validate(
        {
            "trial_id": f"{task}.{attempt}.{number}-20260301-120000-abc",
            "task": task,
            "attempt": attempt,
            "try": number,
            "outcome": outcome,
            **fields,
        }
    )


def write_made_up(results: Path, run: RunRecord, trials: list[TrialRecord]) -> Path:
    """Write a run as `tbeval eval` would; its directory."""
    directory = results / run.checkpoint / run.run_id
    directory.mkdir(parents=True)
    write_run(directory, run)
    with LedgerWriter(directory / LEDGER_FILE) as ledger:
        for trial in trials:
            ledger.append(trial)
    return directory
