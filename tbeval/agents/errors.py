"""Errors of ours that end an agent, and what harbor does after each.

harbor treats an exception by the name of its class, and an unknown one as a valid result of the
model. So whatever ends an agent gets a class of ours, with its own line in
`ERROR_POLICY_OVERRIDES`; harbor's own AgentTimeoutError, ContextLengthExceededError and
OutputLengthExceededError are raised as they are, since harbor knows them (graded, valid).
"""

from harbor.llms.base import ContextLengthExceededError, OutputLengthExceededError
from harbor.models.trial.error_policy import ErrorPolicyOverride
from harbor.trial.errors import AgentTimeoutError

from tbeval.models.markers import BudgetHit
from tbeval.records.outcome import StopReason
from tbeval.records.sandbox import SandboxDiedError


class AgentError(Exception):
    """What ended an agent; `stop_reason` says what that means."""

    stop_reason = StopReason.CRASHED


class BudgetSpentError(AgentError):
    """The trial has used up what it may ask of the model; `which` says which part."""

    def __init__(self, which: BudgetHit) -> None:
        super().__init__(f"The trial's budget of {which} is spent.")
        self.which = which
        calls = which == "calls"
        self.stop_reason = StopReason.CALL_LIMIT if calls else StopReason.TOKEN_LIMIT


class CallsRefusedError(AgentError):
    """The gateway refuses this trial's calls: its time is over."""

    stop_reason = StopReason.TIME_LIMIT


class BadRequestError(AgentError):
    """The server refused a call for another reason than its length, after it had taken others.

    The conversation is the model's own work by then, so the verifier gives the verdict.
    """

    stop_reason = StopReason.BAD_REQUEST


class EndpointDownError(AgentError):
    """The model's endpoint failed, or answered what is no answer."""

    stop_reason = StopReason.ENDPOINT_DOWN


class SandboxLostError(AgentError):
    """The sandbox died under the agent."""

    stop_reason = StopReason.SANDBOX_DIED


class TerminalLostError(AgentError):
    """The agent's terminal is gone while the sandbox lives: what ran in it ended it.

    An end like any other, as the shell's `exit` is; it never leaves the agent.
    """

    stop_reason = StopReason.FINISHED


class AgentSetupError(AgentError):
    """The sandbox lacks what the agent needs."""


class AgentCrashedError(AgentError):
    """The agent's own code failed: our fault, never the model's."""


class StrayTimeoutError(AgentCrashedError):
    """A TimeoutError that is not the agent's time limit, in clothes that harbor cannot mistake."""


def stop_reason_of(error: BaseException) -> StopReason:
    """Why an agent that ended with `error` stopped."""
    match error:
        case AgentError():
            return error.stop_reason
        case AgentTimeoutError():
            return StopReason.TIME_LIMIT
        case ContextLengthExceededError():
            return StopReason.CONTEXT_LIMIT
        case OutputLengthExceededError():
            return StopReason.OUTPUT_LIMIT
        case SandboxDiedError():
            return StopReason.SANDBOX_DIED
        case _:
            return StopReason.CRASHED


def as_ours(error: BaseException) -> Exception:
    """The exception that leaves the agent when its code raised `error`."""
    match error:
        case AgentError() | ContextLengthExceededError() | OutputLengthExceededError():
            return error
        case SandboxDiedError():
            ours: AgentError = SandboxLostError(str(error) or "The sandbox died.")
        case TimeoutError():
            ours = StrayTimeoutError(_sentence("A time-out inside the agent", error))
        case _:
            ours = AgentCrashedError(_sentence("The agent failed", error))
    ours.__cause__ = error
    return ours


def _sentence(what: str, error: BaseException) -> str:
    return f"{what}: {type(error).__name__}: {error}"


def _policy(*, graded: bool) -> ErrorPolicyOverride:
    # Retries are the run's; a reward is valid exactly where the verifier was asked.
    return ErrorPolicyOverride(should_retry=False, should_grade=graded, has_valid_reward=graded)


#: For harbor's `TrialConfig.override_error_policy`. Graded is what the model brought about.
#: A dead endpoint is not: the trial is `unscored:model-endpoint` whatever the verifier would say
#: and runs again, and a verifier more is load on a host in trouble. The same holds for a dead
#: sandbox and for crashes of ours.
ERROR_POLICY_OVERRIDES: dict[str, ErrorPolicyOverride] = {
    error.__name__: _policy(graded=graded)
    for error, graded in (
        (BudgetSpentError, True),
        (CallsRefusedError, True),
        (BadRequestError, True),
        (EndpointDownError, False),
        (SandboxLostError, False),
        (AgentSetupError, False),
        (AgentCrashedError, False),
        (StrayTimeoutError, False),
    )
}
