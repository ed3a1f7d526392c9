"""Real sandboxes, a real gateway and whole trials for the tests of the agents."""

import asyncio
import json
import logging
import shlex
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harbor.environments.base import BaseEnvironment
from harbor.models.agent.context import AgentContext
from harbor.models.task.config import EnvironmentConfig
from harbor.models.trial.paths import TrialPaths

from tbeval.agents.config import agent_config
from tbeval.agents.terminus import Terminus2Agent
from tbeval.models.endpoint import Endpoint
from tbeval.models.gateway import Gateway
from tbeval.records.agent_report import AgentReport
from tbeval.sandboxes.bubblewrap import BubblewrapEnvironment
from tbeval.settings.checkpoint import Budget, Checkpoint
from tests.scripted import MODEL, WINDOW, Reply, Request, ScriptedEndpoint

INSTRUCTION = "Do what the test asks for."


def make_task(directory: Path, *, solve: str = "true", test: str = "true") -> Path:
    """A task in harbor's format with the least that it needs."""
    files = {
        "task.toml": 'schema_version = "1.4"\n[agent]\ntimeout_sec = 60.0\n'
        '[verifier]\ntimeout_sec = 60.0\n[environment]\nnetwork_mode = "no-network"\n',
        "instruction.md": INSTRUCTION,
        "environment/setup.sh": "true\n",
        "solution/solve.sh": f"#!/bin/bash\n{solve}\n",
        "tests/test.sh": f"#!/bin/bash\n{test}\n",
    }
    for name, text in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return directory


@asynccontextmanager
async def sandbox(directory: Path, **task: str) -> AsyncIterator[BubblewrapEnvironment]:
    """A started sandbox of a task made in `directory`."""
    paths = TrialPaths(trial_dir=directory / "trial")
    paths.mkdir()
    environment = BubblewrapEnvironment(
        environment_dir=make_task(directory / "task", **task) / "environment",
        environment_name="task",
        session_id="trial",
        trial_paths=paths,
        task_env_config=EnvironmentConfig(network_mode="no-network"),
        logger=logging.getLogger("test"),
    )
    await environment.start(force_build=False)
    try:
        await environment.exec("mkdir -p /logs/agent")
        yield environment
    finally:
        await environment.stop(delete=True)


async def succeeds(environment: BaseEnvironment, command: str) -> bool:
    result = await environment.exec(command)
    return bool(result.return_code == 0)


async def until(environment: BaseEnvironment, command: str, *, limit_sec: float = 30) -> None:
    """Return when `command` succeeds in the sandbox."""
    async with asyncio.timeout(limit_sec):
        while not await succeeds(environment, f"({command}) || {{ sleep 0.05; false; }}"):
            pass


def reply(*keys: str, done: bool = False, duration: float = 0.1) -> Reply:
    """A proper reply of terminus-2's json format."""
    commands = [{"keystrokes": text, "duration": duration} for text in keys]
    fields = {"analysis": "a", "plan": "p", "commands": commands, "task_complete": done}
    return Reply(json.dumps(fields))


def in_turns(*replies: Reply) -> Callable[[Request], Reply]:
    """A script: one reply after the other, the last one for ever."""
    return lambda request: replies[min(request.index, len(replies) - 1)]


def print_line(text: str) -> str:
    return f"echo {shlex.quote(text)}\n"


@dataclass
class Ran:
    """An agent that has run.

    Attributes:
        error: What it raised.
        report: What it said in `context`.
        calls: How many calls reached the endpoint.
    """

    agent: Terminus2Agent
    context: AgentContext
    error: BaseException | None
    endpoint: ScriptedEndpoint

    @property
    def report(self) -> AgentReport:
        found = AgentReport.from_metadata(self.context.metadata)
        assert found is not None
        return found

    @property
    def calls(self) -> int:
        return len(self.endpoint.requests)

    @property
    def error_class(self) -> str:
        return type(self.error).__name__ if self.error is not None else ""


def make_agent(base_url: str, logs_dir: Path, **changes: Any) -> Terminus2Agent:
    """The agent as harbor's Trial would build it from our AgentConfig."""
    given: dict[str, Any] = {"parser": "json", "time_limit_sec": 60.0, "turn_limit": 10} | changes
    checkpoint = Checkpoint(id="c", parser=given["parser"], summarize=given.get("summarize", True))
    config = agent_config(
        checkpoint=checkpoint,
        agent="terminus-2",
        served_model=MODEL,
        base_url=base_url,
        context_window=given.get("window", WINDOW),
        time_limit_sec=given["time_limit_sec"],
        turn_limit=given["turn_limit"],
    )
    logs_dir.mkdir(parents=True, exist_ok=True)
    kwargs = json.loads(json.dumps(config.kwargs))  # as it comes out of harbor's config.json
    return Terminus2Agent(
        logs_dir=logs_dir, model_name=config.model_name, skip_model_parsing=True, **kwargs
    )


async def run_agent(
    environment: BaseEnvironment,
    script: Callable[[Request], Reply],
    directory: Path,
    *,
    budget: Budget | None = None,
    gateway: bool = True,
    during: Callable[[], Awaitable[None]] | None = None,
    **changes: Any,
) -> Ran:
    """Run terminus-2 against a scripted endpoint, through the gateway or straight."""
    window = changes.get("window", WINDOW)
    async with ScriptedEndpoint(script) as endpoint:
        if not gateway:
            agent = make_agent(endpoint.base_url, directory / "logs", **changes)
            return await _run(agent, environment, endpoint)
        upstream = Endpoint(endpoint.base_url, MODEL, window)
        async with Gateway(upstream, record_dir=directory / "model", run_seed=0) as running:
            url = running.open_trial("trial", task="task", attempt=1, budget=budget)
            agent = make_agent(url, directory / "logs", **changes)
            return await _run(agent, environment, endpoint)


async def _run(
    agent: Terminus2Agent, environment: BaseEnvironment, endpoint: ScriptedEndpoint
) -> Ran:
    context, error = AgentContext(), None
    try:
        await agent.setup(environment)
        await agent.run(INSTRUCTION, environment, context)
    except (Exception, asyncio.CancelledError) as raised:  # noqa: BLE001 - the tests look at it
        error = raised
    return Ran(agent, context, error, endpoint)
