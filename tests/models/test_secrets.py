"""Planted keys come back from a hostile endpoint in every way, and are found nowhere."""

import base64
import json
from pathlib import Path
from urllib.parse import quote

import aiohttp
import pytest
import zstandard

from tbeval.models.endpoint import Endpoint
from tbeval.models.gateway import Gateway
from tests.scripted import Reply, Request, ScriptedEndpoint

KEY = "sk-planted/key+4711=="
HEADER = "header-planted-4712"
ENCODED = base64.b64encode(KEY.encode()).decode()
FORMS = [form.encode() for form in (KEY, HEADER, quote(KEY, safe=""), ENCODED)]


def echoing(request: Request) -> Reply:
    """What a proxy in debug mode does: shows what it was sent."""
    shown = " ".join([*request.headers.values(), quote(KEY, safe=""), ENCODED])
    said = request.last
    if said == "answer":
        return Reply(shown)
    if said == "stream":  # in one piece: taken apart it is for nobody to find
        choice = {"index": 0, "delta": {"content": shown}, "finish_reason": "stop"}
        return Reply(raw=f"data: {json.dumps({'choices': [choice]})}\n\n".encode())
    if said == "reasoning":
        return Reply(None, reasoning=shown)
    if said == "garbage":
        return Reply(raw=shown.encode())
    return Reply(shown, status=int(said))


@pytest.mark.parametrize(
    "said", ["answer", "stream", "reasoning", "garbage", "400", "403", "429", "500"]
)
async def test_planted_keys_are_nowhere(tmp_path: Path, said: str) -> None:
    async with ScriptedEndpoint(echoing, api_key=KEY) as upstream:
        endpoint = Endpoint(
            upstream.base_url,
            upstream.model,
            upstream.window,
            api_key=KEY,
            headers={"X-Tenant": f"Bearer {HEADER}"},
        )
        async with (
            Gateway(endpoint, record_dir=tmp_path, run_seed=0, patience_sec=0.3) as gateway,
            aiohttp.ClientSession(headers={"Authorization": "Bearer dummy"}) as client,
        ):
            base = gateway.open_trial("t", task="t", attempt=1)
            messages = [{"role": "user", "content": said}]
            body = {"messages": messages, "stream": said == "stream"}
            async with client.post(f"{base}/chat/completions", json=body) as response:
                got = await response.read() + repr(response.headers).encode()
            down = gateway.down_reason
            usage = await gateway.close_trial("t")
    (sent,) = {request.headers["Authorization"] for request in upstream.requests}
    assert sent == f"Bearer {KEY}"
    record = (tmp_path / "t.jsonl.zst").read_bytes()
    reader = zstandard.ZstdDecompressor().stream_reader(record, read_across_frames=True)
    written = reader.read()
    assert b"[secret]" in written  # it did come back
    for place in (got, repr(usage).encode(), down.encode(), record, written):
        for form in FORMS:
            assert form not in place
            assert json.dumps(form.decode())[1:-1].encode() not in place
    assert b"dummy" not in written
