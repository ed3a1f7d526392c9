"""What the agent's base tells about the agent's end, through harbor's `AgentContext.metadata`."""

from typing import Any

from tbeval.records.base import Record
from tbeval.records.outcome import StopReason

METADATA_KEY = "tbeval"


class AgentReport(Record):
    """Why and when the agent stopped.

    `seconds` is what the agent's clock counted: wall time from the start of its run, less
    `paused_seconds`, during which the model's endpoint was down.
    """

    stop_reason: StopReason
    turns: int = 0
    seconds: float = 0.0
    paused_seconds: float = 0.0
    time_limit_sec: float | None = None
    abandoned: bool = False  # it swallowed its cancellation and was left behind
    error_class: str = ""
    error_message: str = ""
    commands: int = 0  # shell commands or keystroke batches that reached the sandbox
    prompt_sha256: str = ""  # of the first prompt as sent

    def as_metadata(self) -> dict[str, Any]:
        """The report as harbor stores it."""
        return {METADATA_KEY: self.model_dump(mode="json")}

    @classmethod
    def from_metadata(cls, metadata: dict[str, Any] | None) -> "AgentReport | None":
        """The report in harbor's metadata, or None if the agent never got so far."""
        found = (metadata or {}).get(METADATA_KEY)
        return cls.model_validate(found) if found is not None else None
