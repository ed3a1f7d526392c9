"""The gateway's own side: an OpenAI-compatible server on loopback with one address per trial."""

import asyncio
import contextlib
import re
import secrets
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tbeval.models.endpoint import Endpoint
from tbeval.models.gateway.body import Memory
from tbeval.models.gateway.entry import refused_entry
from tbeval.models.gateway.inbound import (
    LARGEST_REQUEST,
    TooLargeError,
    disconnected,
    error,
    json_object,
)
from tbeval.models.gateway.listen import serving
from tbeval.models.gateway.record import SUFFIX, RecordWriter
from tbeval.models.gateway.replicas import Replicas
from tbeval.models.gateway.reply import without_usage_event
from tbeval.models.gateway.trial import Trial, TrialUsage
from tbeval.models.gateway.upstream import Answer, EndpointFailedError, Upstream
from tbeval.models.markers import BUDGET_MARKER, ENDPOINT_MARKER, REFUSED_MARKER
from tbeval.settings.checkpoint import Budget

PATIENCE_SEC = 600.0
#: See `Checkpoint.silence_limit_sec`.
IDLE_SEC = 1800.0
#: Longest call: a server that goes on for ever does not send a model's answer.
LONGEST_CALL_SEC = 3600.0
_TRIAL_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
_CLIENT_GONE = 499  # nobody reads it

_Handler = Callable[[Trial, Request], Awaitable[Response]]


