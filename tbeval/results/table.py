"""The trial table: one pandas row per trial of one or several runs."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from tbeval.records.ledger import TrialRecord
from tbeval.records.run import OURS, RunRecord
from tbeval.records.table import COLUMNS
from tbeval.results.bulk import collector_paused
from tbeval.results.run_results import RunResults, read_results

FORMATS = ("parquet", "csv", "jsonl")

#: What a spreadsheet would take for a formula.
_FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r")


def trial_table(runs: Iterable[RunResults]) -> pd.DataFrame:
    """One row per trial, in the order of runs and ledgers; see `tbeval.records.table`.

    A cell may have several rows: `result` marks the one that counts.
    """
    rows: list[tuple[Any, ...]] = []
    with collector_paused():
        for run in runs:
            counted = {cell.trial.trial_id for cell in run.cells if cell.trial is not None}
            rows.extend(
                _row(run.run, trial, result=trial.trial_id in counted) for trial in run.trials
            )
    columns = zip(*rows, strict=True) if rows else ([] for _ in COLUMNS)
    return pd.DataFrame(
        {
            name: _series(values, dtype)
            for (name, dtype), values in zip(COLUMNS.items(), columns, strict=True)
        }
    )


def read_table(directories: Iterable[Path]) -> pd.DataFrame:
    """The trial table of runs on disk.

    Raises:
        RunFileError: A run.toml is absent or cannot be read.
        LedgerError: A ledger has a corrupt line, or does not fit its plan.
    """
    return trial_table(read_results(directory) for directory in directories)


def write_table(table: pd.DataFrame, path: Path, form: str) -> None:
    """Write a table as Parquet, CSV or JSON lines, whole or not at all.

    In CSV a text that a spreadsheet would take for a formula gets an apostrophe before it.
    """
    temporary = path.with_name(f".{path.name}.new")
    try:
        if form == "parquet":
            table.to_parquet(temporary, index=False)
        elif form == "csv":
            harmless = table.assign(error_message=table["error_message"].map(_no_formula))
            harmless.to_csv(temporary, index=False)
        else:
            table.to_json(temporary, orient="records", lines=True, date_format="iso")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _no_formula(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA_SIGNS) else text


def _series(values: Sequence[Any], dtype: str) -> pd.Series:
    if dtype.startswith("datetime"):
        return pd.Series(pd.to_datetime(pd.Series(values, dtype=object), utc=True), dtype=dtype)
    return pd.Series(values, dtype=dtype)


def _row(run: RunRecord, trial: TrialRecord, *, result: bool) -> tuple[Any, ...]:
    """The values of a row, in the order of `COLUMNS`."""
    seconds = {phase.name: phase.seconds for phase in trial.phases}
    tests = trial.tests
    return (
        run.checkpoint,
        run.run_id,
        run.source,
        trial.trial_id,
        trial.task,
        trial.attempt,
        trial.try_number,
        result,
        trial.outcome.value,
        trial.outcome.scored,
        trial.solved,
        trial.solved_published,
        trial.score,
        tests.passed,
        tests.failed,
        tests.skipped,
        tests.total,
        None if trial.stop_reason is None else trial.stop_reason.value,
        trial.turns,
        trial.commands,
        trial.model_calls,
        trial.tokens_in,
        trial.tokens_out,
        trial.model_seconds if run.source == OURS else None,
        trial.paused_seconds if run.source == OURS else None,
        seconds.get("sandbox"),
        seconds.get("agent"),
        seconds.get("verifier"),
        min((phase.began for phase in trial.phases), default=None),
        max((phase.ended for phase in trial.phases), default=None),
        ",".join(trial.limits_hit),
        trial.replica or None,
        trial.task_digest or None,
        trial.error_class or None,
        trial.error_message,
    )
