"""What all agents have in common: the clock, the end, and the report about it."""

import asyncio
import contextlib
from dataclasses import dataclass
from typing import Any, override

from harbor.agents.base import BaseAgent
from harbor.environments.base import BaseEnvironment
from harbor.models.agent.context import AgentContext
from harbor.trial.errors import AgentTimeoutError

from tbeval.agents.clock import AgentClock
from tbeval.agents.errors import TerminalLostError, as_ours, stop_reason_of
from tbeval.records.agent_report import AgentReport
from tbeval.records.outcome import StopReason

#: An agent that has not ended so long after its cancellation is left behind.
CANCEL_GRACE_SEC = 5.0

#: Ending what the agent left in the foreground may take so long, on a busy host.
_TIDY_LIMIT_SEC = 15.0

_MESSAGE_LIMIT = 2000


@dataclass(frozen=True)
class Progress:
    """How far an agent has come."""

    turns: int = 0
    commands: int = 0
    prompt_sha256: str = ""


class TimedAgent(BaseAgent):
    """The base of our agents, to stand before harbor's own class among the bases.

    It runs `run_agent` as a task of its own and ends it at the time limit. harbor's limit cannot
    pause, does not end an agent that swallows its cancellation, and takes any TimeoutError for
    the agent's; so harbor's is a backstop far above this one.

    Args:
        time_limit_sec: Seconds on the agent's clock.
        turn_limit: Calls of the model that the agent may answer with commands.
        clock_url: See `AgentClock`.
        **kwargs: For harbor's class.
    """

    def __init__(
        self,
        *args: Any,
        time_limit_sec: float,
        turn_limit: int,
        clock_url: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.time_limit_sec = time_limit_sec
        self.turn_limit = turn_limit
        self._clock_url = clock_url
        self._left_behind: set[asyncio.Task[None]] = set()

    async def run_agent(
        self, instruction: str, environment: BaseEnvironment, context: AgentContext
    ) -> None:
        """The agent itself: harbor's class. `context` is the agent's own; `run` copies it."""
        await super().run(instruction, environment, context)

    def progress(self) -> Progress:
        """How far the agent has come; asked once, at its end."""
        return Progress()

    def stop_reason(self) -> StopReason:
        """Why an agent stopped that ended without an error."""
        return StopReason.FINISHED

    async def end_foreground(self, environment: BaseEnvironment) -> None:
        """End the agent's foreground commands and panes; what it left in the background lives."""

    @override
    async def set_web_tools_disabled(self, disabled: bool, environment: BaseEnvironment) -> None:
        """None of our agents has web tools; harbor logs an error where it finds none to disable."""

    @override
    async def run(
        self, instruction: str, environment: BaseEnvironment, context: AgentContext
    ) -> None:
        """Run the agent until it ends or its time is over.

        Raises:
            AgentTimeoutError: The time limit, and nothing else.
            AgentError: See `tbeval.agents.errors`.
            ContextLengthExceededError: The conversation outgrew the model's window.
            OutputLengthExceededError: The model's replies were cut off again and again.
        """
        clock = AgentClock(self.time_limit_sec, self._clock_url)
        await clock.start()
        own = AgentContext()
        agent = asyncio.create_task(self.run_agent(instruction, environment, own))
        error: BaseException | None = None
        try:
            error = await self._end_of(agent, clock)
        except BaseException as raised:
            error = raised
            raise
        finally:
            try:
                await self._finish(agent, environment, clock)
            finally:
                self._tell(context, own, clock, error, abandoned=not agent.done())
        if error is not None and not isinstance(error, TerminalLostError):
            raise error

    async def _end_of(self, agent: asyncio.Task[None], clock: AgentClock) -> Exception | None:
        """Wait for the agent or its limit; the error that ends it, or None."""
        limit = asyncio.create_task(clock.run_out())
        try:
            await asyncio.wait({agent, limit}, return_when=asyncio.FIRST_COMPLETED)
            if not agent.done():
                limit.result()
                await clock.refuse_calls()
                over: Exception = AgentTimeoutError(
                    f"The agent's time limit of {self.time_limit_sec:g} s is over."
                )
                return over
        finally:
            limit.cancel()
        if agent.cancelled():
            return as_ours(RuntimeError("cancelled from within"))
        error = agent.exception()
        return as_ours(error) if error is not None else None

    async def _finish(
        self, agent: asyncio.Task[None], environment: BaseEnvironment, clock: AgentClock
    ) -> None:
        agent.cancel()  # does nothing to one that has ended
        await clock.stop()
        tidy = asyncio.create_task(self._tidy(environment))
        try:
            await asyncio.wait({agent}, timeout=CANCEL_GRACE_SEC)
            await tidy
        finally:
            tidy.cancel()
            self._let_go(agent)

    def _let_go(self, agent: asyncio.Task[None]) -> None:
        if not agent.done():
            self._left_behind.add(agent)
            agent.add_done_callback(self._forget)
            self.logger.warning("The agent swallowed its cancellation; it is left behind.")
        elif not agent.cancelled():
            agent.exception()  # told already, or raised on the way out

    async def _tidy(self, environment: BaseEnvironment) -> None:
        """The verdict does not wait for a sandbox that is broken."""
        try:
            async with asyncio.timeout(_TIDY_LIMIT_SEC):
                await self.end_foreground(environment)
        except Exception as error:  # noqa: BLE001 - whatever the environment raises
            self.logger.warning("The agent's foreground could not be ended: %r", error)

    def _forget(self, agent: asyncio.Task[None]) -> None:
        self._left_behind.discard(agent)
        with contextlib.suppress(asyncio.CancelledError):
            agent.exception()  # retrieved, so that asyncio does not complain

    def _tell(
        self,
        context: AgentContext,
        own: AgentContext,
        clock: AgentClock,
        error: BaseException | None,
        *,
        abandoned: bool,
    ) -> None:
        cancelled = isinstance(error, asyncio.CancelledError)
        reason = self.stop_reason() if error is None else stop_reason_of(error)
        progress = self.progress()
        report = AgentReport(
            stop_reason=StopReason.CANCELLED if cancelled else reason,
            turns=progress.turns,
            seconds=clock.seconds,
            paused_seconds=clock.paused_seconds,
            time_limit_sec=self.time_limit_sec,
            abandoned=abandoned,
            error_class=type(error).__name__ if error is not None else "",
            error_message=str(error)[:_MESSAGE_LIMIT] if error is not None else "",
            commands=progress.commands,
            prompt_sha256=progress.prompt_sha256,
        )
        for name in AgentContext.model_fields:
            setattr(context, name, getattr(own, name))
        context.metadata = {**(own.metadata or {}), **report.as_metadata()}
