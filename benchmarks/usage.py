"""What a process has used so far."""

import resource
from pathlib import Path


def own_cpu_sec() -> float:
    """User and system time of this process, seconds."""
    return _cpu(resource.RUSAGE_SELF)


def all_cpu_sec() -> float:
    """That, and of all its children that have ended, and theirs."""
    return own_cpu_sec() + children_cpu_sec()


def children_cpu_sec() -> float:
    """User and system time of the children that have ended, and of theirs, seconds."""
    return _cpu(resource.RUSAGE_CHILDREN)


def rss_mb() -> float:
    """Resident memory of this process, MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def _cpu(whose: int) -> float:
    usage = resource.getrusage(whose)
    return usage.ru_utime + usage.ru_stime
