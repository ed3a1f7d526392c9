"""A small OpenAI-compatible server whose replies come from a script: the fake model of all tests.

Real HTTP on loopback, in this process:

    async with ScriptedEndpoint(lambda request: Reply("hello")) as endpoint:
        ... endpoint.base_url, endpoint.requests ...

or in a process of its own, which survives what the test does to the run:

    python tests/scripted.py --script FILE --port N [--log FILE]

where FILE is Python that defines `reply(request) -> Reply` (`from scripted import Reply, Request`).
The log gets one line of JSON per model call, written before the call is answered.
"""

import argparse
import asyncio
import json
import runpy
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from aiohttp import web

MODEL = "scripted"
WINDOW = 32768
TOKEN_BYTES = 4


@dataclass(frozen=True)
class Request:
    """A model call as it arrived.

    Attributes:
        index: Number of model calls before it, of all trials.
        path: `chat/completions` or `completions`.
    """

    index: int
    path: str
    body: Mapping[str, Any]
    headers: Mapping[str, str] = field(repr=False)

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The conversation; empty for a plain completion."""
        return list(self.body.get("messages") or ())

    @property
    def first(self) -> str:
        """The first prompt: it holds the task's instruction."""
        return _text(self.messages[0]["content"]) if self.messages else str(self.body["prompt"])

    @property
    def last(self) -> str:
        """The last message: what the terminal shows, as a rule."""
        return _text(self.messages[-1]["content"]) if self.messages else str(self.body["prompt"])

    @property
    def turn(self) -> int:
        """1 for the first call of a conversation."""
        return 1 + len([m for m in self.messages if m.get("role") == "assistant"])

    def task_among(self, instructions: Mapping[str, str]) -> str | None:
        """The id of the task whose instruction the conversation holds (id → text of it)."""
        whole = "\n".join(_text(message.get("content")) for message in self.messages)
        return next((task for task, text in instructions.items() if text in whole), None)

    def attempt_at(
        self, task: str, *, run_seed: int = 0, attempts: int = 10, calls: int = 200
    ) -> int | None:
        """Which attempt at a task this call belongs to, found by its seed."""
        from tbeval.models.gateway.request import call_seed

        candidates = ((a, c) for c in range(calls) for a in range(1, attempts + 1))
        seed = self.body.get("seed")
        return next((a for a, c in candidates if call_seed(run_seed, task, a, c) == seed), None)


@dataclass(frozen=True)
class Reply:
    """What the server does with a call. The defaults are a proper answer.

    Attributes:
        content: The model's text; None goes out as null.
        reasoning: Goes out as `reasoning_content`.
        tokens_in: Told in `usage`; by default a quarter of the prompt's bytes.
        tokens_out: Told in `usage`; by default a quarter of the content's bytes.
        usage: False: the reply tells no usage.
        delay_sec: Before anything is sent.
        status: Other than 200 sends an error body.
        raw: Sent as the body, in place of an answer, with `content_type`.
        cut_after: The connection is cut after so many bytes of the body (0: before any of it,
            -1: even before the headers).
        stall_after: After so many bytes nothing more comes, and the connection stays.
        endless: The same again and again, until the client goes away.
        no_choices: An answer with `choices: []`.
    """

    content: str | None = "ok"
    reasoning: str | None = None
    tool_calls: Sequence[Mapping[str, Any]] = ()
    finish_reason: str | None = "stop"
    tokens_in: int | None = None
    tokens_out: int | None = None
    usage: bool = True
    delay_sec: float = 0.0
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    content_type: str = "application/json"
    cut_after: int | None = None
    stall_after: int | None = None
    endless: bool = False
    no_choices: bool = False


Script = Callable[[Request], Reply]


