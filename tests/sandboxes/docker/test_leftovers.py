"""What a killed run left on the Engine goes; what lives, and what others made, stays."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tbeval.records.process import process_id
from tbeval.runs.preflight.sandbox import engine as engine_check
from tbeval.sandboxes.docker import labels
from tbeval.sandboxes.docker.check import look
from tbeval.sandboxes.docker.engine import Engine
from tbeval.sandboxes.docker.leftovers import find_leftovers
from tbeval.sandboxes.errors import SandboxStartError
from tests.sandboxes.docker.conftest import BASE, Make

pytestmark = pytest.mark.sandbox

_DIES = """
import asyncio, os, signal
from tbeval.sandboxes.docker import labels
from tbeval.sandboxes.docker.containers import ContainerLimits, configuration
from tbeval.sandboxes.docker.engine import shared_engine

async def main():
    marks = labels.owned("left", "trial")
    body = configuration({image!r}, ContainerLimits(None, None, False), {{}}, marks)
    made = await shared_engine().post("containers/create", body)
    await shared_engine().post(f"containers/{{made['Id']}}/start")
    print(made["Id"], flush=True)
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""


async def test_only_what_dead_runs_left_is_removed(
    make: Make, engine: Engine, tmp_path: Path
) -> None:
    assert tmp_path.is_dir()
    lives = make()
    await lives.start(force_build=False)
    others = await engine.post("containers/create", {"Image": BASE, "Cmd": ["true"]})
    script = [sys.executable, "-c", _DIES.format(image=BASE)]
    done = await asyncio.to_thread(subprocess.run, script, stdout=subprocess.PIPE, check=False)
    assert done.returncode == -signal.SIGKILL
    dead = done.stdout.decode().strip()
    name = (await engine.get(f"containers/{dead}/json"))["Name"].strip("/")
    mine = [one for one in find_leftovers() if name in one.what]
    assert [one.what for one in mine] == [f"container {name} of run left"]
    assert mine[0].remove()
    assert mine[0].remove(), "it is gone already"
    left = await engine.get("containers/json", params={"all": "true"})
    ids = {one["Id"] for one in left}
    assert dead not in ids
    assert {lives.container, others["Id"]} <= ids
    await engine.remove_container(others["Id"])


def test_whose_owner_is_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = labels.owned("r", "t")
    assert not labels.owner_is_dead(mine)
    assert not labels.owner_is_dead({})
    node, boot, namespace, pid, started = mine[labels.OWNER].split()
    assert int(pid) == os.getpid()
    assert int(started) == process_id(os.getpid()).started

    def dead(*fields: str) -> bool:
        return labels.owner_is_dead({labels.OWNER: " ".join(fields)})

    assert dead(node, boot, namespace, pid, "1")
    assert dead(node, "earlier", namespace, pid, started)
    assert not dead("another", boot, namespace, pid, "1")
    assert not dead(node, boot, "7", pid, "1"), "processes that cannot be seen from here"
    assert not dead(node, boot, namespace, "x", "1")
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere")
    assert list(find_leftovers()) == []


async def test_the_engine_is_looked_at(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    assert engine
    facts = await look()
    assert facts.cpus >= 1
    assert int(facts.version.split(".")[0]) >= 20
    assert (await engine_check(None)).status in {"ok", "warning"}  # type: ignore[arg-type]
    for host, words in (
        ("unix:///nowhere", "No Docker Engine answers at unix:///nowhere"),
        ("ssh://there", "ssh -L"),
    ):
        monkeypatch.setenv("DOCKER_HOST", host)
        with pytest.raises(SandboxStartError, match=words):
            await look()
