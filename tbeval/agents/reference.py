"""The two agents that ask no model: the task's own solution, and nothing at all.

harbor's Trial hands the task's directory to an agent only where `AgentConfig.name` is "oracle",
and then builds its own class whatever `import_path` says. Ours come by `import_path` alone, with no
name; the oracle finds the task beside the environment's definition.
"""

from typing import Any, override

from harbor.agents.capabilities import AgentCapabilities
from harbor.agents.nop import NopAgent as HarborNop
from harbor.agents.oracle import OracleAgent as HarborOracle
from harbor.environments.base import BaseEnvironment
from harbor.models.agent.context import AgentContext

from tbeval.agents.base import Progress, TimedAgent
from tbeval.agents.versions import REFERENCE_VERSION

# They need none of what a task offers to a model, and so refuse no task.
_ANY_TASK = AgentCapabilities(windows=True, skills=True, mcp_servers=True, mcp_http_headers=True)


class NopAgent(TimedAgent, HarborNop):
    """Does nothing: shows what the untouched state scores."""

    capabilities = _ANY_TASK

    @override
    def version(self) -> str:
        return REFERENCE_VERSION


class OracleAgent(TimedAgent):
    """Runs the task's solution, within the time limit of a model's agent."""

    capabilities = _ANY_TASK

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._commands = 0

    @staticmethod
    @override
    def name() -> str:
        return str(HarborOracle.name())

    @override
    def version(self) -> str:
        return REFERENCE_VERSION

    @override
    async def setup(self, environment: BaseEnvironment) -> None:
        """Nothing to set up."""

    @override
    async def run_agent(
        self, instruction: str, environment: BaseEnvironment, context: AgentContext
    ) -> None:
        oracle = HarborOracle(
            logs_dir=self.logs_dir,
            task_dir=environment.environment_dir.parent,
            trial_paths=environment.trial_paths,
            logger=self.logger,
        )
        self._commands = 1
        await oracle.run(instruction, environment, context)

    @override
    def progress(self) -> Progress:
        return Progress(commands=self._commands)
