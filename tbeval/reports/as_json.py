"""A summary as plain data, for programs."""

from typing import Any

from tbeval.reports.summary import RunSummary, TaskRow


def as_json(summary: RunSummary) -> dict[str, Any]:
    """The figures of a run; undefined ones are None. Keys of `pass_at` are texts, as in JSON."""
    run = summary.run
    return {
        "run_id": run.run_id,
        "directory": str(summary.directory),
        "created": run.created.isoformat(),
        "checkpoint": run.checkpoint,
        "label": run.label,
        "subset": run.subset,
        "agent": run.agent,
        "protocol": run.protocol,
        "sandbox": run.sandbox,
        "fingerprint": run.fingerprint,
        "tasks": len(run.tasks),
        "attempts": run.attempts,
        "planned": summary.planned,
        "scored": summary.scored,
        "unscored": dict(summary.unscored),
        "not_run": summary.not_run,
        "completeness": summary.completeness,
        "solved_trials": summary.solved_trials,
        "unique_solved": summary.unique_solved,
        "pass_at": {str(k): mean.value for k, mean in summary.pass_at.items()},
        "pass_at_tasks": {str(k): mean.tasks for k, mean in summary.pass_at.items()},
        "pass_at_planned": {str(k): value for k, value in summary.pass_at_planned.items()},
        "score": summary.score.value,
        "score_tasks": summary.score.tasks,
        "score_planned": summary.score_planned,
        "stop_reasons": dict(summary.stop_reasons),
        "limits_hit": dict(summary.limits_hit),
        "trials": summary.tries,
        "tokens_in": summary.tokens_in,
        "tokens_out": summary.tokens_out,
        "wall_sec": summary.wall_sec,
        "model_sec": summary.model_sec,
        "command_sec": summary.command_sec,
        "time_limited": summary.time_limited,
        "per_task": [_row(row) for row in summary.rows],
    }


def _row(row: TaskRow) -> dict[str, Any]:
    return {
        "task": row.task,
        "scored": row.scored,
        "solved": row.solved,
        "score": row.score,
        "unscored": dict(row.unscored),
        "not_run": row.not_run,
        "stop_reasons": dict(row.stop_reasons),
    }
