"""The report's first words: what the comparison says, and how complete it all is."""

from collections.abc import Mapping, Sequence

from tbeval.reports.comparing import verdict, winner_sentence
from tbeval.reports.page.content import Content, Shown
from tbeval.reports.page.endings import missing
from tbeval.reports.page.leaderboard import interval_text, rate
from tbeval.reports.words import ABSENT, counts

#: Below this share of scored cells a figure is not to be trusted (the gate refuses it).
COMPLETE = 0.95


def verdicts(content: Content) -> tuple[str, ...]:
    """A sentence per comparison; one about the run where there is only one."""
    if content.comparison is not None:
        said = [verdict(row) for row in content.comparison.rows]
        if content.comparison.winner is not None:
            said.append(winner_sentence(content.comparison.winner))
        return tuple(said)
    if len(content.shown) > 1:
        return ("No two of these runs can be compared.",)
    return (_alone(content.shown[0]),)


def _alone(shown: Shown) -> str:
    first = shown.estimates.at[0]
    if first.pass_at.value is None:
        return f"{shown.name}: no trial has a verdict."
    return (
        f"{shown.name} solves {rate(first.pass_at.value)} of its attempts (pass@1; 95 % interval "
        f"for tasks like these {interval_text(first.like_these)}), "
        f"{shown.estimates.unique_solved} of {shown.estimates.tasks} tasks at least once."
    )


COMPLETENESS_HEADS = (
    "checkpoint",
    "planned",
    "scored",
    "complete",
    "unscored",
    "pass@1 of scored",
    "pass@1 planned",
    "tasks with a verdict",
)


def completeness(shown: Shown) -> tuple[str, ...]:
    """A run's line in the order of `COMPLETENESS_HEADS`."""
    first, summary = shown.estimates.at[0], shown.summary
    return (
        shown.name,
        str(summary.planned),
        str(summary.scored),
        f"{100 * summary.completeness:.1f} %",
        counts(missing(shown)) or ABSENT,
        rate(first.pass_at.value),
        rate(first.pass_at_planned.value),
        f"{first.pass_at.tasks} of {shown.estimates.tasks}",
    )


def warnings(content: Content) -> tuple[str, ...]:
    """What a reader must know before he believes a number: a sentence each, what is equal once."""
    told: dict[str, list[str]] = {}
    for shown in content.shown:
        complete = shown.summary.completeness
        if complete < COMPLETE:
            why = f"only {100 * complete:.1f} % of the planned cells have a verdict."
            told.setdefault(why, []).append(shown.name)
    said = [*_named(told), *content.refused]
    told = {}
    for shown in content.shown:
        run = shown.results.run
        for text in (*(f"changed in mid-run: {change}" for change in run.changes), *run.notes):
            told.setdefault(text, []).append(shown.name)
    for row in content.comparison.rows if content.comparison else ():
        for each in row.warnings:
            told.setdefault(str(each), []).append(row.other.checkpoint)
    return (*said, *_named(told))


def _named(told: Mapping[str, Sequence[str]]) -> list[str]:
    return [f"{', '.join(names)}: {text}" for text, names in told.items()]
