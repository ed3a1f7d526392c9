"""How the trials of each run ended, and how long they took: distributions, not only means."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median, quantiles

from tbeval.reports.page.content import Content, Shown


@dataclass(frozen=True)
class Spread:
    """A distribution: its 10th, 25th, 50th, 75th and 90th percentile."""

    p10: float
    p25: float
    p50: float
    p75: float
    p90: float


@dataclass(frozen=True)
class Ending:
    """One run. Spreads are over all trials that have the number; None where none has.

    Attributes:
        stops: Stop reason → cells.
        unscored: Reason → cells, those that have not run among them.
        turns: Turns of the agent per trial.
        tokens: Generated tokens per trial.
        minutes: Minutes of the agent per trial.
    """

    shown: Shown
    stops: Mapping[str, int]
    unscored: Mapping[str, int]
    turns: Spread | None
    tokens: Spread | None
    minutes: Spread | None


def endings(content: Content) -> tuple[Ending, ...]:
    """One entry per run, in the order of the report."""
    return tuple(_ending(shown) for shown in content.shown)


def reach(found: Sequence[Ending]) -> dict[str, float]:
    """Where the drawings of each distribution end: above 0."""
    spreads = {
        "turns": [each.turns for each in found],
        "tokens": [each.tokens for each in found],
        "minutes": [each.minutes for each in found],
    }
    return {
        name: max([0.001, *(each.p90 for each in some if each)]) for name, some in spreads.items()
    }


def reasons(tables: Iterable[Mapping[str, int]]) -> tuple[str, ...]:
    """All keys, the most frequent first."""
    total: dict[str, int] = {}
    for table in tables:
        for key, number in table.items():
            total[key] = total.get(key, 0) + number
    return tuple(sorted(total, key=lambda key: (-total[key], key)))


def missing(shown: Shown) -> Mapping[str, int]:
    """Reason → cells without a verdict."""
    not_run = {"not run": shown.summary.not_run} if shown.summary.not_run else {}
    return {**shown.summary.unscored, **not_run}


def spread(values: Sequence[float]) -> Spread | None:
    """The spread of some numbers; None of none."""
    if not values:
        return None
    if len(values) == 1:
        return Spread(*[values[0]] * 5)
    cuts = quantiles(values, n=20, method="inclusive")
    return Spread(cuts[1], cuts[4], median(values), cuts[14], cuts[17])


def _ending(shown: Shown) -> Ending:
    trials = shown.results.trials
    agent = [
        sum(phase.seconds for phase in trial.phases if phase.name == "agent") / 60
        for trial in trials
        if any(phase.name == "agent" for phase in trial.phases)
    ]
    return Ending(
        shown=shown,
        stops=shown.summary.stop_reasons,
        unscored=missing(shown),
        turns=spread([trial.turns for trial in trials if trial.turns]),
        tokens=spread([trial.tokens_out for trial in trials if trial.tokens_out]),
        minutes=spread(agent),
    )
