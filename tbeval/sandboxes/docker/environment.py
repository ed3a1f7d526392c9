"""A Docker container as a harbor environment, for tasks of one container.

Load it with `EnvironmentConfig(import_path="tbeval.sandboxes.docker.environment:DockerEnvironment",
kwargs={"run_id": ...})`. Nothing of the host is mounted and files travel as archives, so that the
Engine may run on another machine.
"""

import asyncio
import contextlib
import posixpath
import re
import tempfile
from pathlib import Path
from typing import Any, override

from harbor.environments.base import BaseEnvironment, ExecResult
from harbor.environments.capabilities import (
    EnvironmentCapabilities,
    EnvironmentResourceCapabilities,
)

from tbeval.records.sandbox import SandboxDeath, SandboxDiedError, SandboxReport
from tbeval.sandboxes import transfer
from tbeval.sandboxes.docker import commands, labels
from tbeval.sandboxes.docker.containers import (
    ContainerLimits,
    configuration,
    ensure_network,
    fate,
)
from tbeval.sandboxes.docker.engine import Engine, EngineError, shared_engine
from tbeval.sandboxes.docker.images import ImageSource, shared_images
from tbeval.sandboxes.docker.tasks import check_environment
from tbeval.sandboxes.errors import SandboxStartError, TransferError, UnsupportedTaskError

_KILLED = 137
_SETTLE_SEC = 0.5
_NOT_RUNNING = frozenset({404, 409})


