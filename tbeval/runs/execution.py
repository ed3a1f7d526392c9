"""harbor's side of a trial: it runs, and its parts report."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from harbor.models.trial.config import TrialConfig
from harbor.models.trial.result import TrialResult
from harbor.trial.hooks import TrialEvent, TrialHookEvent
from harbor.trial.trial import Trial

from tbeval.records.agent_report import AgentReport
from tbeval.records.sandbox import ReportsSandbox, SandboxReport
from tbeval.records.verdict import VerifierReport, VerifierStatus
from tbeval.runs.harbor_trial import create_trial
from tbeval.runs.outcome import Failure
from tbeval.runs.phases import PhaseClock
from tbeval.runs.plan import Cell

_PHASE_OF_EVENT = {
    TrialEvent.ENVIRONMENT_START: "sandbox",
    TrialEvent.AGENT_START: "agent",
    TrialEvent.AGENT_END: "collect",
    TrialEvent.VERIFICATION_START: "verifier",
}


@dataclass
class Execution:
    """One trial while harbor runs it, and what is known of it.

    Attributes:
        directory: The run's.
        make_config: Says what harbor is to do. It is called once, when the trial begins.
        created: Whether harbor took the trial.
        cancelled: Whether somebody stopped the run.
        model_changed: What the endpoint serves now, if it is not what the run began with.
        unconfirmed: Why it is not certain that it serves what the run began with.
        verifies_in_time: Whether this host has verified the task in time before.
    """

    name: str
    directory: Path
    cell: Cell
    make_config: Callable[[], TrialConfig]
    on_phase: Callable[[str, str], None]
    clock: PhaseClock = field(init=False)
    trial: Trial | None = None
    created: bool = False
    cancelled: bool = False
    model_changed: str = ""
    unconfirmed: str = ""
    verifies_in_time: bool = False
    failure: Failure | None = None
    result: TrialResult | None = None

    def __post_init__(self) -> None:
        self.clock = PhaseClock(lambda phase: self.on_phase(self.name, phase))

    async def run(self) -> None:
        """Run it. Whatever harbor makes of a failure inside, `failure` has it afterwards.

        Raises:
            Exception: harbor refused the trial, or itself failed.
        """
        self.clock.enter("sandbox")
        try:
            if (self.directory / "trials" / self.name).exists():
                raise FileExistsError(f"the trial directory {self.name} exists already")
            self.trial = await create_trial(self.make_config())
            self.created = True
            for event in TrialEvent:
                self.trial.add_hook(event, self._on_event)
            await self.trial.run()
        finally:
            self.clock.leave()
            if self.trial is not None:
                self._collect(self.trial)

    async def _on_event(self, event: TrialHookEvent) -> None:
        if phase := _PHASE_OF_EVENT.get(event.event):
            self.clock.enter(phase)

    def _collect(self, trial: Trial) -> None:
        self.result = trial._result  # noqa: SLF001 - the property raises where run() never began
        if self.result is not None and self.result.exception_info is not None:
            info = self.result.exception_info
            self.failure = Failure(info.exception_type, info.exception_message)

    @property
    def agent_report(self) -> AgentReport | None:
        """What the agent says of its end."""
        context = self.result.agent_result if self.result is not None else None
        return AgentReport.from_metadata(context.metadata) if context is not None else None

    @property
    def verifier_report(self) -> VerifierReport | None:
        """What the verifier found; None if it never began or left nothing."""
        if self.result is None or self.result.verifier is None:
            return None  # the verifier never began: a file there would not be ours
        path = self.directory / "trials" / self.name / "verifier" / "tests.json"
        try:
            return VerifierReport.model_validate_json(path.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:  # not ours: a directory, or no report
            return VerifierReport(status=VerifierStatus.CRASHED, message=f"{path.name}: {error}")

    @property
    def sandbox_report(self) -> SandboxReport | None:
        """How the sandbox fared."""
        environment = getattr(self.trial, "agent_environment", None)
        return environment.sandbox_report() if isinstance(environment, ReportsSandbox) else None
