"""One line of a trial's record: a request to the endpoint and what came of it."""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from tbeval.models.gateway.reply import Reply


@dataclass(frozen=True)
class Call:
    """A call of the agent on its way, the same in each of the gateway's tries."""

    index: int
    seed: int
    path: str
    body: Mapping[str, Any]
    prompt_bytes: int


class Entry:
    """One line of the record: a request and what came of it."""

    def __init__(self, call: Call) -> None:
        self.failure = ""
        self.status: int | None = None
        self.response: Any = None
        self._call = call
        self._reply: Reply | None = None
        self._began = datetime.now(UTC)
        self._start = time.monotonic()

    @property
    def seconds(self) -> float:
        """Time since the request was sent."""
        return time.monotonic() - self._start

    def answered(self, reply: Reply) -> None:
        """Keep the answer as read instead of its text."""
        self._reply = reply
        self.response = reply.content

    def line(self) -> bytes:
        """The entry as JSON."""
        reply = self._reply
        content = {
            "call": self._call.index,
            "seed": self._call.seed,
            "path": self._call.path,
            "began": self._began.isoformat(),
            "seconds": round(self.seconds, 4),
            "status": self.status,
            "failure": self.failure,
            "finish_reason": reply.finish_reason if reply else None,
            "tokens_in": reply.tokens_in if reply else 0,
            "tokens_out": reply.tokens_out if reply else 0,
            "reasoning_tokens": reply.reasoning_tokens if reply else None,
            "reasoning_chars": reply.reasoning_chars if reply else 0,
            "request": self._call.body,
            "response": self.response,
        }
        return json.dumps(content, ensure_ascii=False).encode(errors="replace")


def refused_entry(call: int, path: str, status: int, failure: str) -> bytes:
    """The entry of a request that the gateway itself refused; what it held is not kept."""
    entry = Entry(Call(call, 0, path, {}, 0))
    entry.status, entry.failure = status, failure
    return entry.line()