class ScriptedEndpoint:
    """The server. `requests` are the model calls so far; `gone` counts clients that went away."""

    def __init__(
        self,
        script: Script = lambda _request: Reply(),
        *,
        model: str = MODEL,
        window: int | None = WINDOW,
        api_key: str = "",
        port: int = 0,
        log: Path | None = None,
    ) -> None:
        self.script = script
        self.model = model
        self.window = window
        self.root: str | None = None  # where its weights come from; may change as it serves
        self.requests: list[Request] = []
        self.gone = 0
        self.looks = 0  # how often it was asked what it serves
        self.answering = 0
        self._api_key = api_key
        self._port = port
        self._log = log
        self._arrived = asyncio.Event()

    @property
    def base_url(self) -> str:
        """The address for clients."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def port(self) -> int:
        """The port that it listens on, the same after a restart."""
        return self._port

    async def __aenter__(self) -> Self:
        application = web.Application(client_max_size=2**30)
        application.router.add_get("/v1/models", self._models)
        application.router.add_post("/v1/chat/completions", self._complete)
        application.router.add_post("/v1/completions", self._complete)
        # Cancelled handlers tell when a client went away.
        self._runner = web.AppRunner(
            application, handler_cancellation=True, access_log=None, shutdown_timeout=0.1
        )
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self._port, reuse_address=True)
        await site.start()
        self._port = self._runner.addresses[0][1]
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        server = self._runner.server
        transports = [c.transport for c in server.connections if c.transport] if server else []
        await self._runner.cleanup()
        for transport in transports:
            transport.abort()  # cleanup waits for what a client never reads
        await asyncio.sleep(0)  # they tell the loop on its next turn that they are gone

    async def arrived(self, calls: int) -> None:
        """Return when so many model calls have arrived."""
        while len(self.requests) < calls:
            self._arrived.clear()
            await self._arrived.wait()

    async def _models(self, request: web.Request) -> web.Response:
        self.looks += 1
        if not self._allowed(request):
            return _error(401, "Invalid API Key")
        model: dict[str, Any] = {"id": self.model, "object": "model", "owned_by": "scripted"}
        if self.window is not None:
            model["max_model_len"] = self.window
        if self.root is not None:
            model["root"] = self.root
        return web.json_response({"object": "list", "data": [model]})

    def _allowed(self, request: web.Request) -> bool:
        return not self._api_key or request.headers.get("Authorization") == (
            f"Bearer {self._api_key}"
        )

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        if not self._allowed(request):
            return _error(401, "Invalid API Key")
        path = request.path.removeprefix("/v1/")
        call = Request(len(self.requests), path, await request.json(), dict(request.headers))
        self.requests.append(call)
        self._arrived.set()
        self._write_log(call)
        self.answering += 1
        try:
            return await self._answer(request, call, self.script(call))
        except (asyncio.CancelledError, ConnectionError):
            self.gone += 1
            raise
        finally:
            self.answering -= 1

    def _write_log(self, call: Request) -> None:
        if self._log is not None:
            with self._log.open("a") as file:
                file.write(json.dumps({"index": call.index, "body": call.body}) + "\n")

    async def _answer(
        self, request: web.Request, call: Request, reply: Reply
    ) -> web.StreamResponse:
        await asyncio.sleep(reply.delay_sec)
        streams = bool(call.body.get("stream")) and reply.status == 200 and reply.raw is None
        body = (
            reply.raw if reply.raw is not None else _body(call, reply, self.model, streams=streams)
        )
        content_type = "text/event-stream" if streams else reply.content_type
        if reply.cut_after is None and reply.stall_after is None and not reply.endless:
            return web.Response(
                body=body, status=reply.status, headers=reply.headers, content_type=content_type
            )
        return await _spoiled(request, reply, body, content_type)


async def _spoiled(
    request: web.Request, reply: Reply, body: bytes, content_type: str
) -> web.StreamResponse:
    response = web.StreamResponse(status=reply.status, headers=reply.headers)
    response.content_type = content_type
    transport = request.transport
    assert transport is not None
    if reply.cut_after == -1:
        transport.abort()
        return response
    if not reply.endless:
        response.content_length = len(body)
    await response.prepare(request)
    while reply.endless:
        await response.write(body)
        await asyncio.sleep(0)
    if reply.stall_after is not None:
        await response.write(body[: reply.stall_after])
        await asyncio.Event().wait()
    await response.write(body[: reply.cut_after])
    transport.close()  # what was written still goes out
    return response


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content)
    return str(content or "")


def _error(status: int, message: str) -> web.Response:
    return web.json_response({"error": {"message": message, "code": status}}, status=status)


def _usage(call: Request, reply: Reply) -> dict[str, Any]:
    prompt = json.dumps(call.body.get("messages") or call.body.get("prompt"))
    said = (reply.content or "") + (reply.reasoning or "")
    tokens_in = len(prompt) // TOKEN_BYTES if reply.tokens_in is None else reply.tokens_in
    tokens_out = 1 + len(said) // TOKEN_BYTES if reply.tokens_out is None else reply.tokens_out
    usage: dict[str, Any] = {
        "prompt_tokens": tokens_in,
        "completion_tokens": tokens_out,
        "total_tokens": tokens_in + tokens_out,
    }
    if reply.reasoning is not None:
        thought = len(reply.reasoning) // TOKEN_BYTES
        usage["completion_tokens_details"] = {"reasoning_tokens": thought}
    return usage


def _body(call: Request, reply: Reply, model: str, *, streams: bool) -> bytes:
    if reply.status != 200:
        error = {"message": reply.content, "type": "scripted", "code": reply.status}
        return json.dumps({"error": error}).encode()
    said: dict[str, Any] = {"role": "assistant", "content": reply.content}
    if reply.reasoning is not None:
        said["reasoning_content"] = reply.reasoning
    if reply.tool_calls:
        said["tool_calls"] = list(reply.tool_calls)
    answer: dict[str, Any] = {"id": f"call-{call.index}", "created": 0, "model": model}
    if streams:
        return _stream(call, reply, answer, said)
    chat = call.path == "chat/completions"
    choice: dict[str, Any] = {"index": 0, "finish_reason": reply.finish_reason}
    choice |= {"message": said} if chat else {"text": reply.content or ""}
    answer["object"] = "chat.completion" if chat else "text_completion"
    answer["choices"] = [] if reply.no_choices else [choice]
    if reply.usage:
        answer["usage"] = _usage(call, reply)
    return json.dumps(answer).encode()


def _stream(
    call: Request, reply: Reply, answer: Mapping[str, Any], said: Mapping[str, Any]
) -> bytes:
    chat = call.path == "chat/completions"

    def event(part: Mapping[str, Any], finish_reason: str | None) -> dict[str, Any]:
        body = {"delta": part} if chat else {"text": part.get("content") or ""}
        choice = {"index": 0, "finish_reason": finish_reason, **body}
        return {**answer, "object": "chat.completion.chunk", "choices": [choice]}

    text = str(said["content"] or "")
    pieces = [text[i : i + 8] for i in range(0, len(text), 8)]
    events = [event({**said, "content": ""}, None)]
    events += [event({"content": piece}, None) for piece in pieces]
    if reply.finish_reason is not None:
        events.append(event({}, reply.finish_reason))
    options = call.body.get("stream_options") or {}
    if reply.usage and options.get("include_usage"):
        events.append({**answer, "choices": [], "usage": _usage(call, reply)})
    if reply.no_choices:
        events = [{**item, "choices": []} for item in events]
    lines = [json.dumps(item) for item in events] + ["[DONE]"]
    return "".join(f"data: {line}\n\n" for line in lines).encode()


async def _serve(script: Script, port: int, log: Path | None, api_key: str) -> None:
    async with ScriptedEndpoint(script, port=port, log=log, api_key=api_key) as endpoint:
        sys.stdout.write(f"{endpoint.base_url}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


def main() -> None:
    """Serve a script from a file until killed."""
    parser = argparse.ArgumentParser(description="An OpenAI-compatible server with a script.")
    parser.add_argument("--script", type=Path, required=True)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--log", type=Path)
    parser.add_argument("--api-key", default="")
    options = parser.parse_args()
    sys.modules["scripted"] = sys.modules["__main__"]  # for the script's own imports
    script = runpy.run_path(str(options.script))["reply"]
    asyncio.run(_serve(script, options.port, options.log, options.api_key))


if __name__ == "__main__":
    main()
