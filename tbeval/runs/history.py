"""What earlier runs on this host tell about a task."""

from pathlib import Path

from tbeval.records.ledger import LedgerError, read_ledger
from tbeval.records.run import LEDGER_FILE


def verified_before(results_dir: Path, digest: str) -> bool:
    """Whether a task, as it is now, has been verified within its limit on this host.

    Any verdict says so, the oracle's best: then a verifier that runs out of time was slowed down
    by what the agent left, and that is the agent's doing.
    """
    for path in results_dir.glob(f"*/*/{LEDGER_FILE}"):
        try:
            records = read_ledger(path).records
        except LedgerError:
            continue  # that run's own commands will say so; here it is no evidence
        if any(record.task_digest == digest and record.tests.total for record in records):
            return True
    return False
