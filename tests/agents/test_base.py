"""The clock and the end that all agents share, with agents made to misbehave."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from harbor.agents.nop import NopAgent as HarborNop
from harbor.models.agent.context import AgentContext
from harbor.models.trial.error_policy import policy_for
from harbor.trial.errors import AgentTimeoutError

from tbeval.agents import base
from tbeval.agents.base import Progress, TimedAgent
from tbeval.agents.errors import (
    ERROR_POLICY_OVERRIDES,
    AgentCrashedError,
    BudgetSpentError,
    SandboxLostError,
    StrayTimeoutError,
)
from tbeval.records.agent_report import AgentReport
from tbeval.records.outcome import StopReason
from tbeval.records.sandbox import SandboxDiedError

Body = Callable[[AgentContext], Awaitable[None]]


class Puppet(TimedAgent, HarborNop):
    """An agent that does what a test says."""

    body: Body
    tidied = 0

    async def run_agent(self, instruction: str, environment: Any, context: AgentContext) -> None:
        await self.body(context)

    async def end_foreground(self, environment: Any) -> None:
        self.tidied += 1

    def progress(self) -> Progress:
        return Progress(turns=3, commands=2, prompt_sha256="p")


@dataclass
class Gateway:
    """What the clock asks: `paused` grows while `down`."""

    url: str = ""
    paused: float = 0.0
    down: bool = False
    refusals: int = 0
    asked: asyncio.Event = field(default_factory=asyncio.Event)

    async def clock(self, _request: web.Request) -> web.Response:
        self.asked.set()
        return web.json_response({"paused_seconds": self.paused, "down": self.down})

    async def refuse(self, _request: web.Request) -> web.Response:
        self.refusals += 1
        return web.json_response({})


@pytest.fixture
async def gateway() -> AsyncIterator[Gateway]:
    gateway = Gateway()
    application = web.Application()
    application.router.add_get("/t/trial/clock", gateway.clock)
    application.router.add_post("/t/trial/refuse", gateway.refuse)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    gateway.url = f"http://127.0.0.1:{runner.addresses[0][1]}/t/trial/clock"
    yield gateway
    await runner.cleanup()


async def for_ever(_context: AgentContext) -> None:
    await asyncio.Event().wait()


@dataclass
class Played:
    puppet: Puppet
    context: AgentContext
    error: BaseException | None
    seconds: float

    @property
    def report(self) -> AgentReport:
        found = AgentReport.from_metadata(self.context.metadata)
        assert found is not None
        return found


def puppet(path: Path, body: Body, limit: float = 30.0, url: str | None = None) -> Puppet:
    made = Puppet(logs_dir=path, time_limit_sec=limit, turn_limit=5, clock_url=url)
    made.body = body
    return made


async def play(path: Path, body: Body, limit: float = 30.0, url: str | None = None) -> Played:
    agent, context = puppet(path, body, limit, url), AgentContext()
    began, error = time.monotonic(), None
    try:
        await agent.run("", None, context)
    except Exception as raised:  # noqa: BLE001 - the tests look at it
        error = raised
    return Played(agent, context, error, time.monotonic() - began)


async def test_an_agent_that_ends_in_time(tmp_path: Path) -> None:
    async def body(context: AgentContext) -> None:
        context.n_input_tokens, context.metadata = 7, {"own": 1}

    played = await play(tmp_path, body)
    assert played.error is None
    assert played.context.n_input_tokens == 7
    assert (played.context.metadata or {})["own"] == 1
    report = played.report
    assert (report.stop_reason, report.turns, report.commands) == (StopReason.FINISHED, 3, 2)
    assert report.time_limit_sec == 30.0
    assert played.puppet.tidied == 1


async def test_the_limit_ends_the_agent(tmp_path: Path, gateway: Gateway) -> None:
    async def body(context: AgentContext) -> None:
        context.n_output_tokens = 5
        await for_ever(context)

    played = await play(tmp_path, body, 0.3, gateway.url)
    assert type(played.error) is AgentTimeoutError
    assert gateway.refusals == 1
    assert played.context.n_output_tokens == 5
    assert played.report.stop_reason is StopReason.TIME_LIMIT
    assert 0.3 <= played.report.seconds <= played.seconds < 5
    assert not played.report.abandoned
    assert played.puppet.tidied == 1


async def test_the_clock_stands_still_while_the_endpoint_is_down(
    tmp_path: Path, gateway: Gateway
) -> None:
    gateway.paused = 100.0  # before the agent's time

    async def body(context: AgentContext) -> None:
        gateway.down = True
        gateway.asked.clear()
        for _ in range(3):  # at its limit the clock asks, hears "down", and waits
            await gateway.asked.wait()
            gateway.asked.clear()
            gateway.paused += 0.5
        gateway.down = False
        await for_ever(context)

    played = await play(tmp_path, body, 0.3, gateway.url)
    assert type(played.error) is AgentTimeoutError
    assert played.report.paused_seconds == 1.5
    assert 0.3 <= played.report.seconds < 5
    assert played.seconds >= 1.8


async def test_a_gateway_that_is_gone_keeps_no_agent_alive(tmp_path: Path) -> None:
    played = await play(tmp_path, for_ever, 0.2, "http://127.0.0.1:9/t/trial/clock")
    assert type(played.error) is AgentTimeoutError


async def test_an_agent_that_swallows_its_cancellation_is_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "CANCEL_GRACE_SEC", 0.2)
    enough = asyncio.Event()
    left = asyncio.Event()

    async def body(context: AgentContext) -> None:
        while not enough.is_set():
            try:
                await enough.wait()
            except asyncio.CancelledError:
                context.metadata = {"late": True}
        left.set()
        context.metadata = {"too late": True}
        raise ValueError("nobody hears it")

    played = await play(tmp_path, body, 0.2)
    assert type(played.error) is AgentTimeoutError
    assert played.report.abandoned
    assert played.report.stop_reason is StopReason.TIME_LIMIT
    assert played.puppet.tidied == 1
    enough.set()
    await left.wait()
    assert "too late" not in (played.context.metadata or {})


@pytest.mark.parametrize(
    "stray", [TimeoutError("x"), AgentTimeoutError("not the limit"), TimeoutError()]
)
async def test_a_stray_timeout_is_not_the_agents(tmp_path: Path, stray: Exception) -> None:
    async def body(_context: AgentContext) -> None:
        raise stray

    played = await play(tmp_path, body)
    assert type(played.error) is StrayTimeoutError
    assert not isinstance(played.error, TimeoutError)
    assert played.error.__cause__ is stray
    assert played.report.stop_reason is StopReason.CRASHED
    # harbor waits for the agent with a limit of its own, and turns time-outs into its own error.
    with pytest.raises(StrayTimeoutError):
        await asyncio.wait_for(puppet(tmp_path, body).run("", None, AgentContext()), 30)


@pytest.mark.parametrize(
    ("raised", "leaves", "reason"),
    [
        (ValueError("x"), AgentCrashedError, StopReason.CRASHED),
        (asyncio.CancelledError(), AgentCrashedError, StopReason.CRASHED),
        (RecursionError(), AgentCrashedError, StopReason.CRASHED),
        (SandboxDiedError("gone"), SandboxLostError, StopReason.SANDBOX_DIED),
        (BudgetSpentError("calls"), BudgetSpentError, StopReason.CALL_LIMIT),
        (BudgetSpentError("output tokens"), BudgetSpentError, StopReason.TOKEN_LIMIT),
    ],
)
async def test_errors_leave_under_names_of_ours(
    tmp_path: Path, raised: BaseException, leaves: type[Exception], reason: StopReason
) -> None:
    async def body(_context: AgentContext) -> None:
        raise raised

    played = await play(tmp_path, body)
    assert type(played.error) is leaves
    assert played.report.stop_reason is reason
    assert played.report.error_class == leaves.__name__
    assert played.puppet.tidied == 1


async def test_an_interrupt_is_passed_on_after_cleaning_up(tmp_path: Path) -> None:
    started = asyncio.Event()

    async def body(context: AgentContext) -> None:
        context.n_input_tokens = 3
        started.set()
        await for_ever(context)

    agent, context = puppet(tmp_path, body), AgentContext()
    run = asyncio.create_task(agent.run("", None, context))
    await started.wait()
    began = time.monotonic()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert time.monotonic() - began < 2
    report = AgentReport.from_metadata(context.metadata)
    assert report is not None
    assert report.stop_reason is StopReason.CANCELLED
    assert context.n_input_tokens == 3
    assert agent.tidied == 1


async def test_a_second_interrupt_forces(tmp_path: Path) -> None:
    started, tidying = asyncio.Event(), asyncio.Event()

    async def body(context: AgentContext) -> None:
        started.set()
        await for_ever(context)

    class Slow(Puppet):
        async def end_foreground(self, environment: Any) -> None:
            tidying.set()
            await asyncio.Event().wait()

    agent = Slow(logs_dir=tmp_path, time_limit_sec=30, turn_limit=5)
    agent.body = body
    context = AgentContext()
    run = asyncio.create_task(agent.run("", None, context))
    await started.wait()
    run.cancel()
    await tidying.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert AgentReport.from_metadata(context.metadata) is not None


async def test_a_sandbox_that_cannot_be_tidied_does_not_hide_the_end(tmp_path: Path) -> None:
    class Broken(Puppet):
        async def end_foreground(self, environment: Any) -> None:
            raise SandboxDiedError("gone")

    async def body(_context: AgentContext) -> None:
        return

    agent = Broken(logs_dir=tmp_path, time_limit_sec=30, turn_limit=5)
    agent.body = body
    context = AgentContext()
    await agent.run("", None, context)
    report = AgentReport.from_metadata(context.metadata)
    assert report is not None
    assert report.stop_reason is StopReason.FINISHED


def test_harbor_grades_what_the_model_brought_about_and_nothing_else() -> None:
    graded = {
        name for name, over in ERROR_POLICY_OVERRIDES.items() if policy_for(name, over).should_grade
    }
    assert graded == {"BudgetSpentError", "CallsRefusedError", "BadRequestError"}
    for name, over in ERROR_POLICY_OVERRIDES.items():
        policy = policy_for(name, over)
        assert policy.has_valid_reward == policy.should_grade
        assert not policy.should_retry
