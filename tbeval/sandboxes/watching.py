"""Which limits of a sandbox stopped something.

Control groups count, and a full file system can be seen. Without control groups only what a
command says about its end tells that `prlimit` stopped it: an honest effort, no proof.
"""

import contextlib
import os
import signal

from tbeval.sandboxes.cgroups import SandboxGroups
from tbeval.sandboxes.processes import Capture

_FILE_SIZE_CODE = 128 + signal.SIGXFSZ
_LAST = 4096  # characters of each stream that are looked at
# What programs say when prlimit, which counts nothing, stops them.
_FORK_REFUSED = ("fork: retry", "fork: Resource temporarily unavailable", "BlockingIOError",
                 "can't start new thread", "Cannot fork", "fork failed")  # fmt: skip
_MEMORY_REFUSED = ("MemoryError", "Cannot allocate memory", "memory exhausted", "std::bad_alloc",
                   "cannot allocate memory", "Out of memory")  # fmt: skip


class Watch:
    """Collects the limits that one sandbox ran into."""

    def __init__(self, groups: SandboxGroups | None) -> None:
        self._groups = groups
        self._hit: set[str] = set()

    @property
    def limits_hit(self) -> tuple[str, ...]:
        """Their names, sorted."""
        return tuple(sorted(self._hit))

    def hit(self, name: str) -> None:
        """A limit of this name stopped something."""
        self._hit.add(name)

    def memory_kills(self) -> int:
        """How many processes the kernel killed for want of memory, as far as it counts them."""
        return self._groups.memory_kills() if self._groups else 0

    def sample(self, pid: int | None) -> None:
        """Look at what can be counted.

        Args:
            pid: A process inside; None if there is none any more.
        """
        if self.memory_kills():
            self._hit.add("memory")
        if self._groups is not None and self._groups.refused_forks():
            self._hit.add("processes")
        if pid is not None:
            with contextlib.suppress(OSError):
                root = os.statvfs(f"/proc/{pid}/root")
                if root.f_bavail == 0 or root.f_favail == 0:
                    self._hit.add("storage")

    def notice(self, return_code: int, stdout: Capture, stderr: Capture) -> None:
        """Look at how a command ended."""
        if stdout.cut or stderr.cut:
            self._hit.add("output")
        if return_code == 0:
            return
        said = stdout.text()[-_LAST:] + stderr.text()[-_LAST:]
        if return_code == _FILE_SIZE_CODE or "File too large" in said:
            self._hit.add("file-size")
        if "No space left on device" in said:
            self._hit.add("storage")
        counted_forks = self._groups is not None and self._groups.pids is not None
        if not counted_forks and any(word in said for word in _FORK_REFUSED):
            self._hit.add("processes")
        counted_memory = self._groups is not None and self._groups.memory is not None
        if not counted_memory and any(word in said for word in _MEMORY_REFUSED):
            self._hit.add("memory")
