"""One trial: harbor runs it, the parts report, and a record comes out. It never raises."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from harbor.models.trial.config import (
    EnvironmentConfig,
    TaskConfig,
    TrialConfig,
    VerifierConfig,
)
from harbor.models.trial.error_policy import ErrorPolicyOverride

from tbeval.agents.config import agent_config
from tbeval.agents.errors import ERROR_POLICY_OVERRIDES
from tbeval.models.gateway import Gateway, TrialUsage
from tbeval.models.watch import IdentityWatch
from tbeval.records.agent_report import AgentReport
from tbeval.records.ledger import TrialRecord
from tbeval.records.outcome import StopReason
from tbeval.records.verdict import VerifierReport, VerifierStatus
from tbeval.runs.execution import Execution
from tbeval.runs.logs import forget_loggers
from tbeval.runs.outcome import Decision, Evidence, Failure, decide
from tbeval.runs.plan import Cell, trial_id
from tbeval.runs.sandboxes import ENVIRONMENTS
from tbeval.settings.checkpoint import Checkpoint
from tbeval.settings.options import RunOptions
from tbeval.tasks.verifier import ERROR_POLICY

_log = logging.getLogger(__name__)

_VERIFIER = "tbeval.tasks.verifier:ReportVerifier"

#: What harbor is to make of the errors of our agents and our verifier.
_ERROR_POLICY = ERROR_POLICY_OVERRIDES | {
    name: ErrorPolicyOverride.model_validate(policy) for name, policy in ERROR_POLICY.items()
}

#: harbor's own limit on the verifier is a backstop above ours, which knows who is to blame.
_BACKSTOP_SEC = 120.0
_MESSAGE_CHARS = 2000


@dataclass(frozen=True)
class Model:
    """The served model as a run uses it: the gateway, what the probe found, and its watch."""

    gateway: Gateway
    served_model: str
    context_window: int
    watch: IdentityWatch


@dataclass(frozen=True)
class TrialRunner:
    """Runs trials of one run.

    Attributes:
        verifies_in_time: Tells whether this host has verified a task (by digest) within a limit
            (seconds) before.
        scrub: Replaces known secrets in a text.
    """

    run_id: str
    directory: Path
    checkpoint: Checkpoint
    options: RunOptions
    model: Model | None
    verifies_in_time: Callable[[str, float], bool] = lambda _digest, _limit: False
    scrub: Callable[[str], str] = lambda text: text

    def name_of(self, cell: Cell, try_number: int) -> str:
        """The id of a trial of this run."""
        return trial_id(cell, try_number, self.run_id)

    async def run(
        self, cell: Cell, try_number: int, on_phase: Callable[[str, str], None]
    ) -> TrialRecord:
        """Run one trial of a cell.

        Whatever goes wrong becomes an outcome; a cancelled trial is recorded as such, with its
        sandbox stopped.
        """
        name = self.name_of(cell, try_number)
        execution = Execution(
            name, self.directory, cell, lambda: self._config(cell, name), on_phase
        )
        try:
            await execution.run()
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            execution.cancelled = task is not None and task.cancelling() > 0
            if not execution.cancelled:  # nobody stopped the run: something inside cancelled itself
                execution.failure = Failure(type(error).__name__, "cancelled from within")
        except Exception as error:  # noqa: BLE001 - one trial's failure must not touch another's
            _log.exception("trial %s failed", name)
            execution.failure = execution.failure or Failure(type(error).__name__, str(error))
        usage = await self._close(name)
        await self._confirm(execution, usage)
        await self._look_back(execution)
        forget_loggers(name)
        return self._record(execution, try_number, usage)

    async def _close(self, name: str) -> TrialUsage:
        if self.model is None:
            return TrialUsage()
        try:
            usage = await self.model.gateway.close_trial(name)
        except KeyError:  # it failed before it was admitted
            return TrialUsage()
        if usage.record_failure:
            _log.warning("%s: the record of its model calls is cut: %s", name, usage.record_failure)
        return usage

    async def _confirm(self, execution: Execution, usage: TrialUsage) -> None:
        """Make sure that the model which answered was still the run's when the trial ended."""
        if self.model is None or not usage.calls or usage.endpoint_failure:
            return  # no model, or no verdict anyway
        watch = self.model.watch
        try:
            if not execution.cancelled:
                execution.unconfirmed = await watch.confirm(usage.replica, usage.last_call_ended)
                if not execution.unconfirmed and _may_hang(usage, execution.agent_report):
                    execution.unconfirmed = await self._ping(usage)
        except asyncio.CancelledError:
            execution.cancelled = True
        execution.model_changed = watch.change

    async def _look_back(self, execution: Execution) -> None:
        """Ask earlier ledgers, which may be large, beside the other trials; only if it matters."""
        report = execution.verifier_report
        if report is None or report.status is not VerifierStatus.TIMEOUT:
            return
        task = execution.cell.task
        limit = task.verifier_timeout_sec * self.options.time_multiplier
        try:
            execution.verifies_in_time = await asyncio.to_thread(
                self.verifies_in_time, task.digest, limit
            )
        except asyncio.CancelledError:
            execution.cancelled = True

    async def _ping(self, usage: TrialUsage) -> str:
        """What to say of an endpoint that let a trial's last call wait until its time was over."""
        assert self.model is not None  # noqa: S101 - for the type checker: there was a call
        problem = await self.model.gateway.ping(usage.replica)
        if not problem:
            return ""  # it is slow, and so is the model
        waited = f"{usage.unanswered_seconds:.0f} s, until the agent's time was over"
        return f"the endpoint answered nobody for {waited}, and does not now: {problem}"

    def _config(self, cell: Cell, name: str) -> TrialConfig:
        task, options = cell.task, self.options
        factor = options.time_multiplier
        verifier_limit = task.verifier_timeout_sec * factor
        return TrialConfig(
            task=TaskConfig(path=task.path),
            trial_name=name,
            trials_dir=self.directory / "trials",
            agent=agent_config(
                checkpoint=self.checkpoint,
                agent=options.agent,
                served_model=self.model.served_model if self.model else None,
                base_url=self._open_trial(cell, name),
                context_window=self.model.context_window if self.model else None,
                time_limit_sec=task.agent_timeout_sec * factor,
                turn_limit=options.turn_limit,
            ),
            environment=EnvironmentConfig(
                import_path=ENVIRONMENTS[options.sandbox], kwargs={"run_id": self.run_id}
            ),
            verifier=VerifierConfig(
                import_path=_VERIFIER,
                override_timeout_sec=verifier_limit + _BACKSTOP_SEC,
                kwargs={"time_limit_sec": verifier_limit},
            ),
            override_error_policy=_ERROR_POLICY,
        )

    def _open_trial(self, cell: Cell, name: str) -> str | None:
        model = self.model
        if model is None:
            return None
        return model.gateway.open_trial(
            name, task=cell.task.id, attempt=cell.attempt, budget=self.checkpoint.budget
        )

    def _record(self, execution: Execution, try_number: int, usage: TrialUsage) -> TrialRecord:
        agent, verifier = execution.agent_report, execution.verifier_report
        sandbox = execution.sandbox_report
        cell = execution.cell
        decision = decide(
            Evidence(
                cancelled=execution.cancelled,
                created=execution.created,
                failure=execution.failure,
                endpoint_failure=(
                    usage.endpoint_failure or _silence(usage, agent) or execution.unconfirmed
                ),
                model_changed=execution.model_changed,
                agent=agent,
                verifier=verifier,
                sandbox=sandbox,
                verifies_in_time=execution.verifies_in_time,
            )
        )
        scored = decision.outcome.scored
        counts = (verifier or _NO_VERDICT).counts
        return TrialRecord(
            trial_id=execution.name,
            task=cell.task.id,
            attempt=cell.attempt,
            try_number=try_number,
            outcome=decision.outcome,
            error_class=decision.error_class,
            error_message=self._message(decision),
            score=counts.score if scored else None,
            solved=decision.outcome.value == "solved" if scored else None,
            solved_published=(verifier or _NO_VERDICT).solved_published if scored else None,
            tests=counts,
            stop_reason=agent.stop_reason if agent else None,
            turns=agent.turns if agent else 0,
            commands=agent.commands if agent else 0,
            model_calls=usage.calls,
            tokens_in=usage.tokens_in,
            tokens_out=usage.tokens_out,
            reasoning_tokens=usage.reasoning_tokens,
            reasoning_chars=usage.reasoning_chars,
            model_seconds=usage.model_seconds,
            paused_seconds=usage.paused_seconds,
            queue_seconds=usage.queue_seconds,
            phases=execution.clock.phases,
            limits=sandbox.limits if sandbox else (),
            limits_hit=sandbox.limits_hit if sandbox else (),
            task_digest=cell.task.digest,
            prompt_sha256=agent.prompt_sha256 if agent else "",
            replica=usage.replica,
        )

    def _message(self, decision: Decision) -> str:
        # What an error quotes may be half a surrogate pair, which no file takes.
        text = self.scrub(decision.error_message).encode(errors="backslashreplace").decode()
        return text if len(text) <= _MESSAGE_CHARS else text[:_MESSAGE_CHARS] + " …"


def _silence(usage: TrialUsage, agent: AgentReport | None) -> str:
    """What to say of an endpoint that took calls and answered none until the time was over.

    A server that hangs looks like a slow model; but a trial in which the model never said a word
    says nothing about it.
    """
    timed_out = agent is not None and agent.stop_reason is StopReason.TIME_LIMIT
    if not timed_out or not usage.calls or usage.finish_reasons or usage.bad_requests:
        return ""
    return "the endpoint took the agent's first call and did not answer it in all of its time"


def _may_hang(usage: TrialUsage, agent: AgentReport | None) -> bool:
    """Whether time ran out while a call waited, and nobody had been answered for long."""
    timed_out = agent is not None and agent.stop_reason is StopReason.TIME_LIMIT
    return timed_out and usage.unanswered_seconds > 0


_NO_VERDICT = VerifierReport.model_validate({"status": "no report"})
