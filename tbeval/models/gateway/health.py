"""One circuit breaker for all trials: whether the endpoint is up, and who tries it next."""

import asyncio
import random
import time
from dataclasses import dataclass, field

FIRST_DELAY_SEC = 0.5
LONGEST_DELAY_SEC = 30.0
#: While the endpoint is down, calls go one by one in this distance. The one before may be
#: generating for minutes: nobody waits for its end.
PROBE_DISTANCE_SEC = 5.0
#: Longest time without a probe, whatever one answer asked for: a single header of a day (or `inf`)
#: must not hold up the calls of all trials.
LONGEST_WITHOUT_PROBE_SEC = 60.0


def backoff(failures: int, retry_after: float | None = None) -> float:
    """Seconds to wait after a number of failures in a row, never less than the server asks for."""
    ceiling = min(FIRST_DELAY_SEC * 2.0 ** min(failures - 1, 30), LONGEST_DELAY_SEC)
    # Jitter keeps trials that failed together from coming back together; no secret hangs on it.
    return max(ceiling * random.uniform(0.5, 1.0), retry_after or 0.0)  # noqa: S311


@dataclass(frozen=True)
class Ticket:
    """Leave to call the endpoint.

    Attributes:
        began: When it was given, by the monotonic clock.
        probe: Whether this call finds out if an endpoint that was down is up again.
    """

    began: float
    probe: bool


@dataclass
class Health:
    """The endpoint's state as its calls show it.

    Up: every call goes. Down: one call after the other tries again after a growing delay, the
    others wait; the first success lets all go.

    Attributes:
        down_since: By the monotonic clock; None while it is up.
        reason: Of the last failure that told that it is down.
        successes: Of all calls, ever. It tells a call whether only its own request fails.
        last_success: By the monotonic clock.
    """

    down_since: float | None = None
    reason: str = ""
    successes: int = 0
    last_success: float = 0.0
    _failures: int = 0
    _next_probe: float = 0.0
    _recovered: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def down(self) -> bool:
        """Whether calls wait."""
        return self.down_since is not None

    @property
    def down_seconds(self) -> float:
        """For how long it has been down; 0 if it is up."""
        return 0.0 if self.down_since is None else time.monotonic() - self.down_since

    def try_admit(self) -> Ticket | None:
        """Leave to call at once, or None if the call must wait."""
        now = time.monotonic()
        if self.down_since is None:
            return Ticket(now, probe=False)
        if now < self._next_probe:
            return None
        self._next_probe = now + PROBE_DISTANCE_SEC
        return Ticket(now, probe=True)

    async def wait(self, longest_sec: float) -> None:
        """Wait until `try_admit` is worth another try, at most so many seconds."""
        delay = min(longest_sec, self._next_probe - time.monotonic())
        try:
            async with asyncio.timeout(delay):
                await self._recovered.wait()
        except TimeoutError:
            pass

    def holds(self, ticket: Ticket) -> bool:
        """Whether a ticket is still good: the endpoint did not go down since it was given."""
        return ticket.probe or not self.down

    def succeeded(self, ticket: Ticket) -> None:
        """A call was answered: an endpoint that was down is up, unless the call is older."""
        self.successes += 1
        self.last_success = time.monotonic()
        if self.down_since is not None and ticket.began >= self.down_since:
            self.give_another_chance()

    def give_another_chance(self) -> None:
        """Let calls go again, as if one had been answered."""
        self.down_since = None
        self._failures = 0
        self._recovered.set()

    def failed(self, ticket: Ticket, reason: str, retry_after: float | None) -> None:
        """A call found the endpoint away or overloaded."""
        now = time.monotonic()
        if not self.down or ticket.probe:
            self._failures += 1
            delay = backoff(self._failures, retry_after)
            self._next_probe = now + min(delay, LONGEST_WITHOUT_PROBE_SEC)
        if self.down_since is None:
            self.down_since = now
            self._recovered = asyncio.Event()
        self.reason = reason
