"""How much of the machine a sandbox may take, and who holds it to that."""

import os
from dataclasses import dataclass

from tbeval.records.sandbox import Limit
from tbeval.sandboxes import cgroups

MB = 1024 * 1024
DEFAULT_MEMORY_MB = 2048
DEFAULT_STORAGE_MB = 1024
DEFAULT_PROCESSES = 512
SHM_MB = 64
OUTPUT_BYTES = 2 * 512 * 1024  # of each stream of one command
_MIN_STORAGE_SHARE = 4  # files lie in memory: a sandbox gets at most this part of it


@dataclass(frozen=True)
class Limits:
    """What one sandbox may use.

    Attributes:
        memory_mb: Of its processes.
        storage_mb: Of its files, which lie in memory too.
        processes: Threads count.
        cpus: None: all.
        network: Whether it has any.
    """

    memory_mb: int = DEFAULT_MEMORY_MB
    storage_mb: int = DEFAULT_STORAGE_MB
    processes: int = DEFAULT_PROCESSES
    cpus: float | None = None
    network: bool = False

    @property
    def inodes(self) -> int:
        """How many files: one for each 4 KB, as a common disk has them."""
        return self.storage_mb * MB // 4096

    @property
    def group_bytes(self) -> int:
        """Memory of the sandbox as a whole: processes and files."""
        return (self.memory_mb + self.storage_mb) * MB


def machine_memory_mb() -> int:
    """The machine's memory."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // MB


def limits_for(
    *, memory_mb: int | None, storage_mb: int | None, cpus: float | None, network: bool
) -> Limits:
    """What a task asks for, within what the machine has.

    Files lie in memory, so a task that asks for more storage than a quarter of the machine's
    memory gets that quarter; `Limits` and so the ledger tell what it got.
    """
    machine = machine_memory_mb()
    most_storage = max(machine // _MIN_STORAGE_SHARE, 64)
    return Limits(
        memory_mb=min(memory_mb or DEFAULT_MEMORY_MB, machine),
        storage_mb=min(storage_mb or DEFAULT_STORAGE_MB, most_storage),
        cpus=cpus,
        network=network,
    )


def granted_limits(limits: Limits | None = None) -> tuple[Limit, ...]:
    """What the kernel grants on this machine, to this user.

    Args:
        limits: Those of a task; the defaults if None.
    """
    asked = limits or Limits()
    where = cgroups.hierarchy()
    held = where.parents if where else {}
    group = f"cgroup v{where.version}" if where else "none"
    memory = Limit(name="memory", value=f"{asked.memory_mb} MB", means="prlimit, each process")
    if "memory" in held:
        total = asked.memory_mb + asked.storage_mb
        memory = Limit(name="memory", value=f"{total} MB, files included", means=group)
    cpu = f"{asked.cpus:g}" if asked.cpus else "all"
    cpu_means = group if "cpu" in held and asked.cpus else "none"
    return (
        memory,
        Limit(
            name="processes",
            value=str(asked.processes),
            means=group if "pids" in held else "prlimit",
        ),
        Limit(name="cpu", value=cpu, means=cpu_means),
        Limit(
            name="storage",
            value=f"{asked.storage_mb} MB, {asked.inodes} files",
            means="tmpfs size",
        ),
        Limit(name="file-size", value=f"{asked.storage_mb} MB", means="prlimit"),
        Limit(name="output", value=f"{OUTPUT_BYTES // 1024} KB a stream", means="harness"),
        Limit(
            name="network",
            value="the host's" if asked.network else "none",
            means="none" if asked.network else "network namespace",
        ),
    )
