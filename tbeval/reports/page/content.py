"""What a report shows: runs, their estimates, and how they compare with a base."""

import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from tbeval.records.measured import Measured
from tbeval.reports.comparing import ComparisonReport, compare_measured, counts_of
from tbeval.reports.summary import RunSummary, summarise_results
from tbeval.results.cells import Cell
from tbeval.results.comparable import differences
from tbeval.results.measured import measure
from tbeval.results.references import Reference
from tbeval.results.run_results import RunResults
from tbeval.stats.counts import PASS_AT_1
from tbeval.stats.estimates import Estimates, estimate

_SAFE = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*")
_LONGEST = 120
#: Settings named where two runs are not compared.
_MOST_TOLD = 6


@dataclass(frozen=True)
class Shown:
    """One run of a report.

    Attributes:
        name: What the report calls it: its checkpoint, with the run where there are several.
        results: What was read.
        summary: Its figures.
        measured: What a comparison needs of it.
        estimates: Its estimates with intervals.
    """

    name: str
    results: RunResults
    summary: RunSummary
    measured: Measured
    estimates: Estimates

    @property
    def folder(self) -> str:
        """The folder of its trial pages, relative to the report."""
        run = self.results.run
        return f"trials/{file_name(f'{run.checkpoint}-{run.run_id}')}"

    def page_of(self, trial_id: str) -> str:
        """The page of a trial, relative to the report."""
        return f"{self.folder}/{file_name(trial_id)}.html"

    @cached_property
    def cells(self) -> Mapping[str, tuple[Cell, ...]]:
        """Task → its cells, in the order of attempts."""
        found: dict[str, list[Cell]] = {task.id: [] for task in self.results.run.tasks}
        for cell in self.results.cells:
            found[cell.task].append(cell)
        return {task: tuple(cells) for task, cells in found.items()}


@dataclass(frozen=True)
class Content:
    """All that a report shows.

    Attributes:
        shown: The runs, in the order they were asked for.
        base: What the others are compared with; None where there is one run.
        comparison: The comparison of those that were measured alike; None where there is none.
        refused: Why the others are not compared, a sentence each.
        references: Published figures, for scale; nothing is tested against them.
        command: What makes this report again.
    """

    shown: tuple[Shown, ...]
    base: Shown | None
    comparison: ComparisonReport | None
    refused: tuple[str, ...]
    references: tuple[Reference, ...]
    command: str

    @cached_property
    def tasks(self) -> tuple[str, ...]:
        """Every task of any run, the most often solved first, then by name."""
        solved: dict[str, tuple[int, int]] = {}
        for shown in self.shown:
            for row in shown.summary.rows:
                c, n = solved.get(row.task, (0, 0))
                solved[row.task] = (c + row.solved, n + row.scored)
        rate = {task: c / n if n else -1.0 for task, (c, n) in solved.items()}
        return tuple(sorted(solved, key=lambda task: (-rate[task], task)))

    @cached_property
    def alone(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Run → the tasks that it alone solved; empty with one run."""
        if len(self.shown) < 2:  # noqa: PLR2004 - alone among one is nothing
            return ()
        solvers: dict[str, list[str]] = {}
        for shown in self.shown:
            for row in shown.summary.rows:
                if row.solved:
                    solvers.setdefault(row.task, []).append(shown.name)
        return tuple(
            (shown.name, tuple(task for task in self.tasks if solvers.get(task) == [shown.name]))
            for shown in self.shown
        )

    @cached_property
    def never(self) -> tuple[str, ...]:
        """Tasks with a verdict that no run solved."""
        scored = {r.task for s in self.shown for r in s.summary.rows if r.scored}
        solved = {r.task for s in self.shown for r in s.summary.rows if r.solved}
        return tuple(task for task in self.tasks if task in scored - solved)


def content_of(
    runs: Sequence[RunResults],
    *,
    command: str,
    baseline: str = "",
    references: Sequence[Reference] = (),
    ranked: int = 0,
) -> Content:
    """Compute what a report shows.

    Args:
        runs: At least one.
        command: What makes the report again.
        baseline: The checkpoint or run that the others are compared with; by default the baseline
            that a run names, else the first.
        references: Published figures.
        ranked: Out of how many runs the best was picked, if more than are shown.
    """
    twice = {
        run.run.checkpoint
        for run in runs
        if sum(other.run.checkpoint == run.run.checkpoint for other in runs) > 1
    }
    shown = tuple(_shown(run, named=run.run.checkpoint in twice) for run in runs)
    base = _base(shown, baseline)
    comparison, refused = _compared(base, shown, ranked) if base else (None, ())
    return Content(shown, base, comparison, refused, tuple(references), command)


def file_name(text: str) -> str:
    """A name for a file that holds nothing but letters, digits, `.`, `_` and `-`.

    Names that are such already, as ours are, stay; others get a checksum, so that two differ.
    """
    if _SAFE.fullmatch(text) and len(text) <= _LONGEST:
        return text
    cleaned = re.sub(r"[^A-Za-z0-9_-]+", "-", text)[: _LONGEST - 9].strip("-")
    return f"{cleaned}-{zlib.crc32(text.encode(errors='replace')):08x}".lstrip("-")


def _shown(results: RunResults, *, named: bool) -> Shown:
    run = results.run
    measured = measure(results)
    return Shown(
        name=f"{run.checkpoint} ({run.run_id})" if named else run.checkpoint,
        results=results,
        summary=summarise_results(results),
        measured=measured,
        estimates=estimate(counts_of(measured)),
    )


def _base(shown: Sequence[Shown], baseline: str) -> Shown | None:
    if len(shown) < 2:  # noqa: PLR2004 - a comparison takes two
        return None
    wanted = [baseline] if baseline else [each.results.run.baseline for each in shown]
    for name in wanted:
        for each in shown:
            if name and name in {each.results.run.checkpoint, each.results.run.run_id}:
                return each
    return shown[0]


def _compared(
    base: Shown, shown: Sequence[Shown], ranked: int
) -> tuple[ComparisonReport | None, tuple[str, ...]]:
    alike: list[Measured] = []
    refused: list[str] = []
    for other in shown:
        if other is base:
            continue
        told = [str(d) for d in differences(base.measured, other.measured) if d.refuses]
        if told:
            more = f"; and {len(told) - _MOST_TOLD} more" if len(told) > _MOST_TOLD else ""
            listed = "; ".join(_shortened(each) for each in told[:_MOST_TOLD])
            why = f"they were not measured alike ({listed}{more})"
        elif not _share_a_verdict(base, other):
            why = "no task has a verdict in both"
        else:
            alike.append(other.measured.model_copy(update={"checkpoint": other.name}))
            continue
        refused.append(f"{other.name} is not compared with {base.name}: {why}.")
    if not alike:
        return None, tuple(refused)
    mine = base.measured.model_copy(update={"checkpoint": base.name})
    report = compare_measured(mine, alike, PASS_AT_1, ranked=max(ranked, len(alike)))
    return report, tuple(refused)


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _share_a_verdict(one: Shown, two: Shown) -> bool:
    verdicts = [{row.task for row in each.summary.rows if row.scored} for each in (one, two)]
    return bool(verdicts[0] & verdicts[1])
