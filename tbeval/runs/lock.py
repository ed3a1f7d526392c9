"""One process writes a run, whatever machine it is on.

On one machine the kernel's lock decides: it goes with the process. Results may lie on a file system
that several machines share, where the lock of a machine that died may stay, or is not seen by
others. So the holder also writes a heartbeat, and who wants the run watches whether it goes on.
"""

import contextlib
import fcntl
import json
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

from tbeval.settings.base import SettingsError

LOCK_FILE = "lock"
HEARTBEAT_FILE = "heartbeat.json"
#: Between two beats.
BEAT_SEC = 5.0
#: A heartbeat that stands still for so long is a dead machine's. Not clocks are compared, which
#: differ between machines, but what the file says at the begin and at the end.
STILL_SEC = 4 * BEAT_SEC


class RunLockedError(SettingsError):
    """Another process writes this run."""


@dataclass(frozen=True)
class Heartbeat:
    """Who writes a run, and a number that grows."""

    host: str
    boot: str
    pid: int
    token: str
    beat: int

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}"


@dataclass
class RunLock:
    """A run that this process may write.

    Attributes:
        directory: The run's.
        file: The lock, open and locked.
        mine: The heartbeat's first beat.
        taken_over: From whom, if its machine is dead; empty otherwise.
    """

    directory: Path
    file: IO[str]
    mine: Heartbeat
    taken_over: str = ""

    def check(self) -> None:
        """Make sure that the run is still ours, before something is written.

        Raises:
            RunLockedError: This process was away for so long (a suspended machine) that another
                one took the run over.
        """
        holder = read_heartbeat(self.directory)
        away = not _is_in_place(self.directory, self.file)
        if away or (holder is not None and holder.token != self.mine.token):
            raise RunLockedError(
                f"The run {self.directory.name} was taken over by {holder or 'another process'}: "
                "this one had not been heard of. It writes nothing more."
            )


@contextmanager
def run_lock(directory: Path, note: Callable[[str], None] = lambda _: None) -> Iterator[RunLock]:
    """Hold a run for writing: one process at a time, on all machines that see the directory.

    Args:
        directory: The run's.
        note: Told what takes a while.

    Raises:
        RunLockedError: Another process holds it.
    """
    lock = _acquire(directory, note)
    ended = threading.Event()
    beating = threading.Thread(target=_beat, args=(directory, lock.mine, ended), daemon=True)
    beating.start()
    try:
        yield lock
    finally:
        ended.set()
        beating.join()
        with contextlib.suppress(RunLockedError, OSError):
            lock.check()
            (directory / HEARTBEAT_FILE).unlink(missing_ok=True)
        lock.file.close()  # the kernel frees it


def read_heartbeat(directory: Path) -> Heartbeat | None:
    """The last beat of who writes a run, or did; None if there is none that can be read."""
    try:
        return Heartbeat(**json.loads((directory / HEARTBEAT_FILE).read_bytes()))
    except (OSError, ValueError, TypeError):
        return None


def _acquire(directory: Path, note: Callable[[str], None]) -> RunLock:
    mine = Heartbeat(socket.gethostname(), _boot(), os.getpid(), secrets.token_hex(8), 0)
    taken_over = ""
    while True:
        file = (directory / LOCK_FILE).open("a+")
        free = _lock(file)
        seen = read_heartbeat(directory)
        if seen is not None and seen.boot != mine.boot:
            if _alive(directory, seen, note):
                file.close()
                raise _held(directory, seen)
            taken_over = str(seen)
        elif not free:
            file.close()
            raise _held(directory, seen)
        if not free:  # a dead machine's lock that the file system still keeps
            _set_aside(directory, file)
        elif _is_in_place(directory, file):  # else somebody set this very file aside meanwhile
            _write(directory, mine)
            return RunLock(directory, file, mine, taken_over)
        file.close()


def _is_in_place(directory: Path, file: IO[str]) -> bool:
    """Whether this open file is still the run's lock."""
    try:
        here = (directory / LOCK_FILE).stat()
    except FileNotFoundError:
        return False
    mine = os.fstat(file.fileno())
    return (here.st_dev, here.st_ino) == (mine.st_dev, mine.st_ino)


def _lock(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _set_aside(directory: Path, file: IO[str]) -> None:
    """Put a lock that nobody will free out of the way. Of several that try, one succeeds."""
    here = directory / LOCK_FILE
    with contextlib.suppress(OSError):
        if _is_in_place(directory, file):
            here.rename(directory / f"{LOCK_FILE}.dead-{secrets.token_hex(4)}")
            (directory / HEARTBEAT_FILE).unlink(missing_ok=True)


def _alive(directory: Path, seen: Heartbeat, note: Callable[[str], None]) -> bool:
    """Whether the heartbeat of another machine goes on."""
    note(f"the run was being written by {seen}: watching for {STILL_SEC:.0f} s whether it lives")
    until = time.monotonic() + STILL_SEC
    while time.monotonic() < until:
        time.sleep(min(BEAT_SEC / 5, 1.0))
        now = read_heartbeat(directory)
        if now is None:  # it ended in order
            return False
        if now != seen:
            return True
    return False


def _held(directory: Path, holder: Heartbeat | None) -> RunLockedError:
    return RunLockedError(
        f"The run {directory.name} is being written by {holder or 'another process'}: wait for it, "
        "or start another run with --new."
    )


def _beat(directory: Path, mine: Heartbeat, ended: threading.Event) -> None:
    number = 0
    while not ended.wait(BEAT_SEC):
        number += 1
        now = read_heartbeat(directory)
        if now is not None and now.token != mine.token:
            return  # taken over: `check` says so before the next line is written
        with contextlib.suppress(OSError):  # a full disk: the next beat may find room
            _write(directory, Heartbeat(**asdict(mine) | {"beat": number}))


def _write(directory: Path, beat: Heartbeat) -> None:
    temporary = directory / f".{HEARTBEAT_FILE}.{beat.token}"
    temporary.write_text(json.dumps(asdict(beat)), encoding="utf-8")
    temporary.replace(directory / HEARTBEAT_FILE)


def _boot() -> str:
    """What tells this machine, since it was started, from all others."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        boot = ""
    return f"{socket.gethostname()} {boot}"
