"""The leaderboard: one line per run."""

from collections.abc import Mapping
from dataclasses import dataclass

from tbeval.reports.comparing import percent
from tbeval.reports.page.content import Content, Shown
from tbeval.reports.words import ABSENT
from tbeval.stats.intervals import Interval


@dataclass(frozen=True)
class Line:
    """A run's line. Texts are ready to show; rates are None where they are not defined.

    Attributes:
        pass_1: pass@1 over scored attempts.
        interval: Its interval for tasks like these.
        pass_k: pass@k for all attempts.
        all_k: pass^k for all attempts.
        stops: Stop reason → cells.
        tokens: Prompt and generated tokens per trial.
        minutes: Minutes per trial, from its first phase to its last.
    """

    name: str
    shown: Shown
    label: str
    agent: str
    design: str
    pass_1: float | None
    interval: Interval | None
    pass_k: float | None
    all_k: float | None
    score: float | None
    stops: Mapping[str, int]
    tokens: float | None
    minutes: float | None
    date: str
    is_base: bool

    @property
    def interval_text(self) -> str:
        """`4.3 % … 14.6 %`."""
        return interval_text(self.interval)


def interval_text(interval: Interval | None) -> str:
    """Both ends, as per cent."""
    if interval is None:
        return ABSENT
    return f"{100 * interval.low:.1f} … {100 * interval.high:.1f} %"


def rate(value: float | None) -> str:
    """Per cent with one decimal, or a dash where it is not defined."""
    return ABSENT if value is None else percent(value)


def lines(content: Content) -> tuple[Line, ...]:
    """One line per run, the highest pass@1 first."""
    found = [_line(shown, is_base=shown is content.base) for shown in content.shown]
    return tuple(sorted(found, key=lambda x: (-(-1 if x.pass_1 is None else x.pass_1), x.name)))


def scale(content: Content) -> float:
    """The rate at which the bars of all runs end: a multiple of 5 %, at most 1."""
    ends = [0.05, *(reference.pass_at_1 for reference in content.references)]
    for line in lines(content):
        ends += [line.pass_1 or 0.0] + ([line.interval.high] if line.interval else [])
    return min(1.0, -(-max(ends) // 0.05) * 0.05)


def _line(shown: Shown, *, is_base: bool) -> Line:
    run, at = shown.results.run, shown.estimates.at
    last = min(run.attempts, len(at)) - 1
    trials = shown.results.trials
    seconds = [sum(p.seconds for p in trial.phases) for trial in trials if trial.phases]
    return Line(
        name=shown.name,
        shown=shown,
        label=run.label,
        agent=f"{run.agent}, {run.protocol}" if run.protocol else run.agent,
        design=f"{len(run.tasks)} × {run.attempts}",
        pass_1=at[0].pass_at.value,
        interval=at[0].like_these,
        pass_k=at[last].pass_at.value,
        all_k=at[last].pass_hat.value,
        score=shown.estimates.score.value,
        stops=shown.summary.stop_reasons,
        tokens=(shown.results.tokens_in + shown.results.tokens_out) / len(trials)
        if trials
        else None,
        minutes=sum(seconds) / len(seconds) / 60 if seconds else None,
        date=f"{run.created:%Y-%m-%d}",
        is_base=is_base,
    )
