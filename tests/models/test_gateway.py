"""The gateway between real HTTP clients and a real, scripted endpoint."""

import asyncio
import json
import resource
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tbeval.models.endpoint import Endpoint
from tbeval.models.gateway import Gateway, inbound
from tbeval.models.gateway.request import call_seed
from tbeval.models.gateway.upstream import TRIES_ALONE
from tbeval.models.markers import BUDGET_MARKER, ENDPOINT_MARKER, REFUSED_MARKER, budget_hit
from tbeval.records.model_record import read_record
from tbeval.settings.checkpoint import Budget, Sampling
from tests.scripted import Reply, Request, ScriptedEndpoint

MESSAGES = [{"role": "user", "content": "hello"}]
CHAT = "chat/completions"


class Setting:
    """A gateway before a scripted endpoint, and a client like an agent's."""

    def __init__(self, upstream: ScriptedEndpoint, gateway: Gateway, records: Path) -> None:
        self.upstream = upstream
        self.gateway = gateway
        self.records = records
        self.client = aiohttp.ClientSession()

    def open(
        self, trial: str = "t.1.1-r", *, budget: Budget | None = None, attempt: int = 1
    ) -> str:
        return self.gateway.open_trial(trial, task="t", attempt=attempt, budget=budget)

    async def post(self, base: str, path: str = CHAT, **body: Any) -> tuple[int, dict[str, Any]]:
        body = {"messages": MESSAGES, **body} if path == CHAT else body
        async with self.client.post(f"{base}/{path}", json=body) as response:
            return response.status, await response.json()

    async def clock(self, base: str) -> dict[str, Any]:
        async with self.client.get(base.removesuffix("/v1") + "/clock") as response:
            return dict(await response.json())

    def record(self, trial: str = "t.1.1-r") -> list[dict[str, Any]]:
        return list(read_record(self.records / f"{trial}.jsonl.zst"))


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110 - what another party sees sets no event here
            await asyncio.sleep(0.01)


Opener = Callable[..., AbstractAsyncContextManager[Setting]]


@pytest.fixture
def setting(tmp_path: Path) -> Opener:
    @asynccontextmanager
    async def opened(
        script: Callable[[Request], Reply] = lambda _: Reply(),
        *,
        patience_sec: float = 5.0,
        concurrency: int | None = None,
        idle_sec: float = 5.0,
        **endpoint: Any,
    ) -> AsyncIterator[Setting]:
        async with ScriptedEndpoint(script, api_key=endpoint.get("api_key", "")) as upstream:
            known = {
                "base_url": upstream.base_url,
                "served_model": upstream.model,
                "context_window": upstream.window,
            }
            gateway = Gateway(
                Endpoint(**{**known, **endpoint}),
                record_dir=tmp_path / "model",
                run_seed=7,
                concurrency=concurrency,
                patience_sec=patience_sec,
                idle_sec=idle_sec,
            )
            async with gateway:
                found = Setting(upstream, gateway, tmp_path / "model")
                try:
                    yield found
                finally:
                    await found.client.close()

    return opened


def failing(times: int, fault: Reply) -> Callable[[Request], Reply]:
    return lambda request: fault if request.index < times else Reply("recovered")


async def test_answer_passes_and_is_counted_and_recorded(setting: Opener) -> None:
    async with setting(lambda _: Reply("hi", tokens_in=11, tokens_out=3)) as s:
        base = s.open()
        status, answer = await s.post(base)
        usage = await s.gateway.close_trial("t.1.1-r")
    assert status == 200
    assert answer["choices"][0]["message"]["content"] == "hi"
    assert (usage.calls, usage.tokens_in, usage.tokens_out) == (1, 11, 3)
    assert usage.finish_reasons == {"stop": 1}
    assert usage.endpoint_failure == ""
    assert usage.paused_seconds == 0
    assert 0 < usage.model_seconds < 5
    (entry,) = s.record()
    assert entry["request"] == s.upstream.requests[0].body
    assert entry["response"] == answer
    assert (entry["call"], entry["status"], entry["finish_reason"]) == (0, 200, "stop")


