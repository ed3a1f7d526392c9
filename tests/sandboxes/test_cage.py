"""The life of a sandbox: start, commands, background services, time limits, death, stop."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tbeval.records.sandbox import SandboxDeath, SandboxDiedError
from tbeval.sandboxes import state as states
from tbeval.sandboxes.cage import Cage

from .conftest import MakeCage, NameSpace, commands, processes_in, shell, zombies

pytestmark = pytest.mark.sandbox


async def test_a_command_is_root_in_the_working_directory(cage: Cage) -> None:
    said = await shell(cage, "id -u; pwd; echo $HOME $TERM $LANG; hostname; echo no >&2; exit 3")
    assert said.out.split() == ["0", "/app", "/root", "xterm-256color", "C.UTF-8", "sandbox"]
    assert said.err == "no\n"
    assert said.code == 3


@pytest.mark.parametrize(
    ("command", "code"),
    [("true", 0), ("exit 42", 42), ("kill -9 $$", 137), ("kill -SEGV $$", 139), ("nonsense", 127)],
)
async def test_exit_codes(cage: Cage, command: str, code: int) -> None:
    assert (await shell(cage, command)).code == code


async def test_environment_reaches_the_command_even_for_the_loader(cage: Cage) -> None:
    said = await shell(
        cage, 'echo "$A|$LD_LIBRARY_PATH|$BASH_ENV"', A="x y\nz", LD_LIBRARY_PATH="/l"
    )
    assert said.out == "x y\nz|/l|\n"


async def test_a_long_command_passes(cage: Cage) -> None:
    said = await shell(cage, f"x='{'y' * 300_000}'; echo ${{#x}}")
    assert said.out == "300000\n"


async def test_bytes_that_are_not_text_are_replaced(cage: Cage) -> None:
    assert (await shell(cage, r"printf 'a\377b'")).out == "a\ufffdb"


async def test_many_at_once(make_cage: MakeCage) -> None:
    cages = await asyncio.gather(*(make_cage() for _ in range(4)))
    said = await asyncio.gather(
        *(shell(each, f"echo {n} > x{n}; cat x{n}") for each in cages for n in range(8))
    )
    assert [each.out for each in said] == [f"{n}\n" for _ in cages for n in range(8)]


async def test_background_children_do_not_hold_a_command(cage: Cage) -> None:
    began = time.monotonic()
    said = await shell(cage, "sleep 50 & setsid sleep 50 & echo hi")
    assert said.out == "hi\n"
    assert time.monotonic() - began < 5


async def test_a_service_that_writes_lives_on(cage: Cage) -> None:
    script = "echo $BASHPID > pid; while :; do head -c 100000 /dev/zero; date +%s%N > now; done"
    await shell(cage, f"({script}) & until [ -s now ]; do sleep 0.01; done")
    first = await shell(cage, "cat now; kill -0 $(cat pid)")
    said = await shell(cage, f"until [ $(cat now) != {first.out.strip()} ]; do sleep 0.01; done")
    assert (first.code, said.code) == (0, 0)


async def test_the_end_of_time_takes_the_whole_tree_and_nothing_else(cage: Cage) -> None:
    await shell(cage, "sleep 1001 & disown")
    began = time.monotonic()
    said = await shell(cage, "sleep 1002 & setsid -w bash -c 'sleep 1003'", timeout_sec=0.5)
    assert said.timed_out
    assert time.monotonic() - began < 5
    assert await commands(cage) == ["sleep 1001", "sleep infinity"]


async def test_a_cancelled_command_is_dead(cage: Cage) -> None:
    task = asyncio.create_task(shell(cage, "echo > started; setsid -w sleep 1004"))
    await shell(cage, "until [ -e started ]; do sleep 0.01; done")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await commands(cage) == ["sleep infinity"]


async def test_nothing_inside_can_kill_it(cage: Cage) -> None:
    await shell(cage, "kill -9 1; kill -9 -1")
    await shell(cage, "for s in $(seq 1 64); do kill -$s 1; done 2>/dev/null")
    trace = "import ctypes; print(ctypes.CDLL(None).ptrace(16, 1, 0, 0))"
    assert (await shell(cage, f'/usr/bin/python3 -c "{trace}"')).out == "-1\n"
    assert (await shell(cage, "echo there")).out == "there\n"
    assert cage.report().death is None


async def test_orphans_are_reaped(cage: Cage) -> None:
    await shell(cage, "for i in $(seq 50); do (setsid true &) ; done")
    assert await zombies(cage) == 0


async def test_killed_from_outside_is_the_hosts_doing(cage: Cage) -> None:
    task = asyncio.create_task(shell(cage, "echo > started; sleep 50"))
    await shell(cage, "until [ -e started ]; do sleep 0.01; done")
    os.kill(cage.pid, signal.SIGKILL)
    with pytest.raises(SandboxDiedError, match="killed from outside"):
        await task
    with pytest.raises(SandboxDiedError, match="killed from outside"):
        await shell(cage, "true")
    assert cage.report().death is SandboxDeath.HOST


async def test_stop_is_quick_and_repeatable(cage: Cage, name_space: NameSpace) -> None:
    task = asyncio.create_task(shell(cage, "echo > started; trap '' TERM; sleep 50"))
    await shell(cage, "until [ -e started ]; do sleep 0.01; done")
    space = name_space(cage.pid)
    began = time.monotonic()
    await cage.stop()
    assert time.monotonic() - began < 1
    assert processes_in(space) == []
    await cage.stop()
    for again in (task, shell(cage, "true")):
        with pytest.raises(SandboxDiedError, match="stopped"):
            await again
    assert cage.report().death is None


async def test_tmux_works(cage: Cage) -> None:
    await shell(cage, "tmux new-session -x 100 -y 30 -d -s main 'bash --login'")
    await shell(cage, "tmux send-keys -t main 'echo in-$((40+2)); tmux wait -S done' Enter")
    said = await shell(cage, "tmux wait done; tmux capture-pane -p -t main", timeout_sec=20)
    assert "in-42" in said.out
    assert "root@sandbox:/app#" in said.out


async def test_another_process_can_enter(cage: Cage) -> None:
    argv = cage.enter_command(["bash", "-c", "pwd; echo $X; id -u"], env={"X": "y"}, cwd="/tmp")
    process = await asyncio.create_subprocess_exec(*argv, stdout=subprocess.PIPE)
    out, _ = await process.communicate()
    assert out == b"/tmp\ny\n0\n"


HARNESS = """
import asyncio, sys
from tbeval.sandboxes.cage import Cage
from tbeval.sandboxes.limits import Limits
from tbeval.sandboxes.toolbox import ensure_toolbox

async def main():
    cage = await Cage.start(Limits(), ensure_toolbox(), run_id="killed", workdir="/app")
    await cage.exec("setsid sleep 1005 &", cwd="/app", env={}, timeout_sec=9)
    print(cage.pid, flush=True)
    await cage.exec("setsid -w sleep 1006", cwd="/app", env={}, timeout_sec=None)

asyncio.run(main())
"""


def test_kill_9_of_the_harness_leaves_no_process_and_the_next_start_reaps(
    state: Path, name_space: NameSpace
) -> None:
    harness = subprocess.Popen([sys.executable, "-c", HARNESS], stdout=subprocess.PIPE, text=True)
    assert harness.stdout is not None
    with harness.stdout:
        pid = int(harness.stdout.readline())
    space = name_space(pid)
    assert len(processes_in(space)) >= 2
    assert states.reap() == 0  # its owner lives
    harness.kill()
    harness.wait()
    deadline = time.monotonic() + 10
    while processes_in(space):
        assert time.monotonic() < deadline
    record = next((state / "sandboxes").glob("*.json"))
    groups = states.SandboxRecord.model_validate_json(record.read_text()).cgroups
    assert states.reap() == 1
    assert not record.exists()
    assert not any(Path(group).exists() for group in groups)
