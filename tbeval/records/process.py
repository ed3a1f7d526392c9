"""A process, told apart from a later one with the same number."""

from pathlib import Path

from tbeval.records.base import Record


class ProcessId(Record):
    """A process of this machine: its number, and when it started."""

    pid: int
    started: int  # clock ticks since boot

    @property
    def alive(self) -> bool:
        """Whether this very process still exists (a zombie does not count)."""
        return _start_time(self.pid) == self.started


def process_id(pid: int) -> ProcessId:
    """The identity of a live process.

    Raises:
        ProcessLookupError: There is no such process.
    """
    started = _start_time(pid)
    if started is None:
        raise ProcessLookupError(f"no process {pid}")
    return ProcessId(pid=pid, started=started)


def pid_namespace() -> int:
    """In which name space the numbers of processes mean something here."""
    return Path("/proc/self/ns/pid").stat().st_ino


def _start_time(pid: int) -> int | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else int(fields[19])
