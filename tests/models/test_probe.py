"""Probing real servers, well-behaved and not."""

import json
import socket
import ssl
import subprocess
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from tbeval.models.endpoint import Endpoint, EndpointError
from tbeval.models.probe import Identity, probe
from tests.scripted import ScriptedEndpoint

KEY = "sk-planted-4711"


@asynccontextmanager
async def serving(
    pages: Mapping[str, Any], *, status: int = 200, tls: ssl.SSLContext | None = None
) -> AsyncIterator[str]:
    """A server with fixed pages; yields its base URL. Texts go out as they are."""

    async def page(request: web.Request) -> web.Response:
        found = pages.get(request.path)
        if found is None:
            return web.Response(status=404)
        text = found if isinstance(found, str) else json.dumps(found)
        return web.Response(text=text, status=status, content_type="application/json")

    application = web.Application()
    application.router.add_get("/{path:.*}", page)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "localhost", 0, ssl_context=tls)
    await site.start()
    try:
        scheme = "https" if tls else "http"
        yield f"{scheme}://localhost:{runner.addresses[0][1]}/v1"
    finally:
        await runner.cleanup()


def models(*entries: Mapping[str, Any]) -> dict[str, Any]:
    return {"object": "list", "data": list(entries)}


async def test_vllm() -> None:
    entry = {"id": "q", "owned_by": "vllm", "root": "/w/q", "max_model_len": 4096}
    async with serving({"/v1/models": models(entry), "/version": {"version": "0.11"}}) as url:
        assert await probe(Endpoint(url, "q")) == Identity("q", 4096, "/w/q", "vllm", "0.11")


async def test_sglang() -> None:
    pages = {
        "/v1/models": models({"id": "q", "owned_by": "sglang", "root": "q"}),
        "/get_model_info": {"model_path": "/w/q", "weight_version": "351"},
        "/server_info": {"version": "0.5", "context_length": 40960},
    }
    async with serving(pages) as url:
        found = await probe(Endpoint(url, "q"))
    assert found == Identity("q", 40960, "/w/q", "sglang", "0.5", "351")
    assert found.as_dict()["context_window"] == "40960"


async def test_llama_cpp() -> None:
    pages = {
        "/v1/models": models({"id": "q", "owned_by": "llamacpp", "meta": {"n_ctx_train": 9999}}),
        "/props": {
            "default_generation_settings": {"n_ctx": 2048},
            "model_path": "/q.gguf",
            "build_info": "b1",
        },
    }
    async with serving(pages) as url:
        found = await probe(Endpoint(url))
    assert found == Identity("q", 2048, "/q.gguf", "llama.cpp", "b1")


async def test_window_is_the_checkpoints_where_the_server_is_silent_and_never_more() -> None:
    async with ScriptedEndpoint(window=None) as server:
        found = await probe(Endpoint(server.base_url, context_window=5000))
        assert found.context_window == 5000
        with pytest.raises(EndpointError, match="write context_window = "):
            await probe(Endpoint(server.base_url))
    async with ScriptedEndpoint(window=4096) as server:
        for own, used in ((9999, 4096), (1000, 1000)):
            found = await probe(Endpoint(server.base_url, context_window=own))
            assert found.context_window == used


async def test_other_models_are_named() -> None:
    async with serving({"/v1/models": models({"id": "a"}, {"id": "b"})}) as url:
        with pytest.raises(EndpointError, match=f"c is not served at {url}; it serves: a, b"):
            await probe(Endpoint(url, "c"))
        with pytest.raises(EndpointError, match="serves a, b: name one"):
            await probe(Endpoint(url))


async def test_key_is_sent_and_a_wrong_one_is_told_without_showing_it() -> None:
    async with ScriptedEndpoint(api_key=KEY) as server:
        assert (await probe(Endpoint(server.base_url, api_key=KEY))).served_model == "scripted"
        with pytest.raises(EndpointError, match=r"refuses the key \(HTTP 401\)") as caught:
            await probe(Endpoint(server.base_url, api_key="sk-wrong-4711"))
    assert "sk-wrong-4711" not in str(caught.value)


@pytest.mark.parametrize(
    ("page", "status", "sentence"),
    [
        (models(), 200, "serves nothing"),
        ("<html>hello</html>", 200, "does not answer as OpenAI's API does"),
        ("[]", 200, "does not answer as OpenAI's API does"),
        ({"data": 3}, 200, "does not answer as OpenAI's API does"),
        ({"error": "loading"}, 503, "HTTP 503: look at the server's log"),
        (None, 200, "HTTP 404: base_url should end in /v1"),
    ],
)
async def test_other_servers(page: Any, status: int, sentence: str) -> None:
    async with serving({"/v1/models": page}, status=status) as url:
        with pytest.raises(EndpointError, match=sentence):
            await probe(Endpoint(url))


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


async def test_nobody_there() -> None:
    url = f"http://127.0.0.1:{free_port()}/v1"
    with pytest.raises(EndpointError, match=f"Nothing answers at {url}"):
        await probe(Endpoint(url))


async def test_proxy_of_the_environment_does_not_catch_a_local_endpoint(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    dead = f"http://127.0.0.1:{free_port()}"
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, dead)
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    async with ScriptedEndpoint() as server:
        url = server.base_url
        assert (await probe(Endpoint(url))).context_window == server.window
        for proxy in ("environment", dead):
            with pytest.raises(EndpointError, match="Nothing answers"):
                await probe(Endpoint(url, proxy=proxy))
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        assert (await probe(Endpoint(url, proxy="environment"))).served_model == "scripted"


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[Path, ssl.SSLContext]:
    """A certificate for localhost that nobody has signed but itself, and its server's context."""
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2"
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    files = ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*command.split(), *names, *files], check=True, capture_output=True)
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(certificate, key)
    return certificate, tls


async def test_ca_file_of_the_checkpoint_is_used(
    certificate: tuple[Path, ssl.SSLContext],
) -> None:
    ca_file, tls = certificate
    entry = {"id": "q", "max_model_len": 4096}
    pages = {"/v1/models": models(entry), "/version": {"version": "1"}}
    async with serving(pages, tls=tls) as url:
        found = await probe(Endpoint(url, ca_file=ca_file))
        assert found.engine_version == "1"  # read by the gateway's client, the rest by openai's
        with pytest.raises(EndpointError, match="certificate verify failed"):
            await probe(Endpoint(url))
