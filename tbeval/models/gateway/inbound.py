"""What an agent sends to the gateway, and how it is told that something is wrong."""

import json
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

#: A request beyond this is no conversation; an agent gone wild must not fill this process's memory.
LARGEST_REQUEST = 64 * 2**20


class TooLargeError(Exception):
    """A request that no conversation with a model is."""


async def json_object(request: Request) -> dict[str, Any] | None:
    """The request's body; None if it is not a JSON object.

    Raises:
        TooLargeError: It is beyond `LARGEST_REQUEST`.
    """
    parts: list[bytes] = []
    size = 0
    try:
        async for part in request.stream():
            size += len(part)
            if size > LARGEST_REQUEST:
                raise TooLargeError
            parts.append(part)
        body = json.loads(b"".join(parts))
    except (ValueError, RecursionError, ClientDisconnect):
        return None
    return body if isinstance(body, dict) else None


def error(status: int, message: str) -> Response:
    """An error as OpenAI's API tells it."""
    told = {"message": message, "type": "tbeval", "code": status}
    return JSONResponse({"error": told}, status)


async def disconnected(request: Request) -> None:
    """Return when the agent has gone away."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
