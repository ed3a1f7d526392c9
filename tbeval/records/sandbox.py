"""What tbeval asks of a sandbox beyond harbor's `BaseEnvironment`, and what a sandbox tells."""

from enum import StrEnum
from typing import Protocol, runtime_checkable

from tbeval.records.base import Record


class Limit(Record):
    """One limit that the kernel granted to a sandbox, or did not.

    Attributes:
        name: `memory`, `processes`, `cpu`, `storage`, `file-size`, `output`, `network`.
        value: With its unit, for people: "1024 MB", "512".
        means: Who holds it: "cgroup v1", "cgroup v2", "prlimit", "tmpfs size", "none".
    """

    name: str
    value: str
    means: str


class SandboxDeath(StrEnum):
    """Who ended a sandbox that is no longer there."""

    TRIAL = "trial"  # its own doing: out of memory, processes, storage; killed from inside
    HOST = "host"  # anything else


class SandboxReport(Record):
    """The state of a sandbox when its trial ended."""

    limits: tuple[Limit, ...] = ()
    limits_hit: tuple[str, ...] = ()  # names of the limits that stopped something
    death: SandboxDeath | None = None  # None: it lived until we stopped it
    message: str = ""


class PrivateResult(Record):
    """What a command run out of the agent's reach left.

    `return_code` is the command's own, or 128 + signal. `timed_out` says that the limit ended it.
    `files` maps paths relative to the private directory to their bytes.
    """

    return_code: int
    stdout: str
    stderr: str
    timed_out: bool
    files: dict[str, bytes]


@runtime_checkable
class ReportsSandbox(Protocol):
    """A sandbox that can say how it fared."""

    def sandbox_report(self) -> SandboxReport:
        """The state now; cheap, no I/O into the sandbox; also after stop."""
        ...


@runtime_checkable
class RunsPrivately(Protocol):
    """A sandbox that can run a command that the agent's leftover processes cannot touch.

    The command sees the sandbox as it is (its files, network and processes), but `uploads` and
    `private_dir` exist for it and its children alone, so that a process left by the agent can
    neither read nor write them, and cannot look into the command's memory or environment.
    """

    async def exec_private(
        self,
        command: str,
        *,
        private_dir: str,
        uploads: dict[str, str],
        env: dict[str, str],
        cwd: str | None,
        timeout_sec: float,
    ) -> PrivateResult:
        """Run `command` with bash.

        Args:
            command: For `bash -c`.
            private_dir: An absolute path; an empty directory there, hidden from all others,
                whose files are returned.
            uploads: Absolute target directory inside -> host directory whose contents it shows,
                replacing whatever stood there.
            env: Added to the sandbox's environment.
            cwd: Working directory; the sandbox's own if None.
            timeout_sec: After this the command and its children are killed.

        What the trial left may keep the uploads from being put in place; the result is then that
        of a killed command.

        Raises:
            SandboxDiedError: The sandbox is gone.
        """
        ...


@runtime_checkable
class Enterable(Protocol):
    """A sandbox that another process can enter (for agents whose tools live in a worker)."""

    def enter_command(self, argv: list[str], *, tty: bool = False) -> list[str]:
        """The host command line that runs `argv` inside."""
        ...


class SandboxDiedError(RuntimeError):
    """The sandbox is no longer there."""