async def test_checkpoint_overrides_what_the_agent_sends(setting: Opener) -> None:
    sampling = Sampling(temperature=0.6, top_p=0.9, top_k=20, max_tokens=500)
    async with setting(
        sampling=sampling,
        chat_template_kwargs={"enable_thinking": False},
        extra_body={"cache_prompt": True},
    ) as s:
        await s.post(
            s.open(attempt=2),
            model="openai/other",
            temperature=1.5,
            max_completion_tokens=9,
            seed=1,
            chat_template_kwargs={"enable_thinking": True, "own": 1},
            stop=["x"],
        )
    body = s.upstream.requests[0].body
    assert body == {
        "messages": MESSAGES,
        "model": "scripted",
        "temperature": 0.6,
        "top_p": 0.9,
        "top_k": 20,
        "max_tokens": 500,
        "seed": call_seed(7, "t", 2, 0),
        "chat_template_kwargs": {"enable_thinking": False, "own": 1},
        "cache_prompt": True,
        "stop": ["x"],
    }


async def test_seeds_differ_by_call_and_attempt_and_repeat(setting: Opener) -> None:
    async with setting() as s:
        for attempt in (1, 2):
            base = s.open(f"t.{attempt}.1-r", attempt=attempt)
            await s.post(base)
            await s.post(base)
    seeds = [request.body["seed"] for request in s.upstream.requests]
    assert seeds == [call_seed(7, "t", a, c) for a in (1, 2) for c in (0, 1)]
    assert len(set(seeds)) == 4
    assert all(0 <= seed < 2**31 for seed in seeds)
    assert s.upstream.requests[3].attempt_at("t", run_seed=7) == 2


async def test_max_tokens_is_clamped_only_where_the_window_would_overflow(setting: Opener) -> None:
    async with setting(context_window=4000, sampling=Sampling(max_tokens=3000)) as s:
        base = s.open()
        await s.post(base)
        await s.post(base, messages=[{"role": "user", "content": "word " * 1500}])
        await s.post(base, messages=[{"role": "user", "content": "word " * 9000}])
    asked = [request.body["max_tokens"] for request in s.upstream.requests]
    assert asked[0] == 3000
    assert 256 < asked[1] < 4000 - 1500
    assert asked[2] == 256


@pytest.mark.parametrize(
    ("budget", "hit"),
    [
        (Budget(calls=2), "calls"),
        (Budget(output_tokens=100), "output tokens"),
        (Budget(total_tokens=600), "total tokens"),
    ],
)
async def test_spent_budget_ends_the_agent(setting: Opener, budget: Budget, hit: str) -> None:
    async with setting(lambda _: Reply(tokens_in=300, tokens_out=50)) as s:
        base = s.open(budget=budget)
        assert [(await s.post(base))[0] for _ in range(2)] == [200, 200]
        status, answer = await s.post(base)
        usage = await s.gateway.close_trial("t.1.1-r")
    assert status == 401
    assert BUDGET_MARKER in answer["error"]["message"]
    assert budget_hit(answer["error"]["message"]) == hit == usage.budget_hit
    assert usage.calls == len(s.upstream.requests) == 2
    assert usage.endpoint_failure == ""


FAULTS = {
    "429": Reply("slow down", status=429),
    "500": Reply("oops", status=500),
    "502 in HTML": Reply(status=502, raw=b"<html>Bad Gateway</html>", content_type="text/html"),
    "503": Reply("loading", status=503),
    "504": Reply("gateway timeout", status=504),
    "reset before the headers": Reply(cut_after=-1),
    "reset before the body": Reply(cut_after=0),
    "cut-off body": Reply(cut_after=40),
    "HTML with 200": Reply(raw=b"<html>hello</html>", content_type="text/html"),
    "garbage": Reply(raw=b"\xff\xfe\x00{"),
    "invalid UTF-8": Reply(raw=b'{"choices": [{"text": "\xff"}]}'),
    "deep JSON": Reply(raw=b"[" * 100_000),
    "empty body": Reply(raw=b""),
    "no choices": Reply(no_choices=True),
    "no finish_reason": Reply(finish_reason=None),
    "an error with 200": Reply(raw=b'{"error": {"message": "engine died"}}'),
    "a list": Reply(raw=b"[1]"),
    "silent": Reply(delay_sec=60),
}


