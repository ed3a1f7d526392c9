"""Our agents inside harbor's Trial: whole trials, down to result.json."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from harbor.models.trial.config import EnvironmentConfig, TaskConfig, TrialConfig
from harbor.models.trial.result import TrialResult
from harbor.trial.trial import Trial

from tbeval.agents.config import agent_config
from tbeval.agents.errors import ERROR_POLICY_OVERRIDES
from tbeval.models.endpoint import Endpoint
from tbeval.models.gateway import Gateway
from tbeval.records.agent_report import AgentReport
from tbeval.records.outcome import StopReason
from tbeval.settings.checkpoint import AgentName, Budget, Checkpoint
from tests.agents.harness import in_turns, make_task, reply
from tests.scripted import MODEL, WINDOW, Reply, ScriptedEndpoint

pytestmark = [
    pytest.mark.sandbox,
    # harbor's Trial warns of its own use of it.
    pytest.mark.filterwarnings("ignore:Task.checksum will be deprecated:DeprecationWarning"),
]

SOLVED_IF_DONE = "[ -e /app/done ]; echo $((1 - $?)) > /logs/verifier/reward.txt"


async def run_trial(
    directory: Path,
    agent: AgentName,
    *,
    time_limit_sec: float = 30.0,
    turn_limit: int = 5,
    base_url: str | None = None,
    **task: str,
) -> TrialResult:
    config = TrialConfig(
        task=TaskConfig(path=make_task(directory / "task", test=SOLVED_IF_DONE, **task)),
        trial_name="trial",
        trials_dir=directory / "trials",
        agent=agent_config(
            checkpoint=Checkpoint(id="c"),
            agent=agent,
            served_model=MODEL,
            base_url=base_url,
            context_window=WINDOW,
            time_limit_sec=time_limit_sec,
            turn_limit=turn_limit,
        ),
        environment=EnvironmentConfig(
            import_path="tbeval.sandboxes.bubblewrap:BubblewrapEnvironment"
        ),
        override_error_policy=ERROR_POLICY_OVERRIDES,
    )
    await (await Trial.create(config)).run()
    kept = directory / "trials" / "trial" / "result.json"
    return TrialResult.model_validate_json(kept.read_text())


async def run_terminus(
    directory: Path, *replies: Reply, budget: Budget | None = None, **given: Any
) -> TrialResult:
    async with ScriptedEndpoint(in_turns(*replies)) as endpoint:
        upstream = Endpoint(endpoint.base_url, MODEL, WINDOW)
        async with Gateway(
            upstream, record_dir=directory / "model", run_seed=0, patience_sec=1
        ) as gateway:
            url = gateway.open_trial("trial", task="task", attempt=1, budget=budget)
            return await run_trial(directory, "terminus-2", base_url=url, **given)


def report_of(result: TrialResult) -> AgentReport:
    assert result.agent_result is not None
    found = AgentReport.from_metadata(result.agent_result.metadata)
    assert found is not None
    return found


def reward_of(result: TrialResult) -> float | None:
    return (result.verifier_result.rewards or {})["reward"] if result.verifier_result else None


async def test_the_oracle_solves_and_nop_does_not(tmp_path: Path) -> None:
    oracle = await run_trial(tmp_path / "oracle", "oracle", solve="touch /app/done")
    assert (reward_of(oracle), oracle.exception_info) == (1, None)
    assert report_of(oracle).stop_reason is StopReason.FINISHED
    assert report_of(oracle).commands == 1
    nop = await run_trial(tmp_path / "nop", "nop")
    assert (reward_of(nop), nop.exception_info) == (0, None)
    assert report_of(nop).stop_reason is StopReason.FINISHED


async def test_an_oracle_that_hangs_is_cut_at_the_limit(tmp_path: Path) -> None:
    result = await run_trial(
        tmp_path, "oracle", time_limit_sec=1.0, solve="touch /app/done; sleep 1000"
    )
    assert result.exception_info is not None
    assert result.exception_info.exception_type == "AgentTimeoutError"
    assert report_of(result).stop_reason is StopReason.TIME_LIMIT
    assert 1.0 <= report_of(result).seconds < 10
    assert not report_of(result).abandoned
    assert reward_of(result) == 1


async def test_terminus_is_verified_after_its_time_limit(tmp_path: Path) -> None:
    result = await run_terminus(
        tmp_path,
        reply("touch done\n"),
        Reply(delay_sec=1000),
        time_limit_sec=2.0,
    )
    assert result.exception_info is not None
    assert result.exception_info.exception_type == "AgentTimeoutError"
    assert report_of(result).stop_reason is StopReason.TIME_LIMIT
    assert report_of(result).turns == 1
    assert report_of(result).seconds < 10
    assert reward_of(result) == 1


async def test_terminus_is_verified_after_a_spent_budget(tmp_path: Path) -> None:
    result = await run_terminus(tmp_path, reply("touch done\n"), budget=Budget(calls=1))
    assert result.exception_info is not None
    assert result.exception_info.exception_type == "BudgetSpentError"
    assert reward_of(result) == 1


async def test_nothing_is_verified_after_a_dead_endpoint(tmp_path: Path) -> None:
    result = await run_terminus(tmp_path, reply("touch done\n"), Reply("down", status=503))
    assert result.exception_info is not None
    assert result.exception_info.exception_type == "EndpointDownError"
    assert report_of(result).stop_reason is StopReason.ENDPOINT_DOWN
    assert result.verifier_result is None


async def test_many_at_once_do_not_mix(tmp_path: Path) -> None:
    replies = [reply("touch done\n"), reply(done=True)]
    results = await asyncio.gather(
        *(run_terminus(tmp_path / str(n), *replies[n % 2 :]) for n in range(4))
    )
    assert [reward_of(result) for result in results] == [1, 0, 1, 0]
