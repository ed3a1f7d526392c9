"""Where sandboxes keep what must outlive them: the toolbox, and who started what.

Each live sandbox has a record here that names its owner, the harness process. A record whose owner
is dead is what SIGKILL left behind; `reap` removes what it names, and nothing else.
"""

import contextlib
import json
import os
import random
import signal
import stat
import time
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from tbeval.records.base import Record
from tbeval.records.process import ProcessId, process_id
from tbeval.records.process import pid_namespace as namespace_of_pids
from tbeval.sandboxes import cgroups
from tbeval.sandboxes.errors import SandboxStartError

STATE_DIR_VARIABLE = "TBEVAL_STATE_DIR"
_MODE = 0o711  # others may pass through, to the toolbox, and not look around
_TRIES = 1000
_REAP_TRIES, _REAP_PAUSE_SEC = 200, 0.005

# Uids between systemd's container range and its foreign range belong to nobody.
_FIRST_UID, _UIDS = 1_900_000_000, 1_000_000
# Where only 16 bits of uids are mapped (a container without root): below systemd's dynamic users.
_FIRST_SMALL_UID, _SMALL_UIDS = 60_600, 500


class SandboxRecord(Record):
    """What one sandbox has on this machine."""

    number: int  # its uid where we are root
    owner: ProcessId
    run_id: str
    pid_namespace: int  # in which the numbers of its processes mean something
    cgroups: tuple[str, ...] = ()
    processes: tuple[ProcessId, ...] = ()


def state_dir() -> Path:
    """The directory of tbeval's state on this machine, made if it is not there.

    `$TBEVAL_STATE_DIR`, or a directory of this user in /var/tmp: on a local disk, and never under
    a home directory, since the users that sandboxes run as cannot enter root's.

    Raises:
        SandboxStartError: It is not a directory of this user's.
    """
    path = Path(os.environ.get(STATE_DIR_VARIABLE) or f"/var/tmp/tbeval-{os.getuid()}")  # noqa: S108 - owner and kind are checked below
    advice = f"Remove it, or set {STATE_DIR_VARIABLE} to a directory of yours."
    try:
        with contextlib.suppress(FileExistsError):
            path.mkdir(mode=_MODE, parents=True)
        found = path.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
            raise SandboxStartError(f"{path} is not a directory owned by this user. {advice}")
        if stat.S_IMODE(found.st_mode) != _MODE:
            path.chmod(_MODE)
    except OSError as error:
        raise SandboxStartError(f"{path} cannot be used: {error.strerror}. {advice}") from error
    return path


def _records_dir() -> Path:
    path = state_dir() / "sandboxes"
    path.mkdir(mode=0o700, exist_ok=True)
    return path


def _numbers() -> tuple[int, int]:
    """First number for sandboxes and how many there are, from the uids that this machine maps."""
    for line in Path("/proc/self/uid_map").read_text(encoding="ascii").splitlines():
        first, _, count = (int(word) for word in line.split())
        if first <= _FIRST_UID and first + count >= _FIRST_UID + _UIDS:
            return _FIRST_UID, _UIDS
    return _FIRST_SMALL_UID, _SMALL_UIDS


def claim(run_id: str) -> SandboxRecord:
    """Reserve a number (and so a uid) that no other sandbox of this machine has.

    Raises:
        SandboxStartError: All are taken.
    """
    directory = _records_dir()
    owner = process_id(os.getpid())
    first, count = _numbers()
    for _ in range(_TRIES):
        number = first + random.randrange(count)  # noqa: S311 - it need only be free
        record = SandboxRecord(
            number=number, owner=owner, run_id=run_id, pid_namespace=namespace_of_pids()
        )
        try:
            with _path(directory, number).open("x", encoding="utf-8") as file:
                file.write(record.model_dump_json())
        except FileExistsError:
            continue
        return record
    raise SandboxStartError(f"No number is free for a sandbox: {directory} is full of records.")


def update(record: SandboxRecord) -> None:
    """Write down what a sandbox has now, before or as soon as it has it."""
    path = _path(_records_dir(), record.number)
    temporary = path.with_suffix(".new")
    temporary.write_text(record.model_dump_json(), encoding="utf-8")
    temporary.replace(path)


def release(record: SandboxRecord) -> None:
    """Forget a sandbox of which nothing is left."""
    _path(_records_dir(), record.number).unlink(missing_ok=True)


def _path(directory: Path, number: int) -> Path:
    return directory / f"{number}.json"


def orphans() -> Iterator[SandboxRecord]:
    """The sandboxes of dead harness processes."""
    for path in sorted(_records_dir().glob("*.json")):
        try:
            record = SandboxRecord.model_validate(json.loads(path.read_bytes()))
        except FileNotFoundError:
            continue  # its owner released it just now
        except (ValueError, ValidationError):
            continue  # being written by its owner, or by another version
        if not record.owner.alive and record.pid_namespace == namespace_of_pids():
            yield record


def remove(record: SandboxRecord) -> bool:
    """Remove what an orphan left: its processes and cgroups. Tells whether all of it is gone."""
    for process in record.processes:
        if process.alive:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process.pid, signal.SIGKILL)
    gone = _remove_groups(record.cgroups)
    if gone:
        release(record)
    return gone


def reap() -> int:
    """Remove all orphans; returns how many."""
    return sum(remove(record) for record in orphans())


def _remove_groups(groups: tuple[str, ...]) -> bool:
    for _ in range(_REAP_TRIES):
        if all(cgroups.remove(Path(group), kill=True) for group in groups):
            return True
        time.sleep(_REAP_PAUSE_SEC)
    return False
