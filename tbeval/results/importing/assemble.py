"""Trials of other harnesses → cells → a run of ours."""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tbeval.records.ledger import TrialRecord
from tbeval.records.outcome import Outcome
from tbeval.records.run import LEDGER_FILE, RUN_FILE, RunRecord, RunTask, fingerprint, write_run
from tbeval.results.importing import harbor, terminal_bench
from tbeval.results.importing.files import ResultFile, read_object, result_files
from tbeval.results.importing.foreign import UNKNOWN_TIME, ForeignTrial, Oddities, text
from tbeval.settings.base import SettingsError
from tbeval.settings.checkpoint import check_id

_DIFFERS = "the trial's own file and the run's disagree; the trial's own counts"
_REPEATED = "an attempt of one run stands there twice with a verdict; the later is left out"


@dataclass(frozen=True)
class Imported:
    """A foreign result as a run of ours.

    Attributes:
        run: For run.toml.
        trials: For the ledger.
        copies: Records of trials that were found in more than one place and counted once.
    """

    run: RunRecord
    trials: tuple[TrialRecord, ...]
    copies: int


def read_foreign(root: Path, checkpoint: str, *, label: str = "", subset: str = "") -> Imported:
    """Read everything under a directory (or one file) as one result of one checkpoint.

    Args:
        root: A harbor job or trial, a `tb run` directory, a results file, or several of one
            harness in one directory.
        checkpoint: Whose result it is.
        label: For reports.
        subset: What the tasks are called together; by default the directory's name.

    Raises:
        SettingsError: The id cannot be one, there is no such path, nothing in it is a result, or
            it holds results of both harnesses or of tbeval itself.
    """
    check_id(checkpoint)
    if not root.exists():
        raise SettingsError(f"{root} does not exist.")
    if (root / RUN_FILE).exists():
        raise SettingsError(
            f"{root} is a run of tbeval: copy it to results/<checkpoint>/ as it is, or name it by "
            "its path."
        )
    oddities = Oddities()
    found: list[ForeignTrial] = []
    planned: dict[str, int] = defaultdict(int)
    for file in result_files(root, oddities):
        found.extend(_trials(file, oddities))
    if not found or found[0].source == harbor.SOURCE:
        finished = frozenset(trial.path.parent for trial in found)
        found.extend(harbor.unfinished(root, finished, oddities))
        planned.update(_planned_by_harbor(root, found, oddities))
    else:
        planned.update(_planned_by_terminal_bench(root, oddities))
    if not found:
        raise SettingsError(
            f"{root} holds no result that can be read: looked for result.json (harbor) and "
            "results.json (terminal-bench)" + "".join(f"; {each}" for each in oddities.sentences())
        )
    sources = sorted({trial.source for trial in found})
    if len(sources) > 1:
        raise SettingsError(f"{root} holds results of {' and '.join(sources)}: import one by one.")
    trials, copies = _once(found, oddities)
    numbered = _numbered(trials, oddities)
    return _assemble(
        numbered,
        planned,
        oddities,
        copies=copies,
        source=sources[0],
        checkpoint=checkpoint,
        label=label,
        subset=subset or root.resolve().name,
    )


def write_imported(imported: Imported, results: Path) -> tuple[Path, bool]:
    """Write a run's directory, whole or not at all.

    Returns:
        The directory, and whether it is new: the same result is imported once.
    """
    run = imported.run
    directory = results / run.checkpoint / run.run_id
    if directory.exists():
        return directory, False
    temporary = directory.with_name(f".{run.run_id}.new")
    temporary.mkdir(parents=True, exist_ok=True)
    write_run(temporary, run)
    (temporary / LEDGER_FILE).write_bytes(b"".join(trial.to_line() for trial in imported.trials))
    temporary.rename(directory)
    return directory, True


def _trials(file: ResultFile, oddities: Oddities) -> Iterable[ForeignTrial]:
    if terminal_bench.is_ours(file.content):
        return terminal_bench.trials_in(file, oddities)
    if harbor.is_trial(file.content):
        return (harbor.trial_in(file, oddities),)
    if not harbor.is_job(file.content):
        oddities.note("a file is no result of harbor or terminal-bench; left out", file.path)
    return ()


def _planned_by_terminal_bench(root: Path, oddities: Oddities) -> Mapping[str, int]:
    """Task → attempts that the runs' metadata promise; a copied run counts once."""
    runs: dict[str, dict[str, object]] = {}
    paths = root.rglob(terminal_bench.METADATA) if root.is_dir() else ()
    for path in sorted(paths):
        content = read_object(path, oddities)
        if content is not None:
            runs[text(content.get("uuid")) or text(content.get("run_id")) or str(path)] = content
    planned: dict[str, int] = defaultdict(int)
    for content in runs.values():
        tasks, attempts = content.get("task_ids"), content.get("n_attempts")
        if isinstance(tasks, list) and isinstance(attempts, int):
            for task in tasks:
                planned[text(task)] += attempts
    return planned


def _planned_by_harbor(
    root: Path, found: Iterable[ForeignTrial], oddities: Oddities
) -> Mapping[str, int]:
    """Task → attempts that the jobs' configurations promise for the tasks that were begun."""
    tasks: dict[str, set[str]] = defaultdict(set)
    for trial in found:
        tasks[trial.run].add(trial.task)
    planned: dict[str, int] = defaultdict(int)
    for run, names in tasks.items():
        config = Path(run) / "config.json"
        content = (read_object(config, oddities) or {}) if config.is_file() else {}
        total = _total_of_job(Path(run), oddities)
        attempts = content.get("n_attempts")
        if isinstance(attempts, int) and not isinstance(attempts, bool):
            for name in names:
                planned[name] += attempts
            if total is not None and total > attempts * len(names):
                oddities.note(
                    f"a job planned {total} trials, and {attempts * len(names)} can be told from "
                    "its tasks: tasks that never began are not known by name",
                    root,
                )
    return planned


