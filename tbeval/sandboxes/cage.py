"""One sandbox: its life from bwrap's start to its last process, without harbor."""

import asyncio
import contextlib
import json
import os
import select
import signal
from pathlib import Path
from typing import IO

from tbeval.records.process import process_id
from tbeval.records.sandbox import (
    SandboxDeath,
    SandboxDiedError,
    SandboxReport,
)
from tbeval.sandboxes import cgroups, programs, rootfs, state
from tbeval.sandboxes.entering import Door, is_root, own_namespaces, split_environment
from tbeval.sandboxes.errors import SandboxStartError
from tbeval.sandboxes.limits import OUTPUT_BYTES, Limits, granted_limits
from tbeval.sandboxes.processes import Capture, Finished, Pipes, Sink, Stream, run
from tbeval.sandboxes.spawning import memory_file, spawn
from tbeval.sandboxes.toolbox import Toolbox
from tbeval.sandboxes.watching import Watch

_START_SEC = 30.0
_DEATH_SEC = 0.2
_STOP_SEC = 5.0
_CLEAN_TRIES, _CLEAN_PAUSE_SEC = 200, 0.005
_MOST_ARGUMENT = 100_000  # bytes of one argument; the kernel takes 128 KB
_NEVER_OOM = "-1000"
_NOT_ENTERED = b"nsenter: "
#: What a shell says of a command that was killed.
KILLED_CODE = 128 + signal.SIGKILL


