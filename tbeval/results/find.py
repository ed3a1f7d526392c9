"""Find a run: the newest, or by checkpoint, run id or path."""

import difflib
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from tbeval.records.run import RUN_FILE
from tbeval.settings.base import SettingsError


@dataclass(frozen=True)
class FoundRun:
    """A run's directory, `results/<checkpoint>/<run id>`, and when it was begun."""

    directory: Path
    created: datetime

    @property
    def checkpoint(self) -> str:
        """The checkpoint's id."""
        return self.directory.parent.name

    @property
    def run_id(self) -> str:
        """The run's id."""
        return self.directory.name


def list_runs(results: Path) -> tuple[FoundRun, ...]:
    """All runs under a results directory, the oldest first.

    A directory whose run.toml cannot be read is no run: a run writes it before anything else.
    """
    return tuple(sorted(_runs(results), key=lambda run: (run.created, run.run_id)))


def find_run(results: Path, reference: str | None = None) -> Path:
    """The directory of a run.

    Args:
        results: The results directory.
        reference: A checkpoint's id (its newest run), a run's id, a path; None: the newest run.

    Raises:
        SettingsError: There is no such run; the sentence says which there are.
    """
    if reference is not None and _is_run(Path(reference)):
        return _directory(Path(reference))
    runs = list_runs(results)
    if not runs:
        raise SettingsError(f"there is no run in {results}; start one with: tbeval eval CHECKPOINT")
    if reference is None:
        return runs[-1].directory
    matching = [run for run in runs if reference in {run.run_id, run.checkpoint}]
    if matching:
        return matching[-1].directory
    names = sorted({run.checkpoint for run in runs})
    near = difflib.get_close_matches(reference, [*names, *(run.run_id for run in runs)], n=1)
    hint = f' (did you mean "{near[0]}"?)' if near else ""
    raise SettingsError(
        f'no run "{reference}" in {results}{hint}; it has runs of: {", ".join(names)}.'
    )


def _is_run(path: Path) -> bool:
    return (path / RUN_FILE).is_file() or (path.name == RUN_FILE and path.is_file())


def _directory(path: Path) -> Path:
    return path.parent if path.name == RUN_FILE else path


def _runs(results: Path) -> Iterator[FoundRun]:
    for path in results.glob(f"*/*/{RUN_FILE}"):
        try:
            created = tomllib.loads(path.read_text(encoding="utf-8"))["created"]
            moment = datetime.fromisoformat(created) if isinstance(created, str) else created
            yield FoundRun(path.parent, moment.astimezone())
        except (OSError, ValueError, KeyError, AttributeError):
            continue
