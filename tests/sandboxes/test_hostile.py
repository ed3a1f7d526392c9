"""Hostile commands: each is stopped by a limit that the report names, and harms nothing else."""

import os
import signal
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tbeval.records.sandbox import SandboxDeath, SandboxDiedError
from tbeval.sandboxes import cgroups
from tbeval.sandboxes.cage import Cage
from tbeval.sandboxes.limits import Limits
from tbeval.sandboxes.state import state_dir
from tests.disk import bytes_below

from .conftest import MakeCage, Said, commands, shell

pytestmark = pytest.mark.sandbox

SMALL = Limits(memory_mb=128, storage_mb=64, processes=64)
PYTHON = "/usr/bin/python3"


@pytest.fixture
async def victim(make_cage: MakeCage) -> AsyncIterator[Cage]:
    """A small sandbox; after the test, one beside it must answer and the disk be as it was."""
    before = bytes_below(state_dir())
    beside = await make_cage()
    yield await make_cage(SMALL)
    began = time.monotonic()
    assert (await shell(beside, "echo fine; touch /tmp/f; sleep 0 & wait")).out == "fine\n"
    assert time.monotonic() - began < 10
    assert beside.report().limits_hit == ()
    assert bytes_below(state_dir()) < before + 50_000_000


async def hit(cage: Cage, command: str, *, timeout_sec: float = 30) -> tuple[Said, set[str]]:
    said = await shell(cage, command, timeout_sec=timeout_sec)
    assert (await shell(cage, "echo alive")).code in {0, 1, 254}  # 1: no process left to run it
    return said, set(cage.report().limits_hit)


async def test_fork_bomb(victim: Cage) -> None:
    bomb = "f() { f | f & }; f 2>/dev/null; sleep 0.5; for i in $(seq 100); do sleep 9 & done"
    limits: set[str] = set()
    for _ in range(4):  # without a pids group only bash's own words tell, if it gets to them
        if "processes" not in limits:
            _, limits = await hit(victim, bomb, timeout_sec=4)
    assert "processes" in limits


async def test_forks_in_sessions_of_their_own(victim: Cage) -> None:
    code = """import os
while True:
    if not os.fork(): os.setsid()
"""
    said, limits = await hit(victim, f'{PYTHON} -c "{code}"', timeout_sec=5)
    assert "processes" in limits, said


async def test_one_file_fills_the_disk(victim: Cage) -> None:
    said, limits = await hit(victim, "cat /dev/zero > /app/big")
    assert said.code != 0
    assert "storage" in limits


async def test_many_files_fill_the_disk(victim: Cage) -> None:
    code = "i = 0\nwhile True: open(f'/var/tmp/{i}', 'w').close(); i += 1"
    said, limits = await hit(victim, f'{PYTHON} -c "{code}"')
    assert "No space left" in said.err
    assert "storage" in limits


async def test_deep_directories_fill_the_disk(victim: Cage) -> None:
    code = "import os\nwhile True: os.mkdir('d'); os.chdir('d')"
    said, limits = await hit(victim, f'{PYTHON} -c "{code}"')
    assert said.code != 0
    assert "storage" in limits


@pytest.mark.parametrize("place", ["/dev", "/dev/shm"])
async def test_other_writable_places_are_small(victim: Cage, place: str) -> None:
    said, _ = await hit(victim, f"cat /dev/zero > {place}/big; stat -c %s {place}/big")
    assert int(said.out) <= 64 * 1024 * 1024


async def test_a_huge_sparse_file(victim: Cage) -> None:
    said, limits = await hit(victim, "truncate -s 10G sparse")
    assert said.code != 0
    assert "file-size" in limits
    said, limits = await hit(victim, "head -c 100M /dev/zero | dd of=s seek=200000 2>&1")
    assert said.code != 0


async def test_all_the_memory(victim: Cage) -> None:
    code = "x = []\nwhile True: x.append(bytearray(1 << 20))"
    said, limits = await hit(victim, f'{PYTHON} -c "{code}"')
    assert said.code != 0
    assert "memory" in limits
    assert (await shell(victim, "echo alive")).out == "alive\n"


async def test_all_the_memory_shared(victim: Cage) -> None:
    code = "import mmap; m = mmap.mmap(-1, 1 << 33)\nfor i in range(0, 1 << 33, 4096): m[i] = 1"
    said, limits = await hit(victim, f'{PYTHON} -c "{code}"')
    assert said.code != 0
    assert "memory" in limits


@pytest.mark.skipif(
    not (where := cgroups.hierarchy()) or "memory" not in where.parents,
    reason="needs root: memory of many processes is held by cgroups only",
)
async def test_all_the_memory_by_many(victim: Cage) -> None:
    code = "import time; x = b'x' * (100 << 20); time.sleep(20)"
    await hit(victim, f'for i in 1 2 3 4 5; do {PYTHON} -c "{code}" & done; wait -n; kill %1 %2 %3')
    assert "memory" in victim.report().limits_hit


async def test_megabytes_of_binary(victim: Cage) -> None:
    said, limits = await hit(victim, "echo begin; head -c 50000000 /dev/urandom; echo; echo end")
    assert said.code == 0
    assert said.out.startswith("begin\n")
    assert said.out.endswith("end\n")
    assert "bytes cut by tbeval" in said.out
    assert len(said.out) < 1100_000
    assert limits == {"output"}


async def test_output_without_end(victim: Cage) -> None:
    said, _ = await hit(victim, "yes & yes >&2", timeout_sec=0.5)
    assert said.timed_out
    assert len(said.out) + len(said.err) < 2_200_000


async def test_background_output_without_end_costs_nothing(victim: Cage) -> None:
    await shell(victim, "yes & yes >&2 & disown -a")
    before = time.process_time()
    await shell(victim, "sleep 0.5")
    assert time.process_time() - before < 0.3
    assert (await commands(victim)).count("yes") == 2


async def test_a_sandbox_that_ran_out_of_memory_died_by_its_own_doing(victim: Cage) -> None:
    code = "x = []\nwhile True: x.append(bytearray(1 << 20))"
    await hit(victim, f'{PYTHON} -c "{code}"')
    os.kill(victim.pid, signal.SIGKILL)  # as the kernel does when nothing else is left to kill
    with pytest.raises(SandboxDiedError):
        await shell(victim, "sleep 50")
    counted = cgroups.hierarchy() is not None
    assert victim.report().death is (SandboxDeath.TRIAL if counted else SandboxDeath.HOST)


async def test_daemons_die_with_the_sandbox(victim: Cage) -> None:
    code = "import os,time\nif not os.fork():\n os.setsid()\n if not os.fork():\n  time.sleep(1009)"
    said, _ = await hit(victim, f'{PYTHON} -c "{code}"; (setsid nohup sleep 1009 &)')
    assert sum("1009" in command for command in await commands(victim)) == 2, said


async def test_writing_outside(victim: Cage, tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    canary.write_text("as it was")
    tries = f"echo x > {canary}; echo x > /proc/1/root{canary}; echo x > /proc/self/cwd/../{canary}"
    await hit(
        victim,
        f"mkdir -p {tmp_path}; {tries}; rm -rf /* 2>/dev/null; rm -rf /proc/1/root/*; mkdir /app",
    )
    assert canary.read_text() == "as it was"


async def test_removing_everything_leaves_it_alive(victim: Cage) -> None:
    await shell(victim, "rm -rf --no-preserve-root / 2>/dev/null")
    said = await victim.exec("echo still here", cwd="/", env={}, timeout_sec=10)
    assert said[1].text() == "still here\n"
