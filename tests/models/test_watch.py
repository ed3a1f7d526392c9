"""Replicas and what they serve, asked again while a run goes on."""

import asyncio
import time
from dataclasses import replace
from pathlib import Path

import aiohttp
import pytest

from tbeval.models.endpoint import Endpoint
from tbeval.models.gateway import Gateway
from tbeval.models.identity import Identity, Look, changes
from tbeval.models.probe import EndpointError, OtherModelError, look, probe, probe_replicas
from tbeval.models.watch import IdentityWatch, Watched
from tests.scripted import ScriptedEndpoint

SAME = Identity("q", 4096, "/w/a", "vllm", "1", "351", {"dtype": "bfloat16"})


def test_what_was_not_asked_has_not_changed() -> None:
    before = Look(SAME)
    assert changes(before, Look(SAME)) == ""
    less = replace(SAME, weight_version=None, context_window=9999, flags={})
    assert changes(before, Look(less, frozenset({"server_info"}))) == ""
    assert "weight_version 351 against not told" in changes(before, Look(less))
    other = replace(less, model_path="/w/b")
    assert changes(before, Look(other, frozenset({"props"}))) == "model_path /w/a against /w/b"


async def test_expected_path() -> None:
    async with ScriptedEndpoint() as server:
        endpoint = Endpoint(server.base_url, expect_model_path="/w/a")
        with pytest.raises(EndpointError, match="does not tell where its weights come from"):
            await probe(endpoint)
        server.root = "/w/a/"
        assert (await probe(endpoint)).model_path == "/w/a/"
        server.root = "/w/b"
        with pytest.raises(OtherModelError, match="serves the weights of /w/b, not of /w/a"):
            await probe(endpoint)


async def test_replicas_must_serve_the_same() -> None:
    async with ScriptedEndpoint() as one, ScriptedEndpoint() as two:
        endpoints = (Endpoint(one.base_url), Endpoint(two.base_url))
        one.root = two.root = "/w/a"
        looks, identity = await probe_replicas(endpoints)
        assert (len(looks), identity.model_path) == (2, "/w/a")
        two.root = "/w/b"
        with pytest.raises(EndpointError, match=r"no replicas of one model \(model_path /w/a ag"):
            await probe_replicas(endpoints)


async def watch_of(server: ScriptedEndpoint, **settings: float) -> IdentityWatch:
    endpoint = Endpoint(server.base_url, server.model)
    return IdentityWatch(
        {server.base_url: Watched(endpoint, await look(endpoint))},
        interval_sec=settings.get("interval_sec", 60),
        patience_sec=settings.get("patience_sec", 1),
    )


@pytest.mark.parametrize("what", ["root", "model", "window"])
async def test_a_change_is_found_by_the_watch(what: str) -> None:
    async with ScriptedEndpoint() as server:
        server.root = "/w/a"
        watch = await watch_of(server, interval_sec=0.05)
        watching = asyncio.create_task(watch.until_changed())
        setattr(server, what, 999 if what == "window" else "/w/b")
        await asyncio.wait_for(watching, 20)
    assert watch.change
    assert await watch.confirm(server.base_url) == watch.change


async def test_trials_share_a_look_that_began_after_their_last_calls() -> None:
    async with ScriptedEndpoint() as server:
        watch = await watch_of(server)
        before = server.looks
        ended = time.monotonic()
        confirmed = (watch.confirm(server.base_url, ended) for _ in range(8))
        assert set(await asyncio.gather(*confirmed)) == {""}
        assert await watch.confirm(server.base_url, ended) == ""
        assert server.looks == before + 1
        later = time.monotonic()
        assert await watch.confirm(server.base_url, later) == ""
        assert await watch.confirm(server.base_url) == ""
        assert server.looks == before + 3
        server.root = "/w/b"
        assert await watch.confirm(server.base_url, later) == ""  # vouched for before
        assert "has changed" in await watch.confirm(server.base_url, time.monotonic())


async def test_a_server_that_does_not_answer_has_not_changed() -> None:
    async with ScriptedEndpoint() as server:
        watch = await watch_of(server)
        assert await watch.confirm(server.base_url) == ""
        await server.__aexit__(None, None, None)
        assert "is not known: Nothing answers" in await watch.confirm(server.base_url)
        assert watch.change == ""
        await server.__aenter__()
        assert await watch.confirm(server.base_url) == ""


async def test_trials_are_spread_stay_and_avoid_a_replica_that_is_down(tmp_path: Path) -> None:
    async with ScriptedEndpoint() as one, ScriptedEndpoint() as two:
        endpoints = [Endpoint(s.base_url, s.model, s.window) for s in (one, two)]
        gateway = Gateway(endpoints, record_dir=tmp_path, run_seed=0, patience_sec=0.5)
        async with gateway, aiohttp.ClientSession() as client:

            async def say(trial: str, calls: int) -> str:
                base = gateway.open_trial(trial, task="t", attempt=1)
                body = {"messages": [{"role": "user", "content": "hello"}]}
                for _ in range(calls):
                    async with client.post(f"{base}/chat/completions", json=body) as response:
                        await response.read()
                return gateway.usage(trial).replica

            assert await say("a", 3) == one.base_url
            assert await say("b", 2) == two.base_url
            assert (len(one.requests), len(two.requests)) == (3, 2)
            await two.__aexit__(None, None, None)
            await gateway.close_trial("b")
            assert await say("c", 1) == two.base_url
            assert two.base_url in (await gateway.close_trial("c")).endpoint_failure
            assert two.base_url in gateway.down_reason
            assert [await say(name, 1) for name in "de"] == [one.base_url] * 2
            gateway.answers_again(two.base_url)
            assert await say("f", 0) == two.base_url