@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.parametrize("stream", [False, True])
async def test_passing_fault_is_waited_out(setting: Opener, name: str, *, stream: bool) -> None:
    async with setting(failing(1, FAULTS[name]), idle_sec=0.4) as s:
        base = s.open()
        body = {"messages": MESSAGES, "stream": stream}
        async with s.client.post(f"{base}/{CHAT}", json=body) as response:
            text = await response.text()
        usage = await s.gateway.close_trial("t.1.1-r")
    assert response.status == 200
    assert stream or "recovered" in text
    assert (usage.calls, usage.endpoint_failure) == (1, "")
    assert usage.paused_seconds > 0.2
    assert len(s.upstream.requests) == 2
    first, second = s.record()
    assert first["failure"]
    assert (second["failure"], second["finish_reason"]) == ("", "stop")
    assert first["request"] == second["request"]


@pytest.mark.parametrize("name", FAULTS)
async def test_lasting_fault_is_the_endpoints(setting: Opener, name: str) -> None:
    async with setting(lambda _: FAULTS[name], patience_sec=1.0, idle_sec=0.4) as s:
        base = s.open()
        status, answer = await s.post(base)
        again, _ = await s.post(base)
        usage = await s.gateway.close_trial("t.1.1-r")
    assert (status, again) == (503, 503)
    assert answer["error"]["message"].startswith(ENDPOINT_MARKER)
    assert s.upstream.base_url in usage.endpoint_failure
    assert usage.calls == 1
    assert usage.paused_seconds > 0.2
    assert len(s.record()) == len(s.upstream.requests) > 1


@pytest.mark.parametrize("status", [401, 402, 403, 404, 301])
async def test_a_key_revoked_or_a_model_unloaded_in_mid_run_holds_all_trials(
    setting: Opener, status: int
) -> None:
    serves = asyncio.Event()

    def script(_: Request) -> Reply:
        return Reply() if serves.is_set() else Reply("no", status=status)

    async with setting(script, patience_sec=30) as s:
        calls = [asyncio.create_task(s.post(s.open(f"t.{n}.1-r"))) for n in range(3)]
        await until(lambda: s.gateway.all_down_seconds > 0.5)
        assert f"HTTP {status}" in s.gateway.down_reason
        assert len(s.upstream.requests) <= 4  # a probe at a time, not three trials' tries
        serves.set()
        assert {status for status, _ in await asyncio.gather(*calls)} == {200}


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """The gateway waits a tenth of its time."""
    monkeypatch.setattr("tbeval.models.gateway.health.FIRST_DELAY_SEC", 0.05)


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("fault", ["HTML with 200", "500", "no choices"])
async def test_what_fails_for_everybody_tells_that_the_endpoint_is_down(
    setting: Opener, fault: str
) -> None:
    async with setting(lambda _: FAULTS[fault], patience_sec=60) as s:
        call = asyncio.create_task(s.post(s.open()))
        await until(lambda: s.gateway.all_down_seconds > 0)
        assert len(s.upstream.requests) == TRIES_ALONE + 1
        assert s.upstream.requests[-1].body["max_tokens"] == 1  # not the trial's own request
        call.cancel()


@pytest.mark.usefixtures("hasty")
async def test_one_bad_request_while_nobody_else_asks_does_not_stop_the_run(
    setting: Opener,
) -> None:
    def script(request: Request) -> Reply:
        return Reply("oops", status=500) if request.first == "poison" else Reply()

    async with setting(script, patience_sec=60) as s:
        messages = [{"role": "user", "content": "poison"}]
        assert (await s.post(s.open(), messages=messages))[0] == 503
        assert s.gateway.all_down_seconds == 0
        usage = await s.gateway.close_trial("t.1.1-r")
    assert "HTTP 500" in usage.endpoint_failure
    assert usage.paused_seconds > 0.2
    assert len(s.upstream.requests) == TRIES_ALONE + 1


