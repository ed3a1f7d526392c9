"""Which runs a report is about."""

from collections.abc import Sequence
from pathlib import Path

from tbeval.results.find import find_run, list_runs
from tbeval.results.measured import find_measured


def select_runs(results: Path, references: Sequence[str]) -> tuple[Path, ...]:
    """The directories of runs, each once, in the order they were named.

    Args:
        results: The results directory.
        references: Runs' ids or paths, or checkpoints (their newest complete run); none: every
            checkpoint that has a run, in the order of their first ones.

    Raises:
        SettingsError: There is no such run.
        RunFileError: A run.toml cannot be read.
        LedgerError: A ledger cannot be trusted.
    """
    checkpoints = {run.checkpoint: None for run in list_runs(results)}
    if not references and not checkpoints:
        find_run(results)  # says that there is none, and what to do
    found: dict[Path, None] = {}
    for reference in references or tuple(checkpoints):
        if reference in checkpoints:
            measured, _ = find_measured(results, reference)
            found[results / reference / measured.runs[0]] = None
        else:
            found[find_run(results, reference)] = None
    return tuple(found)
