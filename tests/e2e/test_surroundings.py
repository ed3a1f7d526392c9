"""What surrounds a command: warnings made errors, and signals at an awkward moment."""

import asyncio
import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.e2e.commands import command, figures, tbeval

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(120)]


@pytest.mark.sandbox
def test_warnings_made_errors_by_the_user_cost_no_trial(tmp_path: Path) -> None:
    args = ("eval", "nop", "--tasks", "write-motto", "-n", 1, "--no-preflight")
    done = tbeval(*args, cwd=tmp_path, env={"PYTHONWARNINGS": "error"})
    assert done.returncode == 0, done.stdout + done.stderr
    assert figures(tmp_path)["scored"] == 1


@pytest.mark.sandbox
async def test_a_signal_before_the_first_trial_leaves_nothing_behind(tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    asked, release = asyncio.Event(), asyncio.Event()

    async def hang(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.set()
        await release.wait()
        writer.close()

    async with await asyncio.start_server(hang, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        (tmp_path / "checkpoints.toml").write_text(
            f'[checkpoints.fake]\nbase_url = "http://127.0.0.1:{port}/v1"\nserved_model = "x"\n'
        )
        process = await asyncio.create_subprocess_exec(
            *command("eval", "fake", "--tasks", "write-motto", "-n", 1, "--no-preflight"),
            cwd=tmp_path,
            env=os.environ | {"TMPDIR": str(scratch)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        await asyncio.wait_for(asked.wait(), 60)  # the endpoint is being asked what it serves
        assert list(scratch.iterdir()), "there is nothing to be left behind"
        process.send_signal(signal.SIGTERM)
        output, _ = await asyncio.wait_for(process.communicate(), 30)
        release.set()
    assert process.returncode == 130, output.decode()
    assert b"Traceback" not in output
    assert not list(scratch.iterdir())
    assert not list(tmp_path.glob("results/fake/*"))
