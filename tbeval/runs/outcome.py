"""From what the parts of a trial reported to its outcome: one pure decision."""

from dataclasses import dataclass

from tbeval.records.agent_report import AgentReport
from tbeval.records.outcome import Outcome, StopReason
from tbeval.records.sandbox import SandboxDeath, SandboxReport
from tbeval.records.verdict import VerifierReport, VerifierStatus

#: Errors of the sandbox's start that say that the task is broken, not the host.
_TASK_ERRORS = frozenset({"TaskSetupError", "UnsupportedTaskError"})

#: Errors of this machine while harbor builds a trial; any other there is the task's.
_HOST_ERRORS = frozenset({"OSError", "PermissionError", "FileExistsError", "MemoryError"})


@dataclass(frozen=True)
class Failure:
    """An exception, by the name of its class and its message."""

    error_class: str
    message: str


@dataclass(frozen=True)
class Evidence:
    """All that is known about a trial when it ended.

    Attributes:
        cancelled: The run was interrupted while the trial ran.
        model_changed: What the endpoint serves now in place of the run's model; empty if nothing.
        created: harbor accepted the task and built the trial's parts.
        failure: The first exception that harbor recorded, if any.
        endpoint_failure: What the gateway could not wait out; empty if nothing.
        agent: None if the agent never started.
        verifier: None if the verifier never ran.
        sandbox: None if the sandbox never came to be.
        verifies_in_time: Whether this host has verified this task within its limit before; matters
            only when the verifier ran out of time.
    """

    cancelled: bool = False
    created: bool = True
    failure: Failure | None = None
    model_changed: str = ""
    endpoint_failure: str = ""
    agent: AgentReport | None = None
    verifier: VerifierReport | None = None
    sandbox: SandboxReport | None = None
    verifies_in_time: bool = False


@dataclass(frozen=True)
class Decision:
    """An outcome and why."""

    outcome: Outcome
    error_class: str = ""
    error_message: str = ""


def decide(evidence: Evidence) -> Decision:
    """The outcome of a trial.

    Infrastructure comes first: what failed there says nothing about the model, whatever the
    verifier made of it. A trial that broke its own sandbox, or its own verification, gets a
    verdict; otherwise crashing would pay.
    """
    if evidence.model_changed:
        return Decision(Outcome.CANCELLED, "ModelChanged", evidence.model_changed)
    if evidence.cancelled:
        return Decision(Outcome.CANCELLED, "Cancelled", "the run was interrupted")
    return (
        _before_the_agent(evidence)
        or _endpoint(evidence)
        or _sandbox(evidence)
        or _agent(evidence)
        or _verdict(evidence)
    )


def _before_the_agent(evidence: Evidence) -> Decision | None:
    if evidence.agent is not None:
        return None
    failure = evidence.failure or Failure("NoAgentReport", "the agent left no report")
    if not evidence.created and failure.error_class in _HOST_ERRORS:
        return _decision(Outcome.HARNESS, failure)
    if not evidence.created or failure.error_class in _TASK_ERRORS:
        return _decision(Outcome.TASK, failure)
    if evidence.sandbox is None or evidence.sandbox.death is not None:
        return _decision(Outcome.SANDBOX, failure)
    if failure.error_class.startswith("Sandbox") or "Environment" in failure.error_class:
        return _decision(Outcome.SANDBOX, failure)
    return _decision(Outcome.AGENT_SETUP, failure)


def _endpoint(evidence: Evidence) -> Decision | None:
    if not evidence.endpoint_failure:
        return None
    return Decision(Outcome.MODEL_ENDPOINT, "EndpointFailure", evidence.endpoint_failure)


def _sandbox(evidence: Evidence) -> Decision | None:
    report = evidence.sandbox
    if report is None or report.death is None:
        return None
    if evidence.verifier is not None and evidence.verifier.status is VerifierStatus.OK:
        return None  # it died after the tests had reported
    if report.death is SandboxDeath.TRIAL:
        return Decision(Outcome.UNSOLVED, "SandboxBroken", report.message)
    return Decision(Outcome.SANDBOX, "SandboxDied", report.message)


def _agent(evidence: Evidence) -> Decision | None:
    report = evidence.agent
    if report is None or report.stop_reason is not StopReason.CRASHED:
        return None
    return Decision(Outcome.HARNESS, report.error_class, report.error_message)


def _verdict(evidence: Evidence) -> Decision:
    report = evidence.verifier
    if report is None:
        failure = evidence.failure or Failure("NoVerifierReport", "the verifier left no report")
        return _decision(Outcome.HARNESS, failure)
    match report.status:
        case VerifierStatus.OK:
            outcome = Outcome.SOLVED if report.counts.solved else Outcome.UNSOLVED
            return Decision(outcome)
        case VerifierStatus.KILLED:
            return Decision(Outcome.UNSOLVED, "VerifierKilled", report.message)
        case VerifierStatus.TIMEOUT if evidence.verifies_in_time:
            return Decision(Outcome.UNSOLVED, "VerifierTimeout", report.message)
        case VerifierStatus.SANDBOX:
            return Decision(Outcome.SANDBOX, "SandboxDied", report.message)
        case _:
            name = "Verifier" + report.status.value.title().replace(" ", "")
            return Decision(Outcome.VERIFIER, name, report.message)


def _decision(outcome: Outcome, failure: Failure) -> Decision:
    return Decision(outcome, failure.error_class, failure.message)
