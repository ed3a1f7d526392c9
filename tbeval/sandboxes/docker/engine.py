"""An asynchronous client of the Docker Engine API: the few calls that trials need.

One pool of connections serves all trials of a process: a command is three requests on it, where the
docker CLI starts a process and connects anew.
"""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO, Any, Self
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

import aiohttp

from tbeval.sandboxes.errors import SandboxStartError

DEFAULT_HOST = "unix:///var/run/docker.sock"
#: Engine 20.10 has it, and later ones still do.
API_VERSION = "1.41"

_CHUNK = 256 * 1024
_FRAME_HEAD = 8  # stream, three zeros, length: see "Attach to a container" in the Engine's API
_STDERR = 2
_OK = 400
_QUICK_SEC = 120.0

type Sink = Callable[[bytes], None]


class EngineError(RuntimeError):
    """The Engine refused a request.

    Attributes:
        status: HTTP status.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def engine_host() -> str:
    """Where the Engine listens: DOCKER_HOST, or this machine's socket."""
    return os.environ.get("DOCKER_HOST") or DEFAULT_HOST


def engine_is_expected() -> bool:
    """Whether DOCKER_HOST names one, or this machine's socket is there."""
    return "DOCKER_HOST" in os.environ or Path(urlsplit(DEFAULT_HOST).path).is_socket()


class Engine:
    """A connection pool to one Engine.

    Raises:
        SandboxStartError: (from every call) The Engine does not answer.
        EngineError: (from every call) It refuses.
    """

    def __init__(self, host: str) -> None:
        self.host = host
        connector, base = _connector(host)
        self._session = aiohttp.ClientSession(
            base_url=f"{base}/v{API_VERSION}/",
            connector=connector,
            timeout=aiohttp.ClientTimeout(total=None),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()

    @asynccontextmanager
    async def send(
        self, method: str, path: str, *, limit_sec: float | None = _QUICK_SEC, **options: Any
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """One request; the response's body can be read in the context."""
        timeout = aiohttp.ClientTimeout(total=limit_sec)
        try:
            async with self._session.request(method, path, timeout=timeout, **options) as response:
                if response.status >= _OK:
                    raise EngineError(response.status, _message(await response.text()))
                yield response
        except (aiohttp.ClientError, TimeoutError) as error:
            why = str(error) or type(error).__name__
            raise SandboxStartError(
                f"No Docker Engine answers at {self.host} ({why}): start it, or set DOCKER_HOST."
            ) from error

    async def get(self, path: str, **options: Any) -> Any:
        """GET; the answer from JSON."""
        async with self.send("GET", path, **options) as response:
            return await response.json()

    async def post(self, path: str, body: object = None, **options: Any) -> Any:
        """POST; the answer from JSON, None if there is none."""
        async with self.send("POST", path, json=body, **options) as response:
            text = await response.text()
            return json.loads(text) if text.strip() else None

    async def remove_container(self, container: str) -> None:
        """Kill and remove it with its anonymous volumes; fine if it is gone."""
        try:
            async with self.send(
                "DELETE", f"containers/{container}", params={"force": "true", "v": "true"}
            ):
                pass
        except EngineError as error:
            if error.status not in {404, 409}:  # gone, or being removed already
                raise

    async def progress(self, path: str, **options: Any) -> AsyncIterator[dict[str, Any]]:
        """POST something that takes long and reports in lines of JSON."""
        async with self.send("POST", path, limit_sec=None, **options) as response:
            rest = b""
            async for chunk in response.content.iter_any():
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    if line.strip():
                        yield json.loads(line)

    async def put_archive(self, container: str, archive: IO[bytes]) -> None:
        """Unpack a tar stream at the root of a container, by the Engine, inside of it."""
        async with self.send(
            "PUT",
            f"containers/{container}/archive",
            params={"path": "/"},
            data=archive,
            headers={"Content-Type": "application/x-tar"},
            limit_sec=None,
        ):
            pass

    async def get_archive(self, container: str, path: str, target: IO[bytes], most: int) -> bool:
        """Write a path of a container as a tar stream; tells whether it was cut off at `most`."""
        written = 0
        async with self.send(
            "GET", f"containers/{container}/archive", params={"path": path}, limit_sec=None
        ) as response:
            async for chunk in response.content.iter_chunked(_CHUNK):
                target.write(chunk[: most - written])
                written += len(chunk)
                if written > most:
                    response.close()
                    return True
        return False

    async def execute(
        self, container: str, command: Mapping[str, Any], stdout: Sink, stderr: Sink
    ) -> int:
        """Run a command in a container until it has ended; its exit code.

        Args:
            container: Id.
            command: As the Engine's API wants it: `Cmd`, `Env`, `User`.
            stdout: Gets its output, piece by piece.
            stderr: The same.
        """
        asked = {"AttachStdout": True, "AttachStderr": True, **command}
        made = await self.post(f"containers/{container}/exec", asked)
        async with self.send(
            "POST",
            f"exec/{made['Id']}/start",
            json={"Detach": False, "Tty": False},
            limit_sec=None,
        ) as response:
            await _split(response.content, stdout, stderr)
        code = (await self.get(f"exec/{made['Id']}/json"))["ExitCode"]
        return -1 if code is None else int(code)


async def _split(source: aiohttp.StreamReader, stdout: Sink, stderr: Sink) -> None:
    while True:
        try:
            head = await source.readexactly(_FRAME_HEAD)
            left = int.from_bytes(head[4:], "big")
            sink = stderr if head[0] == _STDERR else stdout
            while left:
                piece = await source.read(min(left, _CHUNK))
                if not piece:
                    return
                sink(piece)
                left -= len(piece)
        except asyncio.IncompleteReadError:
            return


def _connector(host: str) -> tuple[aiohttp.BaseConnector, str]:
    where = urlsplit(host)
    match where.scheme:
        case "unix":
            return aiohttp.UnixConnector(path=where.path, limit=0), "http://docker"
        case "tcp" | "http" if not os.environ.get("DOCKER_TLS_VERIFY"):
            return aiohttp.TCPConnector(limit=0), f"http://{where.netloc}"
        case _:
            raise SandboxStartError(
                f"DOCKER_HOST is {host}: tbeval speaks to unix:// and tcp:// without TLS. Forward "
                "the other machine's socket: ssh -L /tmp/engine.sock:/var/run/docker.sock HOST, "
                "and DOCKER_HOST=unix:///tmp/engine.sock."
            )


def _message(text: str) -> str:
    try:
        return str(json.loads(text)["message"])
    except (ValueError, KeyError, TypeError):
        return text.strip()[:500]


#: One pool for each event loop and Engine: harbor makes a sandbox from a name and plain values
#: only, so that nothing else can be handed to it.
_ENGINES: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, Engine]] = WeakKeyDictionary()


def shared_engine() -> Engine:
    """The Engine of this process's trials; `close_engines` at the end."""
    engines = _ENGINES.setdefault(asyncio.get_running_loop(), {})
    host = engine_host()
    if host not in engines:
        engines[host] = Engine(host)
    return engines[host]


async def close_engines() -> None:
    """Close what `shared_engine` opened in this event loop."""
    for engine in _ENGINES.pop(asyncio.get_running_loop(), {}).values():
        await engine.close()
