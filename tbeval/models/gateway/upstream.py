"""One call to the endpoint, carried through whatever can be waited out."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import aiohttp

from tbeval.models.endpoint import Endpoint
from tbeval.models.gateway.body import Memory, TooMuchError, read_body
from tbeval.models.gateway.entry import Call, Entry
from tbeval.models.gateway.health import Health, Ticket, backoff
from tbeval.models.gateway.reply import BadReplyError, Reply, read_reply, read_stream, shown
from tbeval.models.gateway.request import call_seed, prompt_bytes, upstream_body
from tbeval.models.gateway.trial import Trial

#: How often a call whose own request fails is tried while the endpoint answers others.
TRIES_ALONE = 5
_RECORDED_BAD_BODY = 2**20  # bytes of a reply that could not be read
_OK = 200
_AGENTS_FAULT = frozenset({400, 413, 422})
#: May be this request's own doing. Every other status tells of the endpoint: overloaded, loading
#: its model, behind a proxy that fails, or asked with a key that was revoked meanwhile.
_OF_THE_REQUEST = frozenset({408, 425, 500})
_PING_SEC = 120.0
#: An endpoint that answered anybody within so many seconds does not hang.
ALIVE_SEC = 60.0


class EndpointFailedError(Exception):
    """The endpoint failed for good, as far as this trial goes."""


class _TryFailedError(Exception):
    """One try failed in a way that may pass.

    Attributes:
        down: Whether it tells that the endpoint is down for everybody.
        hung: Whether the endpoint was silent until the time was up.
        retry_after: Seconds that the server asks to wait.
    """

    def __init__(
        self,
        reason: str,
        *,
        down: bool,
        hung: bool = False,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(reason)
        self.down = down
        self.hung = hung
        self.retry_after = retry_after


@dataclass
class _Patience:
    """How long a call may still wait for the endpoint. Time in which it works does not count."""

    left: float

    def spend(self, seconds: float) -> None:
        """Wait, or lose, some of it."""
        self.left -= seconds


@dataclass(frozen=True)
class Answer:
    """What the agent gets: the endpoint's status and body as they came."""

    status: int
    body: bytes
    content_type: str


