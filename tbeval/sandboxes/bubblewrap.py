"""The embedded sandbox as a harbor environment.

Load it with `EnvironmentConfig(import_path="tbeval.sandboxes.bubblewrap:BubblewrapEnvironment",
kwargs={"run_id": ...})`. How a task is set up in it stands in `tbeval.sandboxes.tasks`, what it
sees in `rootfs`, what it may use in `limits`.
"""

import asyncio
import tempfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any, override

from harbor.environments.base import BaseEnvironment, ExecResult
from harbor.environments.capabilities import (
    EnvironmentCapabilities,
    EnvironmentResourceCapabilities,
)

from tbeval.records.sandbox import PrivateResult, SandboxDiedError, SandboxReport
from tbeval.sandboxes import copying, private, rootfs, tasks, transfer
from tbeval.sandboxes.building import build_slot
from tbeval.sandboxes.cage import Cage
from tbeval.sandboxes.errors import (
    CommandTimeoutError,
    TaskSetupError,
    TransferError,
    UnsupportedTaskError,
)
from tbeval.sandboxes.limits import Limits, granted_limits, limits_for
from tbeval.sandboxes.toolbox import ensure_toolbox

_LAST_LINES = 15
_NO_DIRECTORY = "no such directory"
_ROOT_NAMES = (None, "root", "0", 0, "root:root", "0:0")
# Files of one download are listed by find: no devices or FIFOs, and nothing that is too large.
_GET_DIR = (
    f'cd -- "$1" 2>/dev/null || {{ echo "$1: {_NO_DIRECTORY}" >&2; exit 1; }}; '
    "find . -xdev \\( -type f -size -131073k -o -type d \\) -print0 "
    "| tar -c --null --no-recursion --hard-dereference --ignore-failed-read -T - 2>/dev/null; "
    "exit 0"
)
_GET_FILE = (
    '[ -f "$1" ] || { echo "no such file: $1" >&2; exit 1; }; '
    'cd -- "${1%/*}/" && tar -c -h --hard-dereference -- "${1##*/}"'
)


