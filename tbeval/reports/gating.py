"""The gate: one verdict, one exit code, whatever shows it."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

from tbeval.records.measured import Measured
from tbeval.reports.comparing import Compared, compare_measured, counts_of, percent, points
from tbeval.stats.counts import Metric
from tbeval.stats.gate import Decision, Threshold, Verdict, decide, threshold

Inconclusive = Literal["fail", "warn", "pass"]


class ExitCode(IntEnum):
    """What the command ends with."""

    PASS = 0
    FAIL = 1
    INCONCLUSIVE = 3
    NO_ANSWER = 4  # incomplete, or not measured alike


class IncompleteError(Exception):
    """Too many cells have no verdict; the message says how many and of what."""


@dataclass(frozen=True)
class GateReport:
    """What the gate says, and why.

    Attributes:
        verdict: The worse of the two parts.
        checkpoint: What was judged.
        compared: It and its baseline; None without one.
        decision: Against the baseline; None without one.
        threshold: Against an absolute bound; None without one.
        metric: What was judged by.
        inconclusive: What to make of INCONCLUSIVE; None: an exit code of its own.
    """

    verdict: Verdict
    checkpoint: Measured
    compared: Compared | None
    decision: Decision | None
    threshold: Threshold | None
    metric: Metric
    inconclusive: Inconclusive | None

    @property
    def exit_code(self) -> ExitCode:
        """For the process."""
        if self.verdict == "INCONCLUSIVE" and self.inconclusive is not None:
            return ExitCode.FAIL if self.inconclusive == "fail" else ExitCode.PASS
        return ExitCode[self.verdict]


def judge(
    checkpoint: Measured,
    baseline: Measured | None,
    *,
    metric: Metric,
    margin: float,
    min_complete: float,
    at_least: float | None = None,
    inconclusive: Inconclusive | None = None,
    anyway: bool = False,
) -> GateReport:
    """Judge a checkpoint against its baseline, against an absolute bound, or both.

    Args:
        checkpoint: What is judged.
        baseline: What it must not be worse than.
        metric: By what.
        margin: The drop that is put up with.
        min_complete: The share of cells that must have a verdict, in both.
        at_least: What it must reach.
        inconclusive: See `GateReport`.
        anyway: Judge on the common tasks though settings differ.

    Raises:
        IncompleteError: Fewer cells have a verdict.
        NotComparableError: They were not measured alike.
        ValueError: The metric is defined for no task, or there is nothing to judge against.
    """
    if baseline is None and at_least is None:
        raise ValueError("there is neither a baseline nor a bound to judge against")
    for measured in (checkpoint, *((baseline,) if baseline is not None else ())):
        if measured.completeness < min_complete:
            there, wanted = percent(measured.completeness), percent(min_complete)
            raise IncompleteError(
                f"{measured.checkpoint} is incomplete: {measured.scored} of {measured.planned} "
                f"cells have a verdict ({there}), and {wanted} are wanted. Run the same "
                "evaluation again with --retry-unscored."
            )
    compared = decision = bound = None
    if baseline is not None:
        (compared,) = compare_measured(baseline, [checkpoint], metric, anyway=anyway).rows
        decision = decide(
            counts_of(compared.base), counts_of(compared.other), metric=metric, margin=margin
        )
    if at_least is not None:
        bound = threshold(counts_of(checkpoint), at_least, metric=metric)
    return GateReport(
        verdict=_worst([part.verdict for part in (decision, bound) if part is not None]),
        checkpoint=checkpoint,
        compared=compared,
        decision=decision,
        threshold=bound,
        metric=metric,
        inconclusive=inconclusive,
    )


def _worst(verdicts: Sequence[Verdict]) -> Verdict:
    order: tuple[Verdict, ...] = ("FAIL", "INCONCLUSIVE", "PASS")
    return min(verdicts, key=order.index)


def sentences(report: GateReport) -> tuple[str, ...]:
    """The verdict's reasons, one after the other, the same in every output."""
    said: list[str] = []
    if report.decision is not None and report.compared is not None:
        said += _against_baseline(report.decision, report.compared)
    if report.threshold is not None:
        said.append(_against_bound(report.threshold, report))
    if report.verdict == "INCONCLUSIVE" and report.inconclusive is not None:
        said.append(f"Inconclusive counts as {report.inconclusive} here (--inconclusive).")
    return tuple(said)


def _against_baseline(decision: Decision, compared: Compared) -> list[str]:
    found = decision.comparison
    other, base = compared.other.checkpoint, compared.base.checkpoint
    low, high = points(decision.low, signed=True), points(decision.high, signed=True)
    bounds = f"one-sided 95 % bounds {low} and {high}"
    margin = points(decision.margin)
    first = (
        f"{other} against {base}: {found.metric} {percent(found.other)} against "
        f"{percent(found.base)}, {points(found.delta, signed=True)} points, {bounds}, over "
        f"{found.tasks} tasks."
    )
    said = [first]
    if decision.verdict == "FAIL":
        said.append(f"Chance is ruled out: {other} is worse than {base} on tasks like these.")
    elif decision.verdict == "PASS":
        said.append(f"A drop of {margin} points or more is ruled out on tasks like these.")
    else:
        needed = decision.attempts_needed
        more = (
            f"about {needed} attempts per task would"
            if needed is not None
            else "no number of attempts would: it takes more tasks"
        )
        said.append(
            f"Neither is ruled out, a drop of {margin} points or no drop at all; to decide, {more}."
        )
    said += [
        f"If it were truly {points(chance.drop)} points worse, this gate would say FAIL in "
        f"{percent(chance.fail)}, PASS in {percent(chance.passed)} of all cases."
        for chance in decision.chances
    ]
    said += [f"NOT MEASURED ALIKE: {each}" for each in compared.overridden]
    return said + [f"Mind: {each}" for each in compared.warnings]


def _against_bound(found: Threshold, report: GateReport) -> str:
    sure = {
        "PASS": "surely enough",
        "FAIL": "surely not enough",
        "INCONCLUSIVE": "which is not sure either way",
    }[found.verdict]
    return (
        f"{report.checkpoint.checkpoint}: {report.metric} {percent(found.rate)} (one-sided 95 % "
        f"bounds {percent(found.low)} and {percent(found.high)}, tasks like these), wanted "
        f"{percent(found.at_least)}: {sure}."
    )
