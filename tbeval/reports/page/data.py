"""A report as plain data: every number of the page."""

from typing import Any

from tbeval.reports.as_json import as_json
from tbeval.reports.comparison_views import as_data
from tbeval.reports.page.content import Content, Shown
from tbeval.reports.page.verdicts import verdicts, warnings
from tbeval.stats.intervals import Interval


def report_data(content: Content) -> dict[str, Any]:
    """For programs; undefined numbers are None, rates are from 0 to 1."""
    return {
        "schema_version": 1,
        "command": content.command,
        "verdicts": list(verdicts(content)),
        "warnings": list(warnings(content)),
        "baseline": content.base.name if content.base else None,
        "runs": [_run(shown) for shown in content.shown],
        "comparison": as_data(content.comparison) if content.comparison else None,
        "solved_by_one_alone": {name: list(tasks) for name, tasks in content.alone},
        "never_solved": list(content.never),
        "references": [each.model_dump() for each in content.references],
    }


def _run(shown: Shown) -> dict[str, Any]:
    return {
        "name": shown.name,
        **as_json(shown.summary),
        "score_interval": _interval(shown.estimates.score_interval),
        "at": [
            {
                "k": at.k,
                "pass_at": at.pass_at.value,
                "pass_at_tasks": at.pass_at.tasks,
                "pass_at_planned": at.pass_at_planned.value,
                "pass_hat": at.pass_hat.value,
                "tasks_like_these": _interval(at.like_these),
                "these_tasks_only": _interval(at.these_only),
            }
            for at in shown.estimates.at
        ],
    }


def _interval(interval: Interval | None) -> dict[str, float] | None:
    if interval is None:
        return None
    return {"low": interval.low, "high": interval.high, "level": interval.level}