class Upstream:
    """The way to one endpoint, the same for all its trials."""

    def __init__(
        self,
        endpoint: Endpoint,
        session: aiohttp.ClientSession,
        *,
        run_seed: int,
        concurrency: int | None,
        patience_sec: float,
        memory: Memory,
    ) -> None:
        self.health = Health()
        self._endpoint = endpoint
        self._session = session
        self._run_seed = run_seed
        self._patience_sec = patience_sec
        self._memory = memory
        self._slots = asyncio.Semaphore(concurrency) if concurrency else None

    @property
    def name(self) -> str:
        """The endpoint's address."""
        return self._endpoint.base_url

    async def call(self, trial: Trial, path: str, agent_body: Mapping[str, Any]) -> Answer:
        """Send a call of a trial, wait out what can be waited out, and record every try.

        Raises:
            EndpointFailedError: The endpoint failed for good; the trial knows it then, too.
        """
        index = trial.calls
        trial.calls += 1
        seed = call_seed(self._run_seed, trial.task, trial.attempt, index)
        body = upstream_body(
            agent_body, self._endpoint, seed=seed, bytes_per_token=trial.bytes_per_token
        )
        call = Call(index, seed, path, body, prompt_bytes(body))
        try:
            return await self._carry(trial, call)
        except Exception as error:
            # A fault of the gateway itself says as little about the model as the endpoint's.
            reason = self._endpoint.scrub_text(str(error) or type(error).__name__)
            trial.endpoint_failure = trial.endpoint_failure or reason
            raise
        finally:
            trial.last_call_ended = time.monotonic()

    async def _carry(self, trial: Trial, call: Call) -> Answer:
        patience = _Patience(self._patience_sec)
        failures = 0
        successes_before = 0
        successes_at_first = self.health.successes
        trial.unanswered_seconds = 0.0
        while True:
            ticket = await self._admit(trial, patience)
            began = time.monotonic()
            try:
                async with self._slot(trial):
                    if not self.health.holds(ticket):
                        continue  # it went down while this call stood in the queue
                    began = time.monotonic()
                    return await self._try(trial, call, ticket)
            except asyncio.CancelledError:
                silent = time.monotonic() - max(began, self.health.last_success)
                if silent >= ALIVE_SEC or self.health.successes == successes_at_first:
                    trial.unanswered_seconds = silent
                raise
            except _TryFailedError as error:
                now = time.monotonic()
                trial.clock.add(began, now)
                failures += 1
                if failures == 1:
                    successes_before = self.health.successes
                delay = backoff(failures, error.retry_after)
                patience.spend(delay + (now - began if error.hung else 0.0))
                alone = not error.down and failures >= TRIES_ALONE
                if alone and self.health.successes == successes_before:
                    # Nobody else asked meanwhile: is it the request, or the endpoint?
                    with trial.clock.stopped():
                        alone = not await self.ping()
                if patience.left <= 0 or alone:
                    raise EndpointFailedError(f"{error} (after {failures} tries)") from error
            with trial.clock.stopped():
                await asyncio.sleep(delay)

    async def ping(self) -> str:
        """Whether the endpoint answers a call at all: empty, or what came instead of an answer."""
        body = {
            "model": self._endpoint.served_model,
            "messages": [{"role": "user", "content": "Say hello."}],
            "max_tokens": 1,
        }
        call = Call(0, 0, "chat/completions", body, 0)
        ticket = Ticket(time.monotonic(), probe=True)
        try:
            async with asyncio.timeout(_PING_SEC):
                await self._ask(call, Entry(call))
        except (TimeoutError, _TryFailedError, EndpointFailedError) as error:
            reason = str(error) or f"{self.name}: no answer within {_PING_SEC:g} s"
            self.health.failed(ticket, reason, None)
            return reason
        self.health.succeeded(ticket)
        return ""

    @asynccontextmanager
    async def _slot(self, trial: Trial) -> AsyncIterator[None]:
        """One of the calls that may run at once. Waiting for it is our doing: no agent's time."""
        if self._slots is None:
            yield
            return
        with trial.clock.stopped(), trial.queue.stopped():
            await self._slots.acquire()
        try:
            yield
        finally:
            self._slots.release()

    async def _admit(self, trial: Trial, patience: "_Patience") -> Ticket:
        """Wait until the endpoint is up, or until it is this call's turn to find out."""
        while (ticket := self.health.try_admit()) is None:
            if patience.left <= 0:
                raise EndpointFailedError(
                    f"{self.health.reason} (down for {self.health.down_seconds:.0f} s)"
                )
            began = time.monotonic()
            with trial.clock.stopped():
                await self.health.wait(patience.left)
            patience.spend(time.monotonic() - began)
        return ticket

    async def _try(self, trial: Trial, call: Call, ticket: Ticket) -> Answer:
        entry = Entry(call)
        try:
            answer, reply = await self._ask(call, entry)
        except _TryFailedError as error:
            entry.failure = str(error)
            if error.down:
                self.health.failed(ticket, str(error), error.retry_after)
            raise
        except EndpointFailedError as error:
            entry.failure = str(error)
            raise
        except asyncio.CancelledError:
            entry.failure = "cancelled"
            raise
        else:
            self.health.succeeded(ticket)
            if reply is None:
                trial.bad_requests += 1
            else:
                trial.answered(reply, entry.seconds, call.prompt_bytes)
            return answer
        finally:
            self._write(trial, entry)

    async def _ask(self, call: Call, entry: Entry) -> tuple[Answer, Reply | None]:
        """One request. The reply is None where the server blames the request."""
        url = f"{self._endpoint.base_url}/{call.path}"
        try:
            async with self._session.post(url, json=call.body, allow_redirects=False) as response:
                entry.status = response.status
                body = self._endpoint.scrub(await read_body(response, self._memory))
                entry.response = body[:_RECORDED_BAD_BODY].decode(errors="replace")
                retry_after = _retry_after(response.headers.get("Retry-After"))
        except TooMuchError as error:
            raise EndpointFailedError(f"{url}: {error}") from error
        except TimeoutError as error:
            raise _TryFailedError(
                f"{url}: no answer in time ({type(error).__name__})", down=True, hung=True
            ) from error
        except (aiohttp.ClientError, OSError) as error:
            reason = self._endpoint.scrub_text(str(error) or type(error).__name__)
            raise _TryFailedError(f"{url}: {reason}", down=True) from error
        answer = Answer(
            response.status, body, response.headers.get("Content-Type", "application/json")
        )
        if response.status in _AGENTS_FAULT:
            return answer, None
        if response.status != _OK:
            self._reject(url, answer, retry_after)
        try:
            reply = read_stream(body) if call.body.get("stream") else read_reply(body)
        except BadReplyError as error:
            raise _TryFailedError(f"{url}: {error}", down=False) from error
        entry.answered(reply)
        return answer, reply

    @staticmethod
    def _reject(url: str, answer: Answer, retry_after: float | None) -> None:
        reason = f"{url}: HTTP {answer.status}: {shown(answer.body)}"
        down = answer.status not in _OF_THE_REQUEST
        raise _TryFailedError(reason, down=down, retry_after=retry_after)

    def _write(self, trial: Trial, entry: Entry) -> None:
        trial.write(self._endpoint.scrub(entry.line()))


def _retry_after(header: str | None) -> float | None:
    """Seconds to wait; the header holds a number of them or a date."""
    if header is None:
        return None
    try:
        return max(0.0, float(header))
    except ValueError:
        pass
    try:
        return max(0.0, (parsedate_to_datetime(header) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None
