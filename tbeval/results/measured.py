"""From runs on disk to what a comparison needs."""

import contextlib
import json
from collections.abc import Sequence
from pathlib import Path

from pydantic import ValidationError

from tbeval.records.ledger import LedgerError
from tbeval.records.measured import SCHEMA_VERSION, Measured, TaskOutcomes
from tbeval.records.outcome import StopReason
from tbeval.records.run import RunFileError
from tbeval.records.setting import flat
from tbeval.results.cells import Cell
from tbeval.results.find import find_run, list_runs
from tbeval.results.run_results import RunResults, read_results
from tbeval.settings.base import SettingsError

#: Settings that name the model: what a comparison is about, not what must be equal.
_MODEL = frozenset({"served_model", "model", "embedded.gguf", "embedded.package"})
#: Told by a server about the model it serves, not about itself.
_OF_THE_MODEL = frozenset({"served_model", "model", "model_path", "weight_version", "root"})


def measure(results: RunResults) -> Measured:
    """What a comparison needs of a run."""
    run = results.run
    by_task: dict[str, list[Cell]] = {task.id: [] for task in run.tasks}
    for cell in results.cells:
        by_task[cell.task].append(cell)
    settings = dict(flat(run.scoring))
    return Measured(
        checkpoint=run.checkpoint,
        label=run.label,
        series=run.series,
        rollout=run.rollout,
        runs=(run.run_id,),
        created=run.created,
        source=run.source,
        subset=run.subset,
        attempts=run.attempts,
        settings={key: value for key, value in settings.items() if key not in _MODEL},
        versions=run.versions,
        changes=run.changes,
        engine={k: v for k, v in run.identity.items() if k not in _OF_THE_MODEL},
        tasks=tuple(
            _task(task.id, task.digest, run.attempts_at(task), by_task[task.id])
            for task in run.tasks
        ),
    )


def _task(name: str, digest: str, planned: int, cells: Sequence[Cell]) -> TaskOutcomes:
    scored = [cell for cell in cells if cell.scored]
    return TaskOutcomes(
        id=name,
        digest=digest,
        planned=planned,
        solved=tuple(cell.solved for cell in scored),
        scores=tuple(cell.score or 0.0 for cell in scored),
        time_limited=sum(
            cell.trial is not None and cell.trial.stop_reason is StopReason.TIME_LIMIT
            for cell in scored
        ),
    )


def pool(measured: Sequence[Measured]) -> Measured:
    """Several runs of one checkpoint as one with more attempts.

    Raises:
        SettingsError: They are of different checkpoints, tasks or settings.
    """
    first, *others = measured
    for other in others:
        if other.checkpoint != first.checkpoint:
            raise SettingsError(
                f"runs of {first.checkpoint} and of {other.checkpoint} cannot be pooled: they are "
                "different checkpoints."
            )
        if _alike(other) != _alike(first):
            raise SettingsError(
                f"runs {first.runs[0]} and {other.runs[0]} of {first.checkpoint} cannot be pooled: "
                "their settings, tasks or engines differ."
            )
    return first.model_copy(
        update={
            "runs": tuple(run for each in measured for run in each.runs),
            "created": max(each.created for each in measured),
            "attempts": sum(each.attempts for each in measured),
            "tasks": tuple(
                _pooled(parts) for parts in zip(*(each.tasks for each in measured), strict=True)
            ),
        }
    )


def _alike(measured: Measured) -> tuple[object, ...]:
    """What must agree between runs that are pooled; the number of attempts need not."""
    settings = {key: value for key, value in measured.settings.items() if key != "attempts"}
    tasks = tuple((task.id, task.digest) for task in measured.tasks)
    return settings, measured.engine, tasks


def _pooled(parts: Sequence[TaskOutcomes]) -> TaskOutcomes:
    return TaskOutcomes(
        id=parts[0].id,
        digest=parts[0].digest,
        planned=sum(part.planned for part in parts),
        solved=tuple(value for part in parts for value in part.solved),
        scores=tuple(value for part in parts for value in part.scores),
        time_limited=sum(part.time_limited for part in parts),
    )


def find_measured(
    results: Path, reference: str, *, pooled: bool = False
) -> tuple[Measured, tuple[str, ...]]:
    """What a reference measured: a run, a checkpoint, or a frozen baseline.

    A checkpoint stands for its newest complete run (every planned cell has run), or its newest
    run if none is complete.

    Args:
        results: The results directory.
        reference: A run's id or path, a checkpoint's id, or a file that `freeze` wrote.
        pooled: Merge all complete runs of the checkpoint whose settings are the newest one's.

    Returns:
        It, and the ids of the checkpoint's other runs that were left out.

    Raises:
        SettingsError: There is no such run or file, or the file is not a frozen baseline.
        RunFileError: A run.toml cannot be read.
        LedgerError: A ledger cannot be trusted.
    """
    path = Path(reference)
    if path.is_file() and path.suffix == ".json":
        return read_frozen(path), ()
    directory = find_run(results, reference)
    found = [run for run in list_runs(results) if run.checkpoint == reference]
    if directory.name == reference or not found:
        return measure(read_results(directory)), ()
    newest_first = [(run, read_results(run.directory)) for run in reversed(found)]
    complete = [pair for pair in newest_first if _complete(pair[1])] or newest_first[:1]
    chosen = complete[:1]
    if pooled:
        alike = _alike(measure(complete[0][1]))
        chosen = [pair for pair in complete if _alike(measure(pair[1])) == alike]
    taken = {run.run_id for run, _ in chosen}
    left = tuple(run.run_id for run, _ in newest_first if run.run_id not in taken)
    return pool([measure(read) for _, read in chosen]), left


def runs_of_series(results: Path, series: str) -> int:
    """How many complete runs of a series of checkpoints there are; 0 for no series."""
    count = 0
    for found in list_runs(results) if series else ():
        with contextlib.suppress(RunFileError, LedgerError):
            read = read_results(found.directory)
            count += read.run.series == series and _complete(read)
    return count


def _complete(results: RunResults) -> bool:
    return all(cell.trial is not None for cell in results.cells)


def freeze(measured: Measured) -> str:
    """The text of a frozen baseline: JSON, one task a line, for a repository."""
    content = measured.model_dump(mode="json")
    tasks = ",\n".join(f"  {json.dumps(task)}" for task in content.pop("tasks"))
    head = json.dumps(content, indent=1).removesuffix("\n}")
    return f'{head},\n "tasks": [\n{tasks}\n ]\n}}\n'


def read_frozen(path: Path) -> Measured:
    """Read a frozen baseline.

    Raises:
        SettingsError: The file is none, or of a later version.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        version = content.get("schema_version") if isinstance(content, dict) else None
        if isinstance(version, int) and version > SCHEMA_VERSION:
            raise SettingsError(
                f"{path} was frozen by a later tbeval (schema {version}; this one reads "
                f"{SCHEMA_VERSION}): update tbeval."
            )
        measured = Measured.model_validate(content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "the file"
        raise SettingsError(
            f"{path} is no frozen baseline ({where}: {first['msg']}): write one with tbeval freeze."
        ) from error
    except (ValueError, RecursionError) as error:
        raise SettingsError(
            f"{path} is no frozen baseline (not JSON): write one with tbeval freeze."
        ) from error
    for task in measured.tasks:
        if not len(task.solved) == len(task.scores) <= task.planned:
            raise SettingsError(
                f"{path}: task {task.id} has {len(task.solved)} verdicts, {len(task.scores)} "
                f"scores and {task.planned} planned attempts, which contradict each other."
            )
    return measured
