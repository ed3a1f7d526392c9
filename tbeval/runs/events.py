"""What a run tells while it goes on: for progress on the screen and in logs."""

from typing import Protocol

from tbeval.records.ledger import TrialRecord


class RunListener(Protocol):
    """Something that follows a run. Its methods must not block and must not raise."""

    def trial_started(self, trial_id: str, task: str, attempt: int, try_number: int) -> None:
        """A trial began."""
        ...

    def trial_phase(self, trial_id: str, phase: str) -> None:
        """A trial entered a phase: sandbox, agent, verifier."""
        ...

    def trial_ended(self, record: TrialRecord) -> None:
        """A trial ended, and its record is on disk."""
        ...

    def note(self, sentence: str) -> None:
        """Something a person should know."""
        ...
