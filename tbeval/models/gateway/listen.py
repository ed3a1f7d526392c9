"""A web server on a free loopback port inside the running event loop."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Iterator

import uvicorn
from starlette.applications import Starlette

_KEEPALIVE_SEC = 3600  # agents may come back to an idle connection after a long command


class _QuietServer(uvicorn.Server):
    """uvicorn inside a running loop: signals belong to the run."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@contextlib.asynccontextmanager
async def serving(application: Starlette) -> AsyncIterator[int]:
    """Serve an application on a free loopback port; yields the port."""
    # Made with IPPROTO_TCP, or asyncio leaves Nagle's algorithm on: 44 ms a call.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", 0))
        server = _QuietServer(
            uvicorn.Config(
                application,
                lifespan="off",
                log_config=None,  # URLs hold the tokens
                access_log=False,
                log_level="critical",
                ws="none",
                timeout_keep_alive=_KEEPALIVE_SEC,
                timeout_graceful_shutdown=5,
            )
        )
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            while not server.started:
                if serving.done():
                    serving.result()
                    raise RuntimeError("the gateway's server ended before it began")
                await asyncio.sleep(0.005)
            yield listener.getsockname()[1]
        finally:
            server.should_exit = True
            await serving
