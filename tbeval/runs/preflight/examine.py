"""All checks in order: the machine, its sandboxes, the model."""

from collections.abc import Callable
from contextlib import AsyncExitStack

from tbeval.models.endpoint import EndpointError
from tbeval.records.ledger import TrialRecord
from tbeval.records.scratch import scratch_directory
from tbeval.runs.events import RunListener
from tbeval.runs.preflight.finding import Finding, Served, Subject, found
from tbeval.runs.preflight.machine import MACHINE_CHECKS
from tbeval.runs.preflight.model import AGENT_CHECKS, MODEL_CHECKS
from tbeval.runs.preflight.sandbox import SANDBOX_CHECKS
from tbeval.runs.serving import serving_replicas
from tbeval.settings.base import SettingsError
from tbeval.settings.checkpoint import Checkpoint

Report = Callable[[Finding], None]


async def examine(subject: Subject, report: Report) -> None:
    """Look at everything; each finding is reported as soon as it is there.

    Raises:
        SettingsError: There is no such kind of sandbox.
    """
    kind = subject.options.sandbox
    if kind not in SANDBOX_CHECKS:
        raise SettingsError(f"--sandbox {kind} is none: take {' or '.join(SANDBOX_CHECKS)}.")
    for check in (*MACHINE_CHECKS, *SANDBOX_CHECKS[kind]):
        report(await found(check.name, check.look(subject)))
    checkpoint = subject.checkpoint
    if checkpoint is None:
        return
    asks = checkpoint.model_copy(update={"agent": subject.options.agent})
    if asks.needs_model:
        await _examine_model(subject, checkpoint, report)


async def _examine_model(subject: Subject, checkpoint: Checkpoint, report: Report) -> None:
    async with AsyncExitStack() as stack:
        scratch = stack.enter_context(scratch_directory())
        log = scratch / "server.log"
        try:
            replicas = serving_replicas(checkpoint, log, _Silent())
            model = await stack.enter_async_context(replicas)
        except (EndpointError, SettingsError) as error:
            report(Finding("endpoint", "failure", str(error)))
            return
        served = Served(model.endpoints, model.identity)
        for check in (*MODEL_CHECKS, *AGENT_CHECKS.get(subject.options.agent, ())):
            report(await found(check.name, check.look(subject, served)))


async def before_run(subject: Subject, listener: RunListener) -> None:
    """What is quick, at the start of a run: warnings become notes, a failure refuses the run.

    The run itself starts a sandbox and asks the endpoint what it serves before its first trial.

    Raises:
        SettingsError: A check failed.
    """
    for check in MACHINE_CHECKS:
        finding = await found(check.name, check.look(subject))
        if finding.status == "ok":
            continue
        sentence = f"{finding.name}: {finding.what}"
        if finding.advice:
            sentence += f": {finding.advice}"
        if finding.status == "failure":
            raise SettingsError(f"{sentence} (--no-preflight runs all the same).")
        listener.note(f"warning: {sentence}")


class _Silent:
    """Listens to nothing: what the endpoint's start has to say stands in the findings."""

    def trial_started(self, trial_id: str, task: str, attempt: int, try_number: int) -> None:
        """No trial runs."""

    def trial_phase(self, trial_id: str, phase: str) -> None:
        """No trial runs."""

    def trial_ended(self, record: TrialRecord) -> None:
        """No trial runs."""

    def note(self, sentence: str) -> None:
        """Say nothing."""
