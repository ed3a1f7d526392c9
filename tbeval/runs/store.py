"""Runs on disk: make one, lock one, find the one to continue."""

import contextlib
import os
from pathlib import Path

from tbeval.records.run import (
    LEDGER_FILE,
    RUN_FILE,
    RunFileError,
    RunRecord,
    read_run,
    write_run,
)
from tbeval.settings.base import SettingsError


def check_writable(directory: Path, option: str) -> None:
    """Make a directory, and make sure that it can be written.

    Args:
        directory: Where results or reports go.
        option: The option that names another one.

    Raises:
        SettingsError: It cannot, and why.
    """
    probe = directory / f".writable-{os.getpid()}"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with probe.open("wb") as file:
            file.write(b"\0" * 65536)
            os.fsync(file.fileno())
    except OSError as error:
        raise SettingsError(
            f"The directory {directory} cannot be written ({error.strerror}): free space or mend "
            f"its permissions, or choose another with {option}."
        ) from error
    finally:
        with contextlib.suppress(OSError):
            probe.unlink(missing_ok=True)


def create_run(results_dir: Path, run: RunRecord) -> Path:
    """Make the directory of a new run, with its run.toml.

    Raises:
        SettingsError: The checkpoint's directory belongs to somebody else, or is none.
        OSError: The disk is full.
    """
    directory = results_dir / run.checkpoint / run.run_id
    try:
        directory.mkdir(parents=True)
    except (PermissionError, NotADirectoryError, FileExistsError) as error:
        raise SettingsError(
            f"The directory {directory} cannot be made ({error.strerror}): mend the permissions of "
            f"{directory.parent}, or choose another place with --results-dir."
        ) from error
    # While a trial runs, harbor's config.json holds its address at the gateway: nobody else's.
    (directory / "trials").mkdir(mode=0o700)
    (directory / "model").mkdir()
    write_run(directory, run)
    return directory


def runs_of(results_dir: Path, checkpoint: str) -> tuple[Path, ...]:
    """The directories of a checkpoint's runs, newest first."""
    found = [path.parent for path in (results_dir / checkpoint).glob(f"*/{RUN_FILE}")]
    return tuple(sorted(found, key=lambda path: path.name, reverse=True))


def newest_with(results_dir: Path, checkpoint: str, fingerprint: str) -> Path | None:
    """The newest run of a checkpoint with these settings, or None.

    A run whose run.toml cannot be read is nobody's to continue: commands that name it say why.
    """
    for directory in runs_of(results_dir, checkpoint):
        with contextlib.suppress(RunFileError):
            if read_run(directory).fingerprint == fingerprint:
                return directory
    return None


def ledger_path(directory: Path) -> Path:
    """Where a run's ledger lies."""
    return directory / LEDGER_FILE
