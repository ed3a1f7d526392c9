"""Watch a served model while it is measured: servers swap weights in place under one name."""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tbeval.models.endpoint import Endpoint, EndpointError
from tbeval.models.gateway.health import backoff
from tbeval.models.identity import Look, changes
from tbeval.models.probe import OtherModelError, look

#: Between two looks at every replica.
INTERVAL_SEC = 180.0
#: How long the end of a trial waits for a server that does not answer.
PATIENCE_SEC = 300.0


class ModelChangedError(EndpointError):
    """The endpoint serves another model than the run began with."""


@dataclass(frozen=True)
class Watched:
    """A replica and what it told when the run began.

    Attributes:
        endpoint: As the checkpoint has it, but for the name of its model.
    """

    endpoint: Endpoint
    first: Look


def _nobody(_replica: str) -> None:
    pass


@dataclass
class IdentityWatch:
    """Asks replicas again what they serve.

    A server that does not answer has not changed; one that answers differently has, and no later
    answer takes that back.

    Attributes:
        replicas: By address.
        on_answer: Told the address of each replica that answered as it should.
        change: What has changed, in one sentence; empty as long as nothing has.
    """

    replicas: Mapping[str, Watched]
    on_answer: Callable[[str], None] = _nobody
    interval_sec: float = INTERVAL_SEC
    patience_sec: float = PATIENCE_SEC
    change: str = ""
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    _confirmed: dict[str, float] = field(default_factory=dict)
    _locks: dict[str, asyncio.Lock] = field(default_factory=dict)

    async def until_changed(self) -> None:
        """Look at every replica every few minutes; returns when one has changed."""
        while not self._changed.is_set():
            try:
                async with asyncio.timeout(self.interval_sec):
                    await self._changed.wait()
            except TimeoutError:
                now = time.monotonic()
                await asyncio.gather(*(self._look(name, now) for name in self.replicas))

    async def confirm(self, replica: str, since: float | None = None) -> str:
        """Make sure that a replica served what it did: empty, or why that is not certain.

        A server that does not answer is asked again as long as patience lasts.

        Args:
            replica: Its address.
            since: By the monotonic clock, when the last call ended that is to be vouched for; a
                look that anybody began after it will do. None: now.
        """
        asked = time.monotonic()
        since = asked if since is None else since
        failures = 0
        while True:
            problem = await self._look(replica, since)
            if self.change or not problem:
                return self.change
            failures += 1
            delay = backoff(failures)
            if time.monotonic() + delay > asked + self.patience_sec:
                return f"whether {replica} still serves the same model is not known: {problem}"
            await asyncio.sleep(delay)

    async def _look(self, replica: str, since: float) -> str:
        """One look, unless another began after `since`; empty if it found the same model."""
        watched = self.replicas[replica]
        async with self._locks.setdefault(replica, asyncio.Lock()):
            if self._confirmed.get(replica, -1.0) > since:
                return ""
            began = time.monotonic()
            try:
                seen = await look(watched.endpoint)
            except OtherModelError as error:
                return self._has_changed(str(error))
            except EndpointError as error:
                return str(error)
            if changed := changes(watched.first, seen):
                return self._has_changed(f"The model at {replica} has changed: {changed}.")
            if unanswered := seen.silent - watched.first.silent:
                return f"{replica} did not answer {', '.join(sorted(unanswered))}"
            self._confirmed[replica] = began
            self.on_answer(replica)
            return ""

    def _has_changed(self, sentence: str) -> str:
        self.change = self.change or sentence
        self._changed.set()
        return self.change