class Cage:
    """A running sandbox. Make one with `Cage.start`."""

    def __init__(
        self,
        record: state.SandboxRecord,
        limits: Limits,
        groups: cgroups.SandboxGroups | None,
        process: asyncio.subprocess.Process,
    ) -> None:
        self._record = record
        self._limits = limits
        self._groups = groups
        self._process = process
        self._pidfd = -1
        self._pipes = Pipes()
        self._watch = Watch(groups)
        self._death: SandboxDeath | None = None
        self._message = ""
        self._stopped = False
        self._door: Door | None = None

    @classmethod
    async def start(cls, limits: Limits, toolbox: Toolbox, *, run_id: str, workdir: str) -> "Cage":
        """Start a sandbox whose working directory is empty.

        Raises:
            SandboxStartError: The host could not.
        """
        record = state.claim(run_id)
        name = f"{record.number}"
        where = cgroups.hierarchy()
        made = tuple(str(path) for path in cgroups.directories(where, name))
        record = record.model_copy(update={"cgroups": made})
        state.update(record)
        groups: cgroups.SandboxGroups | None = None
        try:
            if where is not None:
                groups = cgroups.create(
                    where,
                    name,
                    memory_bytes=limits.group_bytes,
                    processes=limits.processes,
                    cpus=limits.cpus,
                )
            process, info = await spawn(limits, toolbox, record.number)
            cage = cls(record, limits, groups, process)
        except BaseException as error:
            await _clean(record)
            if isinstance(error, OSError):
                raise SandboxStartError(f"The sandbox could not be started: {error}.") from error
            raise
        try:
            await cage._move_in(info, workdir)
        except BaseException as error:
            await cage.stop()
            if isinstance(error, OSError | TimeoutError | ValueError | SandboxDiedError):
                raise SandboxStartError(f"The sandbox could not be started: {error}.") from error
            raise
        return cage

    async def _move_in(self, info: int, workdir: str) -> None:
        """Wait for bwrap, put limits on it, and furnish its root."""
        stdout, stderr = self._process.stdout, self._process.stderr
        assert stdout is not None  # noqa: S101 - for the type checker: both are pipes
        assert stderr is not None  # noqa: S101
        try:
            async with asyncio.timeout(_START_SEC):
                ready = await stdout.readline()
                if not ready:
                    said = (await stderr.read(2000)).decode(errors="replace").strip()
                    raise SandboxStartError(f"bwrap failed: {said or 'it said nothing'}")
            pid = int(json.loads(os.read(info, 4096).partition(b"}")[0] + b"}")["child-pid"])
        finally:
            os.close(info)
        self._pidfd = os.pidfd_open(pid)
        pids = (self._process.pid, pid)
        self._record = self._record.model_copy(
            update={"processes": tuple(process_id(each) for each in pids)}
        )
        state.update(self._record)
        for each in pids:
            if self._groups is not None:
                cgroups.join(self._groups.harness, each)
            with contextlib.suppress(OSError):  # only with CAP_SYS_RESOURCE; see also `Door`
                _protect(each)
        self._door = Door(
            pid=pid,
            uid=self._record.number if is_root() else None,
            inside=self._groups.inside if self._groups else (),
            harness=self._groups.harness if self._groups else (),
            limits=self._limits,
            memory_group=bool(self._groups and self._groups.memory),
            pids_group=bool(self._groups and self._groups.pids),
            namespaces=own_namespaces(pid),
        )
        script = rootfs.setup_script(self._limits, workdir)
        with memory_file(rootfs.skeleton(network=self._limits.network)) as stdin:
            output = Capture(4096)
            done = await run(
                self._door.trusted([programs.SH, "-c", script]),
                stdin=stdin,
                stdout=output,
                stderr=output,
                pipes=self._pipes,
                env=rootfs.ENVIRONMENT,
                timeout_sec=_START_SEC,
            )
        if done.return_code != 0:
            raise SandboxStartError(f"Setting the sandbox up failed: {output.text().strip()}")

    @property
    def uid(self) -> int | None:
        """The uid that its processes have on the host; None if it is our own."""
        return self._record.number if is_root() else None

    @property
    def pid(self) -> int:
        """Its first process, as the host numbers it."""
        return self.open_door().pid

    @property
    def alive(self) -> bool:
        """Whether its first process is there."""
        return self._pidfd >= 0 and not select.select([self._pidfd], [], [], 0)[0]

    def open_door(self) -> Door:
        """How to enter it.

        Raises:
            SandboxDiedError: The sandbox is gone.
        """
        if self._door is None or self._stopped or not self.alive:
            self._note_death()
            raise SandboxDiedError(self._message or "The sandbox has been stopped.")
        return self._door

    def enter_command(self, argv: list[str], *, env: dict[str, str], cwd: str) -> list[str]:
        """The host's command line that runs `argv` inside, with this environment and no other."""
        merged = rootfs.ENVIRONMENT | env
        clean = [programs.ENV, "-i", *(f"{key}={value}" for key, value in merged.items())]
        return self.open_door().command([*clean, *argv], cwd=cwd, late_env={})

    async def exec(
        self,
        command: str,
        *,
        cwd: str,
        env: dict[str, str],
        timeout_sec: float | None,
        insist: bool = True,
        stdin: IO[bytes] | int = asyncio.subprocess.DEVNULL,
    ) -> tuple[Finished, Capture, Capture]:
        """Run a command with bash, as the agent would.

        Args:
            command: For `bash -c`.
            cwd: Its working directory.
            env: Added to what every command finds.
            timeout_sec: Then it is killed with its children; None: never.
            insist: Fail where `cwd` is gone, instead of running in `/`.
            stdin: What it reads.

        Raises:
            SandboxDiedError: The sandbox is gone, before or after.
            asyncio.CancelledError: The command and its children are dead.
        """
        door = self.open_door()
        early, late = split_environment(rootfs.ENVIRONMENT | env)
        stdout, stderr = Capture(OUTPUT_BYTES), Capture(OUTPUT_BYTES)
        with contextlib.ExitStack() as stack:
            argv = [programs.BASH, "-c", command]
            fds: tuple[int, ...] = ()
            if len(command.encode()) > _MOST_ARGUMENT:
                script = stack.enter_context(memory_file(command.encode()))
                argv = [programs.BASH, f"/dev/fd/{script.fileno()}"]
                fds = (script.fileno(),)
            done = await self.run(
                door.command(argv, cwd=cwd, late_env=late, insist=insist),
                stdout,
                stderr,
                env=early,
                timeout_sec=timeout_sec,
                stdin=stdin,
                pass_fds=fds,
            )
        self.notice(done, stdout, stderr)
        return done, stdout, stderr

    async def run(
        self,
        argv: list[str],
        stdout: Sink,
        stderr: Capture,
        *,
        env: dict[str, str] | None = None,
        timeout_sec: float | None = None,
        stdin: IO[bytes] | int = asyncio.subprocess.DEVNULL,
        pass_fds: tuple[int, ...] = (),
        extra: tuple[Stream, ...] = (),
    ) -> Finished:
        """Run a line that a `Door` made, and tell one that failed from a sandbox that is gone.

        Raises:
            SandboxDiedError: It is.
        """
        kills = self._watch.memory_kills()
        done = await run(
            argv,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            pipes=self._pipes,
            env=rootfs.ENVIRONMENT if env is None else env,
            timeout_sec=timeout_sec,
            pass_fds=pass_fds,
            extra=extra,
        )
        killed = done.return_code == KILLED_CODE and self._watch.memory_kills() == kills
        if not done.timed_out and (killed or stderr.starts_with(_NOT_ENTERED)):
            await self._wait_for_death()
        if done.return_code != 0:
            self.open_door()
        return done

    async def _wait_for_death(self) -> None:
        """What was killed or could not enter may be the first sign that all is being killed."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._process.wait(), _DEATH_SEC)

    def notice(self, done: Finished, stdout: Capture, stderr: Capture) -> None:
        """Take down which limits stopped something that has run."""
        self._sample()
        self._watch.notice(done.return_code, stdout, stderr)

    def hit(self, limit: str) -> None:
        """Take down that a limit was reached."""
        self._watch.hit(limit)

    def _sample(self) -> None:
        self._watch.sample(self._door.pid if self._door is not None and self.alive else None)

    def _note_death(self) -> None:
        """Who ended it, if it ended by itself."""
        if self._stopped or self._door is None or self._death is not None or self.alive:
            return
        self._sample()
        # Its first process cannot be killed from inside; only memory can take it along.
        own = self._watch.memory_kills() > 0
        self._death = SandboxDeath.TRIAL if own else SandboxDeath.HOST
        why = "it ran out of memory" if own else "it was killed from outside"
        self._message = f"The sandbox died: {why}."

    def report(self) -> SandboxReport:
        """How it fared until now."""
        if not self._stopped:
            self._sample()
            self._note_death()
        return SandboxReport(
            limits=granted_limits(self._limits),
            limits_hit=self._watch.limits_hit,
            death=self._death,
            message=self._message,
        )

    async def stop(self) -> None:
        """Kill everything in it; once is enough, more does no harm."""
        if self._stopped:
            return
        self._sample()
        self._note_death()
        self._stopped = True
        with contextlib.suppress(ProcessLookupError):
            if self._pidfd >= 0:  # bwrap ends when its child has, and that when all inside have
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
            else:
                self._process.kill()
        try:
            await asyncio.wait_for(self._process.wait(), _STOP_SEC)
        except TimeoutError:
            self._process.kill()
            await self._process.wait()
        if self._pidfd >= 0:
            os.close(self._pidfd)
            self._pidfd = -1
        self._pipes.close()
        await _clean(self._record)


def _protect(pid: int) -> None:
    """Ask the kernel to spare a process when memory runs out."""
    Path(f"/proc/{pid}/oom_score_adj").write_text(_NEVER_OOM, encoding="ascii")


async def _clean(record: state.SandboxRecord) -> None:
    """Remove control groups and the record; what cannot go now is reaped by the next run."""
    for _ in range(_CLEAN_TRIES):
        if all(cgroups.remove(Path(group), kill=True) for group in record.cgroups):
            state.release(record)
            return
        await asyncio.sleep(_CLEAN_PAUSE_SEC)
