"""Which run a request leads to: one to continue, one that is finished, or a new one."""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tbeval.records.ledger import LedgerError, TrialRecord, read_ledger
from tbeval.records.run import RunFileError, RunRecord, RunTask, read_run
from tbeval.records.setting import SettingChange, changed_settings
from tbeval.runs.history import expected_seconds
from tbeval.runs.plan import Cell, open_cells, open_keys, plan_cells
from tbeval.runs.store import ledger_path, newest_with, runs_of
from tbeval.settings.base import SettingsError
from tbeval.settings.checkpoint import Checkpoint
from tbeval.settings.options import RunOptions
from tbeval.settings.subset import Subset
from tbeval.tasks.load import TaskInfo


@dataclass(frozen=True)
class Request:
    """What is to be evaluated, and how.

    Attributes:
        new: Begin a run even if one could be continued.
        force: Continue an unfinished run though its settings were others.
    """

    checkpoint: Checkpoint
    options: RunOptions
    subset: Subset
    tasks: Sequence[TaskInfo]
    results_dir: Path
    new: bool = False
    force: bool = False
    retry_unscored: bool = False
    preflight: bool = True


@dataclass(frozen=True)
class Finding:
    """The run that a request leads to.

    Attributes:
        run: Its record; for a new run, what it will be.
        directory: None if it is to be made.
        cells: All its cells, in the order of the plan.
        open: Those that still want a trial.
        changes: Settings that `--force` changes in it.
    """

    run: RunRecord
    directory: Path | None
    cells: tuple[Cell, ...]
    open: tuple[Cell, ...]
    changes: tuple[SettingChange, ...] = ()

    def announcement(self, concurrency: int) -> str:
        """What is going to happen, in one sentence."""
        run, done = self.run, len(self.cells) - len(self.open)
        what = (
            f"{run.checkpoint} on {run.subset} with {run.agent} in {run.sandbox}: "
            f"{_count(len(run.tasks), 'task')} × {_count(run.attempts, 'attempt')} = "
            f"{_count(run.planned, 'cell')}"
        )
        if self.directory is None:
            return f"{what}, {concurrency} at once; run {run.run_id}"
        if not self.open:
            return f"{what}; run {run.run_id} is finished (--new starts another)"
        changed = f", with changed settings ({_listed(self.changes)})" if self.changes else ""
        return f"{what}; continuing run {run.run_id}{changed}: {done} done, {len(self.open)} to go"


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _listed(changes: Sequence[SettingChange]) -> str:
    return "; ".join(str(change) for change in changes)


def find(request: Request, run: RunRecord) -> Finding:
    """The newest run with the same settings, an unfinished one by `--force`, or a new one.

    Args:
        request: What is wanted.
        run: As a new run would be described.

    Raises:
        SettingsError: An unfinished run has other settings, and nobody said what to do about it.
        LedgerError: The run's ledger was changed by something else.
    """
    cells = plan_cells(request.tasks, request.options.attempts)
    directory: Path | None = None
    changes: tuple[SettingChange, ...] = ()
    if not request.new:
        directory = newest_with(request.results_dir, run.checkpoint, run.fingerprint)
        if directory is not None:
            run = read_run(directory)
        elif (other := _unfinished(request, run)) is not None:
            old, directory = other
            run, changes = _with_new_settings(old, run, force=request.force)
    records: tuple[TrialRecord, ...] = ()
    if directory is not None:
        records = read_ledger(ledger_path(directory)).records
    forgiven = len(records) if request.retry_unscored else 0
    if open_cells(cells, records, forgiven):
        expected = expected_seconds(request.results_dir, request.checkpoint.id)
        cells = plan_cells(request.tasks, request.options.attempts, expected)
    return Finding(run, directory, cells, open_cells(cells, records, forgiven), changes)


def _unfinished(request: Request, wanted: RunRecord) -> tuple[RunRecord, Path] | None:
    """The newest run of checkpoint, subset and agent, if cells of it are still open."""
    for directory in runs_of(request.results_dir, wanted.checkpoint):
        with contextlib.suppress(RunFileError, LedgerError):
            run = read_run(directory)
            if (run.subset, run.agent, run.source) != (wanted.subset, wanted.agent, wanted.source):
                continue
            keys = [
                (task.id, attempt)
                for task in run.tasks
                for attempt in range(1, run.attempts_at(task) + 1)
            ]
            left = open_keys(keys, read_ledger(ledger_path(directory)).records)
            return (run, directory) if left else None
    return None


def _with_new_settings(
    old: RunRecord, wanted: RunRecord, *, force: bool
) -> tuple[RunRecord, tuple[SettingChange, ...]]:
    """An unfinished run as it goes on with other settings."""
    changes = (*changed_settings(old.scoring, wanted.scoring), *_task_changes(old, wanted))
    differ = (
        f"run {old.run_id} of {old.checkpoint} on {old.subset} is not finished and has other "
        f"settings ({_listed(changes)})"
    )
    if not force:
        raise SettingsError(
            f"{differ}: finish it with its own, begin another with --new, or "
            "let it go on with the new ones by --force, which its reports will say."
        )
    kept = {task.id for task in wanted.tasks}
    if wanted.attempts < old.attempts or any(task.id not in kept for task in old.tasks):
        raise SettingsError(
            f"{differ}: it has tasks or attempts that are not asked for any "
            "more, so it cannot go on. Begin another with --new."
        )
    update = {
        "run_id": old.run_id,
        "created": old.created,
        "identity": old.identity,
        "changes": (*old.changes, *changes),
    }
    return wanted.model_copy(update=update), changes


def _task_changes(old: RunRecord, wanted: RunRecord) -> tuple[SettingChange, ...]:
    """Tasks that came, went, or are not what they were."""
    then = {task.id: _shown(task) for task in old.tasks}
    now = {task.id: _shown(task) for task in wanted.tasks}
    if then.keys() == now.keys():
        return changed_settings({"task": then}, {"task": now})
    numbers = SettingChange(setting="tasks", then=str(len(then)), now=str(len(now)))
    both = then.keys() & now.keys()
    return (
        numbers,
        *changed_settings(
            {"task": {task: then[task] for task in both}},
            {"task": {task: now[task] for task in both}},
        ),
    )


def _shown(task: RunTask) -> str:
    return f"{task.digest[:12]}, {task.agent_timeout_sec} s, verifier {task.verifier_timeout_sec} s"