async def test_a_storm_of_429_is_waited_out_together(setting: Opener) -> None:
    calm = asyncio.Event()
    storm = Reply("slow down", status=429, headers={"Retry-After": "1"})
    async with setting(lambda _: Reply() if calm.is_set() else storm, patience_sec=60) as s:
        trials = [f"t.{n}.1-r" for n in range(1, 33)]
        calls = [asyncio.create_task(s.post(s.open(trial))) for trial in trials]
        await until(lambda: s.gateway.all_down_seconds > 2)
        assert len(s.upstream.requests) <= len(trials) + 3  # then one a second, not all of them
        calm.set()
        assert {status for status, _ in await asyncio.gather(*calls)} == {200}
        usages = [await s.gateway.close_trial(trial) for trial in trials]
    assert all(usage.paused_seconds > 1.9 for usage in usages)
    assert not any(usage.endpoint_failure for usage in usages)


async def test_a_stream_that_stalls_is_asked_for_again(
    setting: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tbeval.models.gateway.body.STALL_SEC", 0.3)
    stalled = Reply("once upon a time", stall_after=60)
    async with setting(failing(1, stalled), idle_sec=60) as s:
        base = s.open()
        body = {"messages": MESSAGES, "stream": True}
        async with s.client.post(f"{base}/{CHAT}", json=body) as response:
            assert "upon" not in await response.text()
        usage = await s.gateway.close_trial("t.1.1-r")
    assert usage.endpoint_failure == ""
    assert usage.paused_seconds > 0.3
    assert "no answer in time" in s.record()[0]["failure"]


async def test_replies_cut_off_for_ever_end_with_the_budget(setting: Opener) -> None:
    cut = Reply("and so on", finish_reason="length", tokens_out=40)
    async with setting(lambda _: cut) as s:
        base = s.open(budget=Budget(output_tokens=100))
        statuses = [(await s.post(base))[0] for _ in range(5)]
        usage = await s.gateway.close_trial("t.1.1-r")
    assert statuses == [200] * 3 + [401] * 2
    assert (usage.finish_reasons, usage.budget_hit) == ({"length": 3}, "output tokens")


async def test_a_call_that_waits_alone_when_its_time_is_over_is_told_apart(
    setting: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent = Reply(delay_sec=60)
    async with setting(lambda r: silent if r.first == "hangs" else Reply()) as s:
        alone, other = s.open("alone.1.1-r"), s.open("other.1.1-r")
        for others, alive_sec in ((False, 60), (True, 60), (True, 0)):
            monkeypatch.setattr("tbeval.models.gateway.upstream.ALIVE_SEC", alive_sec)
            messages = [{"role": "user", "content": "hangs"}]
            call = asyncio.create_task(s.post(alone, messages=messages))
            await s.upstream.arrived(len(s.upstream.requests) + 1)
            if others:
                await s.post(other)
            call.cancel()
            await asyncio.wait({call})
            await until(lambda: s.upstream.answering == 0)
            answered = others and alive_sec > 0  # the last round: it was, and then nobody was
            assert (s.gateway.usage("alone.1.1-r").unanswered_seconds == 0) is answered
        assert await s.gateway.ping(s.upstream.base_url) == ""
        s.upstream.script = lambda _: Reply("no", status=503)
        assert "HTTP 503" in await s.gateway.ping(s.upstream.base_url)
        assert s.gateway.down_seconds > 0


async def test_a_request_beyond_measure_is_refused(
    setting: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inbound, "LARGEST_REQUEST", 1000)
    async with setting() as s:
        base = s.open()
        status, answer = await s.post(base, padding="x" * 1000)
        assert (await s.post(base))[0] == 200
        usage = await s.gateway.close_trial("t.1.1-r")
    assert (status, usage.bad_requests, len(s.upstream.requests)) == (413, 1, 1)
    assert "larger than" in answer["error"]["message"]
    refused, passed = s.record()
    assert (refused["status"], refused["request"]) == (413, {})
    assert "larger than" in refused["failure"]
    assert passed["status"] == 200


@pytest.mark.parametrize("status", [400, 413, 422])
async def test_bad_request_is_the_agents(setting: Opener, status: int) -> None:
    text = "This model's maximum context length is 32768 tokens"
    async with setting(lambda _: Reply(text, status=status)) as s:
        got, answer = await s.post(s.open())
        usage = await s.gateway.close_trial("t.1.1-r")
    assert got == status
    assert answer["error"]["message"] == text
    assert (usage.bad_requests, usage.endpoint_failure) == (1, "")


async def test_retry_after_is_obeyed(setting: Opener) -> None:
    fault = Reply("slow down", status=429, headers={"Retry-After": "1"})
    async with setting(failing(1, fault)) as s:
        base = s.open()
        await s.post(base)
        usage = await s.gateway.close_trial("t.1.1-r")
    assert 1.0 <= usage.paused_seconds < 4


async def test_endpoint_restarts_and_no_trial_notices(setting: Opener) -> None:
    async with setting(patience_sec=30) as s:
        bases = [s.open(f"t.{n}.1-r", attempt=n) for n in range(1, 9)]
        assert {status for status, _ in [await s.post(base) for base in bases]} == {200}
        await s.upstream.__aexit__(None, None, None)
        calls = [asyncio.create_task(s.post(base)) for base in bases]
        await until(lambda: s.gateway.down_seconds > 0)
        assert "Cannot connect" in s.gateway.down_reason
        clocks = [await s.clock(base) for base in bases]
        assert all(clock["down"] for clock in clocks)
        before = len(s.upstream.requests)
        await s.upstream.__aenter__()
        answers = await asyncio.gather(*calls)
        usages = [await s.gateway.close_trial(f"t.{n}.1-r") for n in range(1, 9)]
    assert {status for status, _ in answers} == {200}
    assert len(s.upstream.requests) == before + 8
    assert all(usage.paused_seconds > 0 for usage in usages)
    assert s.gateway.down_reason == ""


@pytest.mark.usefixtures("hasty")
async def test_one_bad_request_of_many_does_not_hold_the_others(setting: Opener) -> None:
    def script(request: Request) -> Reply:
        return Reply("oops", status=500) if request.first == "poison" else Reply()

    async with setting(script, patience_sec=60) as s:
        poison, good = s.open("poison.1.1-r"), s.open("good.1.1-r")
        messages = [{"role": "user", "content": "poison"}]
        bad = asyncio.create_task(s.post(poison, messages=messages))
        await s.upstream.arrived(2)
        while not bad.done():
            assert (await s.post(good))[0] == 200
            await asyncio.sleep(0.05)
        assert (await bad)[0] == 503
        usage = await s.gateway.close_trial("good.1.1-r")
    assert usage.paused_seconds == 0


async def test_refusing_a_trial_ends_its_call_at_once(setting: Opener) -> None:
    async with setting(lambda _: Reply(delay_sec=60)) as s:
        base = s.open()
        call = asyncio.create_task(s.post(base))
        await s.upstream.arrived(1)
        async with s.client.post(base.removesuffix("/v1") + "/refuse") as response:
            assert response.status == 200
        status, answer = await call
        assert (status, answer["error"]["message"].split()[0]) == (401, REFUSED_MARKER)
        assert (await s.post(base))[0] == 401
        usage = await s.gateway.close_trial("t.1.1-r")
        await until(lambda: s.upstream.answering == 0)
    assert s.upstream.gone == 1
    assert usage.endpoint_failure == ""
    assert [entry["failure"] for entry in s.record()] == ["cancelled"]


async def test_agent_that_goes_away_stops_the_generation(setting: Opener) -> None:
    async with setting(lambda _: Reply(delay_sec=60)) as s:
        call = asyncio.create_task(s.post(s.open()))
        await s.upstream.arrived(1)
        call.cancel()
        await until(lambda: s.upstream.gone > 0)
        assert s.upstream.answering == 0


async def test_stream_passes_with_the_usage_that_was_not_asked_for_taken_out(
    setting: Opener,
) -> None:
    async with setting(lambda _: Reply("a long reply in pieces", tokens_out=5)) as s:
        base = s.open()
        texts = []
        for options in ({}, {"stream_options": {"include_usage": True}}):
            body = {"messages": MESSAGES, "stream": True, **options}
            async with s.client.post(f"{base}/{CHAT}", json=body) as response:
                assert response.content_type == "text/event-stream"
                texts.append(await response.text())
        usage = s.gateway.usage("t.1.1-r")
    assert usage.tokens_out == 10
    for text, has_usage in zip(texts, (False, True), strict=True):
        *events, done = [line[6:] for line in text.split("\n\n") if line]
        assert done == "[DONE]"
        chunks = [json.loads(event) for event in events]
        said = "".join(c["choices"][0]["delta"].get("content", "") for c in chunks if c["choices"])
        assert said == "a long reply in pieces"
        assert any("usage" in chunk for chunk in chunks) == has_usage
        assert all(chunk["choices"] for chunk in chunks) != has_usage


async def test_endless_reply_is_the_endpoints(
    setting: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tbeval.models.gateway.body.LARGEST_BODY", 2**20)
    async with setting(lambda _: Reply(endless=True)) as s:
        status, answer = await s.post(s.open(), stream=True)
        usage = await s.gateway.close_trial("t.1.1-r")
        await until(lambda: s.upstream.answering == 0)
    assert status == 503
    assert "more than 1 MB" in answer["error"]["message"]
    assert usage.endpoint_failure


async def test_64_endless_streams_at_once_hold_no_more_than_their_bound(
    setting: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tbeval.models.gateway.body.LARGEST_TOGETHER", 2**20)
    monkeypatch.setattr("tbeval.models.gateway.body.SHARE", 2**13)
    large = Reply("x" * 99, endless=True)
    async with setting(lambda r: Reply("y" * 2**12) if r.first == "small" else large) as s:
        small = [{"role": "user", "content": "small"}]
        bases = [s.open(f"t.{n}.1-r") for n in range(1, 65)]
        calls = [asyncio.create_task(s.post(base, stream=True)) for base in bases]
        await s.upstream.arrived(64)
        beside = [await s.post(s.open(f"u.{n}.1-r"), messages=small) for n in range(3)]
        done = [await call for call in calls]
    assert {status for status, _ in done} == {503}
    assert all("all answers together" in answer["error"]["message"] for _, answer in done)
    assert {status for status, _ in beside} == {200}


async def test_ten_megabytes_pass(setting: Opener) -> None:
    async with setting(lambda _: Reply("x" * 10 * 2**20)) as s:
        status, answer = await s.post(s.open())
    assert status == 200
    assert len(answer["choices"][0]["message"]["content"]) == 10 * 2**20


async def test_reasoning_without_content_is_the_models_answer(setting: Opener) -> None:
    async with setting(lambda _: Reply(None, reasoning="hmm " * 100)) as s:
        status, answer = await s.post(s.open())
        usage = await s.gateway.close_trial("t.1.1-r")
    assert status == 200
    assert answer["choices"][0]["message"]["content"] is None
    assert (usage.reasoning_tokens, usage.reasoning_chars) == (100, 400)


@pytest.mark.parametrize("stream", [False, True])
async def test_thinking_inside_the_content_is_counted(setting: Opener, *, stream: bool) -> None:
    async with setting(lambda _: Reply("<think>hmm</think>\n\nyes", usage=False)) as s:
        body = {"messages": MESSAGES, "stream": stream}
        async with s.client.post(f"{s.open()}/{CHAT}", json=body) as response:
            assert stream or "hmm" in await response.text()  # what the model said passes as it is
        usage = await s.gateway.close_trial("t.1.1-r")
    assert (usage.reasoning_tokens, usage.reasoning_chars) == (None, 3)


async def test_missing_usage_counts_nothing_and_is_noted(setting: Opener) -> None:
    async with setting(lambda _: Reply(usage=False)) as s:
        await s.post(s.open())
        usage = await s.gateway.close_trial("t.1.1-r")
    assert (usage.tokens_in, usage.tokens_out, usage.calls_without_usage) == (0, 0, 1)


async def test_models_and_plain_completions(setting: Opener) -> None:
    async with setting() as s:
        base = s.open()
        async with s.client.get(f"{base}/models") as response:
            (model,) = (await response.json())["data"]
        status, answer = await s.post(base, "completions", prompt="once")
    assert (model["id"], model["max_model_len"]) == ("scripted", 32768)
    assert (status, answer["choices"][0]["text"]) == (200, "ok")
    assert s.upstream.requests[0].path == "completions"


async def test_wrong_token_and_closed_trial_are_not_found(setting: Opener) -> None:
    async with setting() as s:
        base, other = s.open(), s.open("u.1.1-r")
        token, others = base.split("/")[3], other.split("/")[3]
        assert len(token) >= 24
        assert (await s.post(base.replace(token, "x" * len(token))))[0] == 404
        assert (await s.post(base.replace(token, others)))[0] == 404
        await s.gateway.close_trial("t.1.1-r")
        assert (await s.post(base))[0] == 404
    assert s.upstream.requests == []


async def test_agents_mistakes_do_not_reach_the_endpoint(setting: Opener) -> None:
    async with setting() as s:
        for data in (b"{", b"[]", b"\xff"):
            async with s.client.post(f"{s.open(f't{len(data)}{data[0]}')}/{CHAT}", data=data) as r:
                assert r.status == 400
    assert s.upstream.requests == []


async def test_concurrency_bounds_the_calls(setting: Opener) -> None:
    most = 0

    def script(_: Request) -> Reply:
        nonlocal most
        most = max(most, s.upstream.answering)
        return Reply(delay_sec=0.05)

    async with setting(script, concurrency=3) as s:
        base = s.open()
        answers = await asyncio.gather(*(s.post(base) for _ in range(12)))
        usage = await s.gateway.close_trial("t.1.1-r")
    assert {status for status, _ in answers} == {200}
    assert most == 3
    assert usage.queue_seconds > 0.1
    assert usage.paused_seconds >= usage.queue_seconds  # our limit is no agent's time


async def test_64_streams_at_once(setting: Opener) -> None:
    async with setting(lambda _: Reply("word " * 200, delay_sec=0.05)) as s:
        bases = [s.open(f"t.{n}.1-r", attempt=n) for n in range(1, 65)]

        async def stream(base: str) -> str:
            body = {"messages": MESSAGES, "stream": True}
            async with s.client.post(f"{base}/{CHAT}", json=body) as response:
                return await response.text()

        texts = await asyncio.gather(*(stream(base) for base in bases))
    assert all(text.endswith("[DONE]\n\n") for text in texts)
    assert len(list(s.records.iterdir())) == 64


@pytest.mark.parametrize("trial", ["", "../x", "a/b", ".hidden", "a b", "a\n"])
async def test_trial_ids_cannot_name_other_files(setting: Opener, trial: str) -> None:
    async with setting() as s:
        with pytest.raises(ValueError, match="no trial id"):
            s.open(trial)


async def test_a_trial_cannot_be_opened_twice_nor_its_record_overwritten(setting: Opener) -> None:
    async with setting() as s:
        s.open()
        with pytest.raises(ValueError, match="open already"):
            s.open()
        await s.gateway.close_trial("t.1.1-r")
        with pytest.raises(FileExistsError):
            s.open()


async def test_gateway_wants_a_probed_endpoint(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="probed"):
        Gateway(Endpoint("http://127.0.0.1:1/v1"), record_dir=tmp_path, run_seed=0)


async def test_full_disk_is_reported_and_the_answer_still_passes(setting: Opener) -> None:
    async with setting() as s:
        base = s.open()
        await s.post(base)
        with no_more_than((s.records / "t.1.1-r.jsonl.zst").stat().st_size + 10):
            status, _ = await s.post(base)
        usage = await s.gateway.close_trial("t.1.1-r")
    assert status == 200
    assert "File too large" in usage.record_failure
    assert [entry["call"] for entry in s.record()] == [0]


@contextmanager
def no_more_than(size: int) -> Iterator[None]:
    """Inside, no file of this process grows beyond so many bytes: like a disk that is full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
