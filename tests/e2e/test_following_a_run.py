"""`tbeval status`, `runs` and `doctor` as whole commands, beside a run that goes on."""

import asyncio
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.commands import Scripted, command, instructions, tbeval
from tests.scripted import ScriptedEndpoint

pytestmark = [pytest.mark.e2e, pytest.mark.sandbox]

RUN = ("eval", "fake", "--tasks", "write-motto")


def state(cwd: Path) -> dict[str, Any]:
    done = tbeval("status", "--json", cwd=cwd)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


async def test_a_run_in_progress_a_killed_one_and_a_finished_one(tmp_path: Path) -> None:
    model = Scripted(
        {"write-motto": "true"}, known=instructions(), straight=True, delay_sec=100, seconds=0.1
    )
    async with ScriptedEndpoint(model) as endpoint:
        (tmp_path / "checkpoints.toml").write_text(
            f'[checkpoints.fake]\nbase_url = "{endpoint.base_url}"\nserved_model = "scripted"\n'
            'subset = "demo"\nattempts = 2\nconcurrency = 1\n'
        )
        with subprocess.Popen(command(*RUN), cwd=tmp_path, stdout=subprocess.DEVNULL) as run:
            await asyncio.wait_for(endpoint.arrived(1), 200)
            async with asyncio.timeout(30):
                while not (going := await asyncio.to_thread(state, tmp_path))["running"] or (
                    not going["running"][0]["calls"]
                ):
                    pass
            shown = await asyncio.to_thread(tbeval, "status", cwd=tmp_path)
            run.kill()
            run.wait()
        killed = await asyncio.to_thread(state, tmp_path)
        model.delay_sec = 0.0
        done = await asyncio.to_thread(tbeval, *RUN, "--no-preflight", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (trial,) = going["running"]
    assert (going["state"], going["done"], going["waiting"]) == ("running", 0, 1)
    assert (trial["task"], trial["phase"], trial["calls"]) == ("write-motto", "agent", 1)
    assert "0/2 cells done" in shown.stdout
    assert "write-motto" in shown.stdout
    assert (killed["state"], killed["running"], killed["waiting"]) == ("unfinished", [], 2)
    finished = await asyncio.to_thread(state, tmp_path)
    assert (finished["state"], finished["done"], finished["solved"]) == ("finished", 2, 0)
    watched = await asyncio.to_thread(tbeval, "status", "--watch", cwd=tmp_path)
    assert "finished" in watched.stdout

    listed = await asyncio.to_thread(tbeval, "runs", "fake", "--json", cwd=tmp_path)
    (row,) = json.loads(listed.stdout)
    assert (row["checkpoint"], row["state"], row["planned"]) == ("fake", "finished", 2)
    unknown = await asyncio.to_thread(tbeval, "runs", "other", cwd=tmp_path)
    assert unknown.returncode == 2
    assert "no run of other" in unknown.stderr


def test_the_doctor_tells_by_its_exit_code_whether_something_failed(tmp_path: Path) -> None:
    well = tbeval("doctor", "oracle", "--json", cwd=tmp_path)
    assert well.returncode == 0, well.stdout
    assert {finding["status"] for finding in json.loads(well.stdout)} <= {"ok", "warning"}
    (tmp_path / "checkpoints.toml").write_text(
        '[checkpoints.dead]\nbase_url = "http://127.0.0.1:9/v1"\nserved_model = "x"\n'
    )
    ill = tbeval("doctor", "dead", cwd=tmp_path)
    assert ill.returncode == 1
    assert "failure endpoint" in ill.stdout
    for wrong in (("doctor", "nobody"), ("doctor", "--sandbox", "none"), ("doctor", "--new")):
        assert tbeval(*wrong, cwd=tmp_path).returncode == 2
