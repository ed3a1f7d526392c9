"""The clock of one agent: its time limit, which stands still while the model's endpoint is down."""

import asyncio
import time

import aiohttp

#: How often, at the limit, the gateway is asked whether a dead endpoint has come back.
_POLL_SEC = 0.5

#: The gateway is in this process: an answer that takes longer does not come.
_HTTP_LIMIT = aiohttp.ClientTimeout(total=5)


class AgentClock:
    """Counts from `start`.

    Args:
        limit_sec: The agent's time, in seconds of its own clock.
        url: The gateway's `…/t/<trial>/clock`; None for an agent that asks no model, whose clock
            never stands still.
    """

    def __init__(self, limit_sec: float, url: str | None) -> None:
        self.limit_sec = limit_sec
        self._url = url
        self._began = time.monotonic()
        self._ended: float | None = None
        self._paused_before = 0.0
        self._paused = 0.0
        self._down = False

    @property
    def paused_seconds(self) -> float:
        """How long it stood still, as last heard."""
        return self._paused - self._paused_before

    @property
    def seconds(self) -> float:
        """What it has counted."""
        now = time.monotonic() if self._ended is None else self._ended
        return max(0.0, now - self._began - self.paused_seconds)

    async def start(self) -> None:
        """Begin to count. What the endpoint was down before this is not the agent's time."""
        await self._ask()
        self._paused_before = self._paused
        self._began = time.monotonic()

    async def run_out(self) -> None:
        """Return when the limit is reached; the endpoint's state is asked only then."""
        while True:
            await asyncio.sleep(max(self.limit_sec - self.seconds, _POLL_SEC * self._down))
            await self._ask()
            if self.seconds >= self.limit_sec and not self._down:
                return

    async def stop(self) -> None:
        """Stop counting, with the last word of the gateway about pauses."""
        if self._ended is None:
            self._ended = time.monotonic()
            await self._ask()

    async def refuse_calls(self) -> None:
        """Tell the gateway that this trial asks no more; its open calls end at once."""
        if self._url is not None:
            await self._request("POST", self._url.removesuffix("/clock") + "/refuse")

    async def _ask(self) -> None:
        if self._url is None:
            return
        answer = await self._request("GET", self._url)
        if answer is not None:
            self._paused = max(self._paused, float(answer["paused_seconds"]))
        self._down = bool(answer and answer["down"])

    async def _request(self, method: str, url: str) -> dict[str, float] | None:
        """The answer, or None: a gateway that does not answer must not keep an agent alive."""
        try:
            async with (
                aiohttp.ClientSession(timeout=_HTTP_LIMIT) as session,
                session.request(method, url) as response,
            ):
                answer = await response.json()
        except (aiohttp.ClientError, TimeoutError, ValueError):
            return None
        return answer if response.ok and isinstance(answer, dict) else None