class DockerEnvironment(BaseEnvironment):
    """One container, spoken to through the Engine's API.

    Args:
        run_id: Stands in the labels of all that it makes.
        image_map: Images to be used in place of others.
        build_args: For Dockerfiles.
        *args: harbor's.
        **kwargs: harbor's.
    """

    def __init__(
        self,
        *args: Any,
        run_id: str = "",
        image_map: dict[str, str] | None = None,
        build_args: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> None:
        self._run_id = run_id
        self._image_map = image_map or {}
        self._build_args = build_args or {}
        self._container: str | None = None
        self._image_workdir = "/"
        self._report: SandboxReport | None = None
        super().__init__(*args, **kwargs)
        self._limits = ContainerLimits(
            memory_mb=self._effective_memory_mb,
            cpus=self._effective_cpus,
            network=not self._network_disabled,
        )

    @staticmethod
    @override
    def type() -> str:
        return "docker"

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
        check_environment(self.environment_dir, self.task_env_config.docker_image)
        if self._host_mounts:
            raise UnsupportedTaskError("Directories of this machine cannot be mounted in docker.")

    @property
    def container(self) -> str:
        """The id of the running container.

        Raises:
            SandboxDiedError: It has not been started, or has been stopped.
        """
        if self._container is None:
            raise SandboxDiedError("The container is not running.")
        return self._container

    @property
    def _engine(self) -> Engine:
        return shared_engine()

    @property
    def workdir(self) -> str:
        """Where commands run that name no other directory."""
        return self.task_env_config.workdir or self._image_workdir

    @override
    async def start(self, force_build: bool) -> None:
        """Get the task's image ready and start a container of it.

        Raises:
            SandboxStartError: The Engine could not do it.
            TaskSetupError: The task's Dockerfile fails.
        """
        source = ImageSource(
            name=self.environment_name,
            directory=self.environment_dir,
            image=self.task_env_config.docker_image,
            image_map=self._image_map,
            build_args=self._build_args,
        )
        image = await shared_images(self._engine).ensure(source, note=self.logger.debug)
        try:
            if self._limits.network:
                await ensure_network(self._engine)
            await self._start(image)
        except EngineError as error:
            raise SandboxStartError(f"The Engine cannot start {source.tag}: {error}") from error
        await self.ensure_dirs(self._mount_targets(writable_only=True))
        await self._upload_environment_dir_after_start()

    async def _start(self, image: str) -> None:
        config = (await self._engine.get(f"images/{image}/json"))["Config"]
        self._image_workdir = config.get("WorkingDir") or "/"
        marks = labels.owned(self._run_id, self.session_id)
        body = configuration(image, self._limits, self._startup_env(), marks)
        name = re.sub(r"[^a-zA-Z0-9_.-]", "-", f"tbeval-{self.session_id}")
        parameters = {"name": name}
        made = await self._engine.post("containers/create", body, params=parameters)
        self._container = made["Id"]
        await self._engine.post(f"containers/{self._container}/start")

    @override
    async def stop(self, delete: bool) -> None:
        """Kill everything inside and remove the container, whatever `delete` says."""
        if self._container is None:
            return
        container = self._container
        try:
            if self._report is None or self._report.death is None:
                self._report = await fate(self._engine, container, self._limits)
        finally:
            await asyncio.shield(self._engine.remove_container(container))
            self._container = None

    def sandbox_report(self) -> SandboxReport:
        """How the sandbox fared, as last seen; also after `stop`."""
        return self._report or SandboxReport(limits=self._limits.granted())

    @override
    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
    ) -> ExecResult:
        """Run a command with bash; returns when it has ended.

        A child that it leaves behind with its output open delays that by two seconds.

        Raises:
            CommandTimeoutError: Its time ran out; it and its children are dead.
            SandboxDiedError: The container is gone.
        """
        who = self._resolve_user(user)
        try:
            ended = await commands.run(
                self._engine,
                self.container,
                ["bash", "-c", command],
                cwd=cwd or self.workdir,
                insist=cwd is not None,
                env=self._merge_env(env) or {},
                user="" if who is None else str(who),
                timeout_sec=timeout_sec or None,
            )
        except EngineError as error:
            if error.status in _NOT_RUNNING:
                await self._look()
            raise
        except SandboxStartError as error:  # the Engine has gone away
            self._die(str(error))
            raise SandboxDiedError(str(error)) from error
        if ended.code in {_KILLED, -1}:
            # Perhaps the container went down with it, which the Engine learns a little later.
            with contextlib.suppress(SandboxStartError, EngineError):
                await self._engine.post(f"containers/{self.container}/wait", limit_sec=_SETTLE_SEC)
            await self._look()
        await self._tell(ended)
        return ExecResult(stdout=ended.stdout, stderr=ended.stderr, return_code=ended.code)

    async def _tell(self, ended: commands.Ended) -> None:
        callback = self._output_callback()
        if callback is not None:
            if ended.stdout:
                await callback(ended.stdout, "stdout")
            if ended.stderr:
                await callback(ended.stderr, "stderr")

    async def _look(self) -> None:
        """See whether the container still lives.

        Raises:
            SandboxDiedError: It does not.
        """
        self._report = await fate(self._engine, self.container, self._limits)
        if self._report.death is not None:
            raise SandboxDiedError(self._report.message)

    def _die(self, message: str) -> None:
        self._report = SandboxReport(
            limits=self._limits.granted(), death=SandboxDeath.HOST, message=message
        )

    def enter_command(self, argv: list[str], *, tty: bool = False) -> list[str]:
        """The host's command line that runs `argv` inside; needs the docker CLI."""
        variables = [f"--env={key}={value}" for key, value in (self._merge_env(None) or {}).items()]
        return [
            *("docker", "--host", self._engine.host, "exec", "--interactive"),
            *(["--tty"] if tty else []),
            *(f"--workdir={self.workdir}", *variables, self.container, *argv),
        ]

    @override
    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        """Copy a file in.

        Raises:
            TransferError: It cannot be written inside.
        """
        await self._put(Path(source_path), target_path)

    @override
    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        """Copy a directory's contents in.

        Raises:
            TransferError: They cannot be written inside.
        """
        await self._put(Path(source_dir), target_dir)

    async def _put(self, source: Path, target: str) -> None:
        inside = posixpath.normpath(posixpath.join(self.workdir, target)).strip("/") or "."
        with tempfile.TemporaryFile() as archive:
            await asyncio.to_thread(transfer.pack, archive, source, prefix=inside)
            archive.seek(0)
            try:
                await self._engine.put_archive(self.container, archive)
            except (EngineError, SandboxStartError) as error:
                raise TransferError(f"Copying to {target} failed: {error}") from error

    @override
    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        """Copy a file out.

        Raises:
            TransferError: There is no such file, or it is too large.
        """
        with tempfile.TemporaryFile() as archive:
            cut = await self._get(source_path, archive)
            if cut or not await asyncio.to_thread(transfer.unpack_file, archive, Path(target_path)):
                why = "it is too large" if cut else "it is not a plain file"
                raise TransferError(f"Copying {source_path} out failed: {why}.")

    @override
    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        """Copy a directory's plain files and directories out, up to 256 MB.

        Raises:
            TransferError: There is no such directory.
        """
        with tempfile.TemporaryFile() as archive:
            # with "/.", the members' names begin below the directory
            cut = await self._get(f"{source_dir.rstrip('/')}/.", archive)
            skipped = await asyncio.to_thread(transfer.unpack, archive, Path(target_dir))
        if cut or skipped:
            self.logger.warning("%s: %d files left out", source_dir, skipped)

    async def _get(self, path: str, archive: Any) -> bool:
        inside = posixpath.join(self.workdir, path)
        try:
            cut = await self._engine.get_archive(
                self.container, inside, archive, transfer.MOST_DOWNLOAD
            )
        except (EngineError, SandboxStartError) as error:
            raise TransferError(f"Copying {path} out failed: {error}") from error
        archive.seek(0)
        return cut
