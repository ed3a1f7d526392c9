"""The work done by harbor's own Job, with its own agents and verifier, in our sandbox."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harbor.job import Job
from harbor.models.job.config import JobConfig
from harbor.models.trial.config import AgentConfig, EnvironmentConfig, TaskConfig

import tbeval  # noqa: F401 - turns off what harbor and litellm send, before they are imported
from benchmarks.work import Work

_SANDBOX = "tbeval.sandboxes.bubblewrap:BubblewrapEnvironment"


async def run(work: Work, base_url: str, results: Path, ended: Callable[[], None]) -> Path:
    """Do the work; returns where the trials' directories are."""
    os.environ["OPENAI_API_KEY"] = "none"
    config = JobConfig(
        job_name="job",
        jobs_dir=results,
        n_attempts=work.attempts,
        n_concurrent_trials=work.concurrency,
        quiet=True,
        skip_credential_checks=True,
        agents=[_agent(work, base_url)],
        environment=EnvironmentConfig(import_path=_SANDBOX, kwargs={"run_id": "bench"}),
        tasks=[TaskConfig(path=work.task_directory(task)) for task in work.tasks],
    )
    job = await Job.create(config)

    async def on_end(_event: Any) -> None:
        ended()

    job.on_trial_ended(on_end)
    await job.run()
    return results / "job"


def _agent(work: Work, base_url: str) -> AgentConfig:
    if not base_url:
        return AgentConfig(name=work.agent)
    return AgentConfig(
        name=work.agent,
        model_name="openai/scripted",
        kwargs={
            "api_base": base_url,
            "max_turns": work.calls + 5,
            "record_terminal_session": False,  # asciinema is in no sandbox
            "model_info": {
                "max_input_tokens": 32768,
                "max_output_tokens": 8192,
                "input_cost_per_token": 0.0,
                "output_cost_per_token": 0.0,
            },
        },
    )