def _total_of_job(directory: Path, oddities: Oddities) -> int | None:
    path = directory / "result.json"
    total = (read_object(path, oddities) or {}).get("n_total_trials") if path.is_file() else None
    return total if isinstance(total, int) else None


def _once(found: Iterable[ForeignTrial], oddities: Oddities) -> tuple[list[ForeignTrial], int]:
    """Each trial once, by its key; its own file goes before a file about the run."""
    by_key: dict[str, ForeignTrial] = {}
    copies = 0
    for trial in sorted(found, key=lambda trial: (not trial.own_file, len(trial.path.parts))):
        first = by_key.setdefault(trial.key, trial)
        if first is trial:
            continue
        copies += 1
        if (first.published, first.outcome) != (trial.published, trial.outcome):
            oddities.note(_DIFFERS, first.name)
    return list(by_key.values()), copies


def _numbered(
    trials: list[ForeignTrial], oddities: Oddities
) -> list[tuple[int, int, ForeignTrial]]:
    """Attempt and try of each trial: runs by when they began, then by the harness's number."""
    began: dict[str, datetime] = {}
    for trial in trials:
        began[trial.run] = min(began.get(trial.run, trial.began), trial.began)
    ordered = sorted(
        trials,
        key=lambda t: (t.task, began[t.run], t.run, t.number or 0, t.began, t.name),
    )
    numbered: list[tuple[int, int, ForeignTrial]] = []
    attempts: dict[str, int] = defaultdict(int)
    cells: dict[tuple[str, str, int], tuple[int, list[ForeignTrial]]] = {}
    for trial in ordered:
        if trial.number is None:
            attempts[trial.task] += 1
            numbered.append((attempts[trial.task], 1, trial))
            continue
        cell = (trial.run, trial.task, trial.number)
        if cell not in cells:
            attempts[trial.task] += 1
            cells[cell] = (attempts[trial.task], [])
        attempt, tries = cells[cell]
        if trial.outcome.scored and any(each.outcome.scored for each in tries):
            oddities.note(_REPEATED, trial.name)
            continue
        tries.append(trial)
        numbered.append((attempt, len(tries), trial))
    return numbered


def _assemble(
    numbered: list[tuple[int, int, ForeignTrial]],
    planned: Mapping[str, int],
    oddities: Oddities,
    *,
    copies: int,
    source: str,
    checkpoint: str,
    label: str,
    subset: str,
) -> Imported:
    made: dict[str, int] = defaultdict(int)
    digests: dict[str, str] = {}
    for attempt, _, trial in numbered:
        made[trial.task] = max(made[trial.task], attempt)
        if digests.setdefault(trial.task, trial.task_digest) != trial.task_digest:
            oddities.note("a task changed between its attempts", trial.task)
    for task, attempts in planned.items():
        if attempts > made[task]:
            missing = attempts - made[task]
            oddities.note("planned attempts that left no trace; not run", f"{task}: {missing}")
        made[task] = max(made[task], attempts)
    most = max(made.values())
    tasks = tuple(
        RunTask(
            id=task,
            digest=digests.get(task, ""),
            attempts=None if attempts == most else attempts,
        )
        for task, attempts in sorted(made.items())
    )
    first = numbered[0][2]
    began = min((trial.began for _, _, trial in numbered), default=first.began)
    created = datetime(1970, 1, 1, tzinfo=UTC) if began == UNKNOWN_TIME else began
    run_id = f"{created:%Y%m%d-%H%M%S}-{_digest(numbered)}"
    scoring = {"source": source, "agent": first.agent or "unknown", "model": first.model}
    run = RunRecord(
        run_id=run_id,
        source=source,
        created=created,
        checkpoint=checkpoint,
        label=label,
        subset=subset,
        agent=first.agent or "unknown",
        protocol="unknown",
        attempts=most,
        sandbox="unknown",
        scoring=scoring,
        identity={"model": first.model} if first.model else {},
        fingerprint=fingerprint(scoring, tasks),
        notes=oddities.sentences(),
        tasks=tasks,
    )
    records = tuple(_record(trial, attempt, number, run_id) for attempt, number, trial in numbered)
    return Imported(run, records, copies)


def _digest(numbered: list[tuple[int, int, ForeignTrial]]) -> str:
    lines = sorted(f"{t.key} {t.task} {a}.{n} {t.outcome} {t.score}" for a, n, t in numbered)
    return hashlib.sha256("\n".join(lines).encode(errors="replace")).hexdigest()[:8]


def _record(trial: ForeignTrial, attempt: int, number: int, run_id: str) -> TrialRecord:
    scored = trial.outcome.scored
    return TrialRecord(
        trial_id=f"{trial.task}.{attempt}.{number}-{run_id}",
        task=trial.task,
        attempt=attempt,
        try_number=number,
        outcome=trial.outcome,
        error_class=trial.error_class,
        error_message=trial.error_message,
        score=trial.score,
        solved=trial.outcome is Outcome.SOLVED if scored else None,
        solved_published=trial.published,
        tests=trial.tests,
        stop_reason=trial.stop_reason,
        tokens_in=trial.tokens_in,
        tokens_out=trial.tokens_out,
        phases=trial.phases,
        task_digest=trial.task_digest,
    )