class Gateway:
    """All model traffic of a run.

    Agents get one base URL per trial and nothing else: the gateway alone knows the endpoint and
    its key, puts the checkpoint's sampling and a seed into every call, keeps the trial's budget,
    records what was sent and received, and waits out an endpoint that is down.

    Replies are read to their end and checked before they go on, streams too: so a stream that
    breaks in the middle is asked for again instead of spoiling its trial. An agent's client must
    therefore be ready to wait (no client time-out below `IDLE_SEC`).

    Use as an async context manager.
    """

    def __init__(
        self,
        endpoints: Endpoint | Sequence[Endpoint],
        *,
        record_dir: Path,
        run_seed: int,
        concurrency: int | None = None,
        patience_sec: float = PATIENCE_SEC,
        idle_sec: float = IDLE_SEC,
    ) -> None:
        """Prepare a gateway.

        Args:
            endpoints: One, or all replicas, with served model and context window known (`probe`).
            record_dir: Gets one file per trial, `<trial id>.jsonl.zst`; made if absent.
            run_seed: The seeds of all calls are derived from it.
            concurrency: Calls that may run at once at each endpoint; None for any number.
            patience_sec: How long one call waits for an endpoint that is down.
            idle_sec: Longest silence of the endpoint before it begins to answer a call.
        """
        self._endpoints = (endpoints,) if isinstance(endpoints, Endpoint) else tuple(endpoints)
        if any(one.served_model is None or one.context_window is None for one in self._endpoints):
            raise ValueError(
                "give the gateway endpoint.probed(…): what `probe` found out is missing"
            )
        self._record_dir = record_dir
        self._run_seed = run_seed
        self._concurrency = concurrency
        self._patience_sec = patience_sec
        self._idle_sec = idle_sec
        self._trials: dict[str, Trial] = {}
        self._memory = Memory()

    async def __aenter__(self) -> Self:
        self._record_dir.mkdir(parents=True, exist_ok=True)
        async with contextlib.AsyncExitStack() as stack:
            upstreams = [await self._towards(endpoint, stack) for endpoint in self._endpoints]
            self._replicas = Replicas(upstreams)
            self._port = await stack.enter_async_context(serving(self._application()))
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for trial_id in list(self._trials):
            await self.close_trial(trial_id)
        await self._stack.aclose()

    async def _towards(self, endpoint: Endpoint, stack: contextlib.AsyncExitStack) -> Upstream:
        session = await stack.enter_async_context(
            endpoint.open_session(idle_sec=self._idle_sec, total_sec=LONGEST_CALL_SEC)
        )
        return Upstream(
            endpoint,
            session,
            run_seed=self._run_seed,
            concurrency=self._concurrency,
            patience_sec=self._patience_sec,
            memory=self._memory,
        )

    @property
    def down_seconds(self) -> float:
        """For how long an endpoint has been down; 0 if all are up."""
        return self._replicas.longest_down.health.down_seconds

    @property
    def all_down_seconds(self) -> float:
        """For how long none of the endpoints has answered; 0 if one is up."""
        return self._replicas.all_down_seconds

    @property
    def down_reason(self) -> str:
        """What the last call that found it down was told; empty if all are up."""
        health = self._replicas.longest_down.health
        return health.reason if health.down else ""

    def answers_again(self, replica: str) -> None:
        """Tell that an endpoint (its address) answered when it was asked what it serves."""
        self._replicas.answers_again(replica)

    async def ping(self, replica: str) -> str:
        """Whether an endpoint (its address) answers a call now: empty, or what came instead."""
        return await self._replicas[replica].ping()

    def open_trial(
        self, trial_id: str, *, task: str, attempt: int, budget: Budget | None = None
    ) -> str:
        """Admit a trial; returns the base URL for its agent, which ends in `/v1`.

        Raises:
            ValueError: The id is not fit for a file name and a URL, or open already.
            FileExistsError: The trial has a record of an earlier time.
            OSError: The record cannot be written.
        """
        if not _TRIAL_ID.fullmatch(trial_id):
            raise ValueError(f"{trial_id!r} is no trial id")
        if trial_id in self._trials:
            raise ValueError(f"trial {trial_id} is open already")
        record = RecordWriter(self._record_dir / f"{trial_id}{SUFFIX}")
        replica = self._replicas.admit()
        trial = Trial(trial_id, task, attempt, budget or Budget(), record, replica)
        self._trials[trial_id] = trial
        return f"http://127.0.0.1:{self._port}/{trial.token}/t/{trial_id}/v1"

    def usage(self, trial_id: str) -> TrialUsage:
        """What an open trial has used so far. Raises KeyError if it is not open."""
        return self._trials[trial_id].usage()

    def refuse(self, trial_id: str) -> None:
        """Refuse a trial's further calls and end those that run. Raises KeyError if not open."""
        self._trials[trial_id].refuse()

    async def close_trial(self, trial_id: str) -> TrialUsage:
        """End a trial's calls, close its record and its URL; returns what it used in all.

        Raises:
            KeyError: The trial is not open.
        """
        trial = self._trials.pop(trial_id)
        trial.refuse()
        await asyncio.gather(*trial.running, return_exceptions=True)
        trial.record.close()
        self._replicas.leave(trial.replica)
        return trial.usage()

    # -- what agents see ---------------------------------------------------------------------

    def _application(self) -> Starlette:
        base = "/{token}/t/{trial}"
        handlers: list[tuple[str, str, _Handler]] = [
            ("GET", "/v1/models", self._models),
            ("POST", "/v1/chat/completions", self._complete),
            ("POST", "/v1/completions", self._complete),
            ("GET", "/clock", self._clock),
            ("POST", "/refuse", self._refuse),
        ]
        return Starlette(
            routes=[
                Route(base + path, self._for_trial(handler), methods=[method])
                for method, path, handler in handlers
            ]
        )

    def _for_trial(self, handler: _Handler) -> Callable[[Request], Awaitable[Response]]:
        async def handle(request: Request) -> Response:
            trial = self._trials.get(request.path_params["trial"])
            token = request.path_params["token"]
            if trial is None or not secrets.compare_digest(token.encode(), trial.token.encode()):
                return error(404, "not found")
            return await handler(trial, request)

        return handle

    async def _models(self, _trial: Trial, _request: Request) -> Response:
        model = {
            "id": self._endpoints[0].served_model,
            "object": "model",
            "created": 0,
            "owned_by": "tbeval",
            "max_model_len": self._endpoints[0].context_window,
        }
        return JSONResponse({"object": "list", "data": [model]})

    async def _clock(self, trial: Trial, _request: Request) -> Response:
        return JSONResponse({"paused_seconds": trial.clock.seconds, "down": trial.clock.waiting})

    async def _refuse(self, trial: Trial, _request: Request) -> Response:
        trial.refuse()
        return JSONResponse({"refused": True})

    async def _complete(self, trial: Trial, request: Request) -> Response:
        path = request.url.path.rpartition("/v1/")[2]
        try:
            body = await json_object(request)
        except TooLargeError:
            reason = f"the request is larger than {LARGEST_REQUEST >> 20} MB"
            trial.bad_requests += 1
            trial.write(refused_entry(trial.calls, path, 413, reason))
            return error(413, reason)
        if body is None:
            return error(400, "the request is not a JSON object")
        if (ended := _ended(trial)) is not None:
            return ended
        try:
            answer = await self._until_gone(trial, request, path, body)
        except EndpointFailedError as failure:
            return error(503, f"{ENDPOINT_MARKER} {failure}")
        if answer is None:
            return _ended(trial) or Response(status_code=_CLIENT_GONE)
        return Response(
            _as_asked(answer, body).body,
            answer.status,
            headers={"content-type": answer.content_type},
        )

    async def _until_gone(
        self, trial: Trial, request: Request, path: str, body: dict[str, Any]
    ) -> Answer | None:
        """The answer, or None if the trial was refused or its agent went away meanwhile."""
        call = asyncio.create_task(self._replicas[trial.replica].call(trial, path, body))
        gone = asyncio.create_task(disconnected(request))
        trial.running.add(call)
        try:
            await asyncio.wait({call, gone}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            gone.cancel()
            if not call.done():
                call.cancel()  # else the model generates on for nobody
            await asyncio.wait({call})
            trial.running.discard(call)
        return None if call.cancelled() else call.result()


def _ended(trial: Trial) -> Response | None:
    """The answer to a trial that may not go on, or None if it may."""
    if trial.refused:
        return error(401, f"{REFUSED_MARKER} the trial is over")
    if trial.endpoint_failure:
        return error(503, f"{ENDPOINT_MARKER} {trial.endpoint_failure}")
    spent = trial.spent()
    if spent is not None:
        trial.budget_hit = spent
        return error(401, f"{BUDGET_MARKER} {spent}")
    return None


def _as_asked(answer: Answer, agent_body: dict[str, Any]) -> Answer:
    """The answer without what only the gateway asked for."""
    options = agent_body.get("stream_options")
    asked = isinstance(options, dict) and options.get("include_usage")
    if not agent_body.get("stream") or asked or answer.status != 200:  # noqa: PLR2004 - HTTP's OK
        return answer
    return replace(answer, body=without_usage_event(answer.body))
