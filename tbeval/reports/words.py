"""The words and numbers of a summary: the terminal, the Markdown report and others show these."""

from collections.abc import Mapping
from dataclasses import dataclass

from tbeval.records.run import OURS
from tbeval.reports.summary import RunSummary, TaskRow

ABSENT = "\N{EN DASH}"  # not defined; never 0


@dataclass(frozen=True)
class Line:
    """A name, its value, and on what it rests."""

    name: str
    value: str
    basis: str = ""


def head(summary: RunSummary) -> tuple[Line, ...]:
    """What was run."""
    run = summary.run
    endpoint = (Line("endpoint", run.endpoint),) if run.endpoint else ()
    source = () if run.source == OURS else (Line("imported from", run.source),)
    return (
        Line("checkpoint", run.checkpoint, run.label),
        Line("subset", run.subset, _design(summary)),
        Line("agent", run.agent, run.protocol),
        Line("sandbox", run.sandbox),
        *endpoint,
        *source,
        *(Line("odd", note) for note in run.notes),
        *(Line("changed in mid-run", str(change)) for change in run.changes),
        Line("run", run.run_id, f"begun {run.created:%Y-%m-%d %H:%M %Z}"),
    )


def figures(summary: RunSummary) -> tuple[Line, ...]:
    """What came of it; each figure with what it was computed from."""
    tasks = len(summary.run.tasks)
    scored = f"{_design(summary)}, {summary.scored} scored"
    planned = f"{_design(summary)}, unscored as 0"
    ks = (1, summary.run.attempts) if summary.run.attempts > 1 else (1,)
    unfinished = (Line("not run", str(summary.not_run), "the run is not finished"),)
    return (
        Line("solved trials", str(summary.solved_trials), f"of {summary.scored} scored"),
        *(
            Line(f"pass@{k}", rate(mean.value), f"{scored}; {_over(mean.tasks, tasks, k)}")
            for k, mean in ((k, summary.pass_at[k]) for k in ks)
        ),
        *(Line(f"pass@{k} planned", rate(summary.pass_at_planned[k]), planned) for k in ks),
        Line("unique solved", str(summary.unique_solved), f"of {_n(tasks, 'task')}"),
        Line("score", rate(summary.score.value), f"share of tests passed; {scored}"),
        Line("score planned", rate(summary.score_planned), planned),
        Line(
            "scored",
            f"{summary.scored} of {summary.planned}",
            f"completeness {summary.completeness:.1%}",
        ),
        Line("unscored", counts(summary.unscored) or "none"),
        *(unfinished if summary.not_run else ()),
    )


def costs(summary: RunSummary) -> tuple[Line, ...]:
    """What it took."""
    retries = summary.tries - (summary.planned - summary.not_run)
    share = summary.time_limited / summary.scored if summary.scored else 0.0
    limited = f"{share:.1%}; a busier machine or server ends more"
    where = [
        Line(name, duration(seconds), what)
        for name, seconds, what in (
            ("model time", summary.model_sec, "waiting for its answers, all trials"),
            ("command time", summary.command_sec, "the rest of the agents' time"),
        )
        if seconds is not None
    ]
    return (
        Line("tokens in", f"{summary.tokens_in:,}"),
        Line("tokens out", f"{summary.tokens_out:,}"),
        Line("trials", str(summary.tries), f"{_n(retries, 'retry', 'retries')} among them"),
        Line("wall time", duration(summary.wall_sec), "while a trial was running"),
        *where,
        Line("ended by time", f"{summary.time_limited} of {summary.scored} scored", limited),
    )


def endings(summary: RunSummary) -> tuple[Line, ...]:
    """How the agents and the sandboxes of the cells ended."""
    lines = [Line(reason, str(n)) for reason, n in summary.stop_reasons.items()]
    return (*lines, *(Line(f"limit hit: {x}", str(n)) for x, n in summary.limits_hit.items()))


def row(task: TaskRow, attempts: int) -> tuple[str, str, str, str, str]:
    """A task's line: task, solved of scored, score, without a verdict, why the agent stopped."""
    missing = dict(task.unscored) | ({"not run": task.not_run} if task.not_run else {})
    solved = f"{task.solved}/{task.scored}" if task.scored else ABSENT
    if task.scored != attempts:
        solved += f" of {attempts}"
    return task.task, solved, rate(task.score), counts(missing), counts(task.stop_reasons)


ROW_HEADS = ("task", "solved", "score", "no verdict", "agent stopped")


def rate(value: float | None) -> str:
    """A rate with four digits, as the published tables have it."""
    return ABSENT if value is None else f"{value:.4f}"


def counts(numbers: Mapping[str, int]) -> str:
    """`turn limit 2, finished 1`."""
    return ", ".join(f"{word} {n}" for word, n in numbers.items())


def duration(seconds: float) -> str:
    """`1 h 02 min 03 s`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02} min {rest:02} s"
    return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"


def _design(summary: RunSummary) -> str:
    run = summary.run
    tasks, attempts = _n(len(run.tasks), "task"), _n(run.attempts, "attempt")
    return f"{tasks} \N{MULTIPLICATION SIGN} {attempts}"


def _over(tasks: int, of: int, k: int) -> str:
    if tasks == of:
        return "mean over all tasks"
    return f"mean over the {_n(tasks, 'task')} with {k} or more scored"


def _n(number: int, word: str, plural: str = "") -> str:
    return f"{number} {word if number == 1 else plural or word + 's'}"
