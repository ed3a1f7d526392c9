"""Which runs a report is about."""

from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from tbeval.results.find import find_run, list_runs
from tbeval.results.run_results import RunResults, read_results


def select_runs(results: Path, references: Sequence[str]) -> tuple[RunResults, ...]:
    """Runs, each once, in the order they were named.

    Args:
        results: The results directory.
        references: Runs' ids or paths, or checkpoints: their newest run in which every planned
            cell has run, as in a comparison, else their newest. None: every checkpoint that has
            a run, in the order of their first ones.

    Raises:
        SettingsError: There is no such run.
        RunFileError: A run.toml cannot be read.
        LedgerError: A ledger cannot be trusted.
    """
    by_checkpoint: dict[str, list[Path]] = {}
    for run in list_runs(results):
        by_checkpoint.setdefault(run.checkpoint, []).insert(0, run.directory)
    if not references and not by_checkpoint:
        find_run(results)  # says that there is none, and what to do
    found: dict[Path, RunResults] = {}
    for reference in references or tuple(by_checkpoint):
        if reference in by_checkpoint:
            chosen = _newest_complete(by_checkpoint[reference])
        else:
            chosen = read_results(find_run(results, reference))
        found.setdefault(chosen.directory.resolve(), chosen)
    return tuple(found.values())


def _newest_complete(newest_first: Sequence[Path]) -> RunResults:
    newest = read_results(newest_first[0])
    older = (read_results(directory) for directory in newest_first[1:])
    complete = (run for run in chain([newest], older) if all(cell.trial for cell in run.cells))
    return next(complete, newest)
