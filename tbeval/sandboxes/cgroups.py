"""Control groups, where the kernel lets us have them: memory, processes and CPU of a sandbox.

Version 1 and version 2 are both in use (Debian boots with 2, containers and small virtual machines
often have 1). A sandbox gets one group with its memory and CPU limits, and two groups with a
limit of processes each: `inside` for what the agent runs, `harness` for what we run there, so that
a fork bomb cannot keep the verifier or the download of logs from starting.
"""

import contextlib
import os
import signal
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_ROOT = Path("/sys/fs/cgroup")
_CONTROLLERS = ("memory", "pids", "cpu")
_PERIOD_US = 100_000
_V2 = 2


@dataclass(frozen=True)
class Hierarchy:
    """Where groups can be made.

    Attributes:
        version: 1 or 2.
        parents: Controller -> the directory under which a sandbox's group is made.
    """

    version: int
    parents: dict[str, Path]


@dataclass(frozen=True)
class SandboxGroups:
    """The groups of one sandbox.

    Attributes:
        inside: Files to write a process id to: for what the agent runs.
        harness: The same for what we run in the sandbox.
        memory: The group that limits memory; None if there is none.
        pids: The group that limits the agent's processes; None if there is none.
    """

    version: int
    inside: tuple[Path, ...]
    harness: tuple[Path, ...]
    memory: Path | None
    pids: Path | None

    def memory_kills(self) -> int:
        """How many processes the kernel killed for want of memory."""
        if self.memory is None:
            return 0
        name = "memory.events" if self.version == _V2 else "memory.oom_control"
        return _counter(self.memory / name, "oom_kill")

    def refused_forks(self) -> int:
        """How often the limit of processes stopped a fork."""
        return _counter(self.pids / "pids.events", "max") if self.pids else 0


def _counter(path: Path, name: str) -> int:
    try:
        lines = path.read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    for line in lines:
        key, _, value = line.partition(" ")
        if key == name:
            return int(value)
    return 0


@cache
def hierarchy() -> Hierarchy | None:
    """Where this process may make groups; None where it may not (found out once)."""
    if os.geteuid() != 0:
        return None
    return find_hierarchy(_ROOT)


def find_hierarchy(root: Path) -> Hierarchy | None:
    """Where groups can be made below a mounted control group file system.

    They are made at its top, not below the group that this process is in: whoever made that one
    (a login session) could not remove it as long as ours were there.

    Args:
        root: Its mount point.
    """
    if (root / "cgroup.controllers").exists():
        return _version_2(root)
    return _version_1(root)


def _version_1(root: Path) -> Hierarchy | None:
    parents = {controller: root / controller / "tbeval" for controller in _CONTROLLERS}
    usable = {name: path for name, path in parents.items() if _usable(path)}
    return Hierarchy(1, usable) if usable else None


def _version_2(root: Path) -> Hierarchy | None:
    parent = root / "tbeval"
    available = set((root / "cgroup.controllers").read_text(encoding="ascii").split())
    wanted = [name for name in _CONTROLLERS if name in available]
    if not _usable(parent):
        return None
    enabled: dict[str, Path] = {}
    for name in wanted:
        with contextlib.suppress(OSError):
            for directory in (root, parent):
                (directory / "cgroup.subtree_control").write_text(f"+{name}", encoding="ascii")
            enabled[name] = parent
    return Hierarchy(2, enabled) if enabled else None


def _usable(parent: Path) -> bool:
    try:
        parent.mkdir(exist_ok=True)
        probe = parent / f"probe-{os.getpid()}"
        probe.mkdir(exist_ok=True)
        probe.rmdir()
    except OSError:
        return False
    return True


def directories(where: Hierarchy | None, name: str) -> tuple[Path, ...]:
    """The groups that `create` would make for a sandbox of this name, children first."""
    if where is None:
        return ()
    groups = dict.fromkeys(parent / name for parent in where.parents.values())
    pids = where.parents.get("pids")
    leaves = (pids / name / "inside", pids / name / "harness") if pids else ()
    return (*leaves, *groups)


def create(
    where: Hierarchy, name: str, *, memory_bytes: int, processes: int, cpus: float | None
) -> SandboxGroups:
    """Make the groups of one sandbox.

    Raises:
        OSError: The kernel refuses what it granted when `hierarchy` asked.
    """
    made = directories(where, name)
    for directory in reversed(made):
        directory.mkdir(exist_ok=True)
    groups = {controller: parent / name for controller, parent in where.parents.items()}
    limit = _limit_2 if where.version == _V2 else _limit_1
    limit(groups, memory_bytes, cpus)
    pids = groups.get("pids")
    joins: dict[str, tuple[Path, ...]] = {}
    for kind in ("inside", "harness"):
        if pids is not None:
            (pids / kind / "pids.max").write_text(str(processes), encoding="ascii")
        ends = dict.fromkeys(group / kind if group == pids else group for group in groups.values())
        joins[kind] = tuple(end / "cgroup.procs" for end in ends)
    return SandboxGroups(
        version=where.version,
        inside=joins["inside"],
        harness=joins["harness"],
        memory=groups.get("memory"),
        pids=pids / "inside" if pids else None,
    )


def _limit_1(groups: dict[str, Path], memory_bytes: int, cpus: float | None) -> None:
    if memory := groups.get("memory"):
        (memory / "memory.limit_in_bytes").write_text(str(memory_bytes), encoding="ascii")
        (memory / "memory.swappiness").write_text("0", encoding="ascii")
        swap = memory / "memory.memsw.limit_in_bytes"  # absent where swap is not accounted
        if swap.exists():
            swap.write_text(str(memory_bytes), encoding="ascii")
    if (cpu := groups.get("cpu")) and cpus:
        (cpu / "cpu.cfs_period_us").write_text(str(_PERIOD_US), encoding="ascii")
        (cpu / "cpu.cfs_quota_us").write_text(str(int(cpus * _PERIOD_US)), encoding="ascii")


def _limit_2(groups: dict[str, Path], memory_bytes: int, cpus: float | None) -> None:
    if memory := groups.get("memory"):
        (memory / "memory.max").write_text(str(memory_bytes), encoding="ascii")
        swap = memory / "memory.swap.max"  # absent where swap is not accounted
        if swap.exists():
            swap.write_text("0", encoding="ascii")
    if (cpu := groups.get("cpu")) and cpus:
        quota = f"{int(cpus * _PERIOD_US)} {_PERIOD_US}"
        (cpu / "cpu.max").write_text(quota, encoding="ascii")
    if pids := groups.get("pids"):
        (pids / "cgroup.subtree_control").write_text("+pids", encoding="ascii")


def join(files: tuple[Path, ...], pid: int) -> None:
    """Put a process into groups.

    Raises:
        OSError: The process is gone, or the group is.
    """
    for file in files:
        file.write_text(str(pid), encoding="ascii")


def remove(directory: Path, *, kill: bool = False) -> bool:
    """Try to remove a group; with `kill`, the processes in it are killed first.

    Returns:
        Whether it is gone. A killed process leaves its group a little later: try again then.
    """
    if kill:
        _kill_all(directory)
    try:
        directory.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _kill_all(directory: Path) -> None:
    with contextlib.suppress(OSError):
        for word in (directory / "cgroup.procs").read_text(encoding="ascii").split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(word), signal.SIGKILL)