class BubblewrapEnvironment(BaseEnvironment):
    """A sandbox of this machine's programs and a file system in memory.

    `run_id` is kept with what it leaves on the machine, so that it can be told whose it was.
    """

    def __init__(self, *args: Any, run_id: str = "", **kwargs: Any) -> None:
        self._run_id = run_id
        self._cage: Cage | None = None
        self._last_report: SandboxReport | None = None
        self._limits = Limits()
        super().__init__(*args, **kwargs)

    @staticmethod
    @override
    def type() -> str:
        return "bubblewrap"

    @property
    @override
    def capabilities(self) -> EnvironmentCapabilities:
        return EnvironmentCapabilities(disable_internet=True)

    @classmethod
    @override
    def resource_capabilities(cls) -> EnvironmentResourceCapabilities:
        return EnvironmentResourceCapabilities(
            cpu_limit=True, memory_limit=True, fractional_cpus=True
        )

    @override
    def _validate_definition(self) -> None:
        tasks.check_environment(self.environment_dir, self.task_env_config.docker_image)
        self._limits = limits_for(
            memory_mb=self._effective_memory_mb,
            storage_mb=self._effective_storage_mb,
            cpus=self._effective_cpus,
            network=tasks.wants_network(self.environment_dir),
        )

    @property
    def limits(self) -> Limits:
        """What this sandbox may use."""
        return self._limits

    @property
    def workdir(self) -> str:
        """Where commands run that name no other directory."""
        return self.task_env_config.workdir or rootfs.WORKDIR

    @property
    def cage(self) -> Cage:
        """The running sandbox.

        Raises:
            SandboxDiedError: It has not been started, or has been stopped.
        """
        if self._cage is None:
            raise SandboxDiedError("The sandbox is not running.")
        return self._cage

    @override
    async def start(self, force_build: bool) -> None:
        """Start the sandbox and set the task up in it.

        Raises:
            SandboxStartError: The host could not start it.
            TaskSetupError: The task's setup.sh failed.
        """
        toolbox = ensure_toolbox()
        self._cage = await Cage.start(
            self._limits, toolbox, run_id=self._run_id, workdir=self.workdir
        )
        if self.environment_dir.is_dir():
            await self._set_up_task()

    async def _set_up_task(self) -> None:
        try:
            await self._put(self.environment_dir, self.workdir, skip=tasks.left_out)
        except TransferError as error:
            raise TaskSetupError(f"The files of {self.environment_dir}: {error}") from error
        if not (self.environment_dir / tasks.SETUP).is_file():
            return
        command = f"bash ./{tasks.SETUP} </dev/null 2>&1 && rm -f ./{tasks.SETUP}"
        try:
            async with build_slot():
                result = await self.exec(command, user="root")
        except SandboxDiedError as error:
            raise TaskSetupError(f"{tasks.SETUP} broke its sandbox: {error}") from error
        if result.return_code != 0:
            last = "\n".join((result.stdout or "").strip().splitlines()[-_LAST_LINES:])
            raise TaskSetupError(
                f"{self.environment_dir / tasks.SETUP} ended with code {result.return_code}: {last}"
            )

    @override
    async def stop(self, delete: bool) -> None:
        """Kill everything inside; files are gone with it, whatever `delete` says."""
        if self._cage is not None:
            await self._cage.stop()
            self._last_report = self._cage.report()

    def sandbox_report(self) -> SandboxReport:
        """How the sandbox fared until now; also after `stop`."""
        if self._last_report is not None:
            return self._last_report
        if self._cage is not None:
            return self._cage.report()
        return SandboxReport(limits=granted_limits(self._limits))

    @override
    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
    ) -> ExecResult:
        """Run a command with bash; returns when it has ended, whatever it left behind.

        Raises:
            CommandTimeoutError: Its time ran out; it and its children are dead.
            SandboxDiedError: The sandbox is gone.
            UnsupportedTaskError: Another user than root is asked for.
        """
        self._check_user(self._resolve_user(user))
        done, stdout, stderr = await self.cage.exec(
            command,
            cwd=cwd or self.workdir,
            env=self._merge_env(env) or {},
            timeout_sec=timeout_sec or None,
            insist=cwd is not None,
        )
        if done.timed_out:
            raise CommandTimeoutError(timeout_sec or 0)
        out, err = stdout.text(), stderr.text()
        callback = self._output_callback()
        if callback is not None:
            for text, stream in ((out, "stdout"), (err, "stderr")):
                if text:
                    await callback(text, stream)
        return ExecResult(stdout=out, stderr=err, return_code=done.return_code)

    def _check_user(self, user: str | int | None) -> None:
        if user not in _ROOT_NAMES:
            raise UnsupportedTaskError(
                f"The task wants user {user!r}, but in a bubblewrap sandbox there is only root: "
                "it needs --sandbox docker."
            )

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
        """Run a command out of the agent's reach; see `tbeval.records.sandbox.RunsPrivately`.

        Where processes that the agent left keep the directories from being put in place, the
        result is that of a killed command.
        """
        return await private.exec_private(
            self.cage,
            command,
            private_dir=private_dir,
            uploads=uploads,
            env=self._merge_env(env) or {},
            cwd=cwd or self.workdir,
            timeout_sec=timeout_sec,
        )

    def enter_command(self, argv: list[str], *, tty: bool = False) -> list[str]:  # noqa: ARG002 - a terminal needs nothing special here
        """The host's command line that runs `argv` inside; see `tbeval.records.sandbox`."""
        return self.cage.enter_command(argv, env=self._merge_env(None) or {}, cwd=self.workdir)

    @override
    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        """Copy a file in.

        Raises:
            TransferError: It cannot be written inside.
        """
        directory, _, name = target_path.rpartition("/")
        await self._put(Path(source_path), directory or "/", prefix=name)

    @override
    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        """Copy a directory's contents in.

        Raises:
            TransferError: They cannot be written inside.
        """
        await self._put(Path(source_dir), target_dir)

    async def _put(
        self,
        source: Path,
        target: str,
        *,
        prefix: str = ".",
        skip: Callable[[PurePosixPath], bool] = lambda _: False,
    ) -> None:
        with tempfile.TemporaryFile() as archive:
            await asyncio.to_thread(transfer.pack, archive, source, prefix=prefix, skip=skip)
            archive.seek(0)
            await copying.put(self.cage, archive, target)

    @override
    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        """Copy a file out.

        Raises:
            TransferError: There is no such file, or it is too large.
        """
        archive, problem = await copying.get(self.cage, _GET_FILE, source_path)
        with archive:
            if problem:
                raise TransferError(f"Copying {source_path} out failed: {problem}")
            if not await asyncio.to_thread(transfer.unpack_file, archive, Path(target_path)):
                raise TransferError(f"Copying {source_path} out failed: it is not a plain file.")

    @override
    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        """Copy a directory's plain files and directories out, as far as they are not too large.

        Raises:
            TransferError: There is no such directory.
        """
        archive, problem = await copying.get(self.cage, _GET_DIR, source_dir)
        with archive:
            if problem.endswith(_NO_DIRECTORY):
                raise TransferError(f"Copying {source_dir} out failed: {problem}")
            skipped = await asyncio.to_thread(transfer.unpack, archive, Path(target_dir))
        if problem or skipped:
            self.logger.warning("%s: %d files left out %s", source_dir, skipped, problem)
