"""How a trial came out, and why its agent stopped."""

from enum import StrEnum


class Outcome(StrEnum):
    """The result of one trial: a verdict, or the reason why there is none.

    A verdict is `solved` or `unsolved`. Everything else is unscored: it says nothing about the
    model and is never counted as zero in `pass_at`.
    """

    SOLVED = "solved"
    UNSOLVED = "unsolved"
    SANDBOX = "unscored:sandbox"
    MODEL_ENDPOINT = "unscored:model-endpoint"
    AGENT_SETUP = "unscored:agent-setup"
    VERIFIER = "unscored:verifier"
    TASK = "unscored:task"
    CANCELLED = "unscored:cancelled"
    HARNESS = "unscored:harness"

    @property
    def scored(self) -> bool:
        """Whether this is a verdict about the model."""
        return self in {Outcome.SOLVED, Outcome.UNSOLVED}

    @property
    def reason(self) -> str:
        """The part after `unscored:`; empty for a verdict."""
        return self.partition(":")[2]

    @property
    def retried(self) -> bool:
        """Whether a cell with this outcome may be tried again."""
        return not self.scored and self is not Outcome.TASK


class StopReason(StrEnum):
    """Why the agent stopped. None of these is a verdict: the verifier decides."""

    FINISHED = "finished"
    TURN_LIMIT = "turn limit"
    TIME_LIMIT = "time limit"
    CONTEXT_LIMIT = "context limit"
    OUTPUT_LIMIT = "output limit"
    CALL_LIMIT = "call limit"
    TOKEN_LIMIT = "token limit"  # noqa: S105 - a reason, not a password
    PARSE_ERRORS = "parse errors"
    UNPARSED_CALL = "unparsed call"
    BAD_REQUEST = "bad request"  # the server refused a call, and not for its length
    ENDPOINT_DOWN = "endpoint down"
    SANDBOX_DIED = "sandbox died"
    CANCELLED = "cancelled"
    CRASHED = "crashed"
