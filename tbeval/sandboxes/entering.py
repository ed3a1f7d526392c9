"""The command lines that run something inside a sandbox.

A command goes through: our control groups, the sandbox's uid (where we are root), the sandbox's
name spaces; it has every capability in them at that point, and then either keeps them (set-up and
the verifier's mounts: "trusted") or loses all before the command starts.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from tbeval.sandboxes.limits import MB, Limits
from tbeval.sandboxes.programs import ENV, NSENTER, PRLIMIT, SETPRIV, SH

# Variables that change what the programs on the way inside load: they are set after them.
_LOADER_PREFIXES = ("LD_", "GLIBC_", "GCONV_", "LOCPATH", "TAR_OPTIONS", "MALLOC_", "BASH_", "ENV")

_NAMESPACES = {
    "U": "user",
    "m": "mnt",
    "p": "pid",
    "n": "net",
    "i": "ipc",
    "u": "uts",
    "C": "cgroup",
}
_RESERVE = 256  # processes
_DIES_FIRST = 300  # of 1000; see proc_pid_oom_score_adj(5)


@dataclass(frozen=True)
class Door:
    """How to enter one sandbox.

    Attributes:
        pid: Its first process, as the host numbers it.
        uid: The uid to drop to first; None if we are not root.
        inside: Control groups for what the agent runs.
        harness: Control groups for what we run.
        limits: For `prlimit`.
        memory_group: Whether a control group limits memory; `prlimit` does otherwise.
        pids_group: The same for processes.
        namespaces: nsenter's letters for the name spaces that are not the host's.
    """

    pid: int
    uid: int | None
    inside: tuple[Path, ...]
    harness: tuple[Path, ...]
    limits: Limits
    memory_group: bool
    pids_group: bool
    namespaces: str

    def enter(self, *, harness: bool) -> list[str]:
        """Up to the name spaces; what follows has all capabilities in them."""
        files = self.harness if harness else self.inside
        steps = [f"echo 0 > {file}" for file in files]
        if not harness:  # out of memory, what the agent runs dies before what holds the sandbox
            steps.append(f"echo {_DIES_FIRST} > /proc/self/oom_score_adj")
        argv = [SH, "-c", " && ".join([*steps, 'exec "$@"']), "sh"] if steps else []
        if self.uid is not None:
            uid = str(self.uid)
            argv += [SETPRIV, f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--"]
        argv += [NSENTER, "--preserve-credentials", "-t", str(self.pid)]
        return [*argv, *(f"-{letter}" for letter in self.namespaces), "-r", "-w", "--"]

    def drop(self, *, harness: bool, keep: str = "") -> list[str]:
        """Lose all capabilities but the named one, for good, and take on the limits."""
        bounding = "-all" + (f",+{keep}" if keep else "")
        argv = [SETPRIV, f"--bounding-set={bounding}", "--inh-caps=-all", "--no-new-privs", "--"]
        argv += [PRLIMIT, "--core=0", f"--fsize={self.limits.storage_mb * MB}"]
        if not self.pids_group:
            # The limit is compared with all processes inside: ours start where the agent's cannot.
            argv += [f"--nproc={self.limits.processes + (_RESERVE if harness else 0)}"]
        if not self.memory_group:
            argv += [f"--as={self.limits.memory_mb * MB}"]
        return [*argv, "--"]

    def command(
        self, argv: list[str], *, cwd: str, late_env: dict[str, str], insist: bool = True
    ) -> list[str]:
        """The whole way to an ordinary command; see `in_directory`."""
        chdir = in_directory(cwd, late_env, insist=insist)
        return [*self.enter(harness=False), *self.drop(harness=False), *chdir, *argv]

    def trusted(self, argv: list[str]) -> list[str]:
        """The whole way to a command of ours that keeps its capabilities."""
        return [*self.enter(harness=True), *argv]

    def plain(self, argv: list[str]) -> list[str]:
        """The whole way to a command of ours that has none, outside the agent's process limit."""
        return [*self.enter(harness=True), *self.drop(harness=True), *argv]


def in_directory(cwd: str, late_env: dict[str, str], *, insist: bool = True) -> list[str]:
    """Change the working directory and set variables; the command follows.

    Without `insist`, the root directory serves where `cwd` is gone: an agent that has removed
    its own working directory can go on, and be judged.
    """
    variables = [f"{key}={value}" for key, value in late_env.items()]
    if insist:
        return [ENV, f"--chdir={cwd}", *variables]
    script = 'cd -- "$1" 2>/dev/null || cd /; shift; exec "$@"'
    return [SH, "-c", script, "sh", cwd, ENV, *variables]


def own_namespaces(pid: int) -> str:
    """Nsenter's letters for the name spaces of a process that differ from ours.

    Only those can be entered: with the host's network, its network name space is the host's.
    """
    found = ""
    for letter, name in _NAMESPACES.items():
        try:
            differ = Path(f"/proc/{pid}/ns/{name}").stat().st_ino != (
                Path(f"/proc/self/ns/{name}").stat().st_ino
            )
        except FileNotFoundError:
            continue  # a kernel without this kind
        found += letter if differ else ""
    return found


def split_environment(env: dict[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Variables for the programs on the way, and those that must be set after them.

    The former are not seen on any command line; the latter are.
    """
    late = {key: value for key, value in env.items() if key.startswith(_LOADER_PREFIXES)}
    early = {key: value for key, value in env.items() if key not in late}
    return early, late


def is_root() -> bool:
    """Whether sandboxes are started as root, and so dropped to a uid of their own."""
    return os.geteuid() == 0
