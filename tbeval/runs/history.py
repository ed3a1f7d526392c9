"""What earlier runs on this host tell about a task."""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from tbeval.records.ledger import LedgerError, TrialRecord, read_ledger
from tbeval.records.run import LEDGER_FILE


def verified_before(results_dir: Path, digest: str, limit_sec: float) -> bool:
    """Whether a task, as it is now, has been verified within a limit (seconds) on this host.

    Any verdict of its tests says so, the oracle's best: then a verifier that runs out of time was
    slowed down by what the agent left, and that is the agent's doing. A verifier that did not come
    to its end (an error class stands beside the verdict, or there is none) says nothing, however
    many tests it had collected: else the second try would take the first one's time-out for proof.
    """
    return any(
        record.task_digest == digest
        and record.outcome.scored
        and not record.error_class
        and _verified_in(record) <= limit_sec
        for record in _records(results_dir, "*")
    )


def _verified_in(record: TrialRecord) -> float:
    return sum(phase.seconds for phase in record.phases if phase.name == "verifier")


def expected_seconds(results_dir: Path, checkpoint: str) -> dict[str, float]:
    """Task id -> the median duration of its scored trials, seconds.

    The checkpoint's own trials count where there are any, else those of all agents that asked a
    model: the oracle's say little about how long a model takes.
    """
    own, others = defaultdict[str, list[float]](list), defaultdict[str, list[float]](list)
    for durations, pattern in ((others, "*"), (own, checkpoint)):
        for record in _records(results_dir, pattern):
            if record.outcome.scored and (record.model_calls or durations is own):
                durations[record.task].append(sum(phase.seconds for phase in record.phases))
    return {task: median(own.get(task) or times) for task, times in (others | own).items()}


def _records(results_dir: Path, checkpoint: str) -> Iterator[TrialRecord]:
    for path in results_dir.glob(f"{checkpoint}/*/{LEDGER_FILE}"):
        try:
            yield from read_ledger(path).records
        except LedgerError:
            continue  # that run's own commands will say so; here it is no evidence
