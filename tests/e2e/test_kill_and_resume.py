"""kill -9 in mid-run, an interrupt, and the same command again: nothing lost, nothing run twice."""

import asyncio
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tbeval.records.ledger import TrialRecord, read_ledger
from tbeval.records.outcome import Outcome
from tests.e2e.commands import Scripted, command, figures, instructions, tbeval
from tests.scripted import ScriptedEndpoint

pytestmark = [pytest.mark.e2e, pytest.mark.sandbox, pytest.mark.timeout(600)]

# Two replies of 5 s each: every trial takes 10 s and more.
SLOW_SEC = 5.0


def entry(endpoint: ScriptedEndpoint) -> str:
    return (
        f'[checkpoints.fake]\nbase_url = "{endpoint.base_url}"\nserved_model = "scripted"\n'
        'subset = "demo"\nattempts = 3\nconcurrency = 9\n'
    )


def model(delay_sec: float) -> Scripted:
    known = instructions()
    return Scripted(
        dict.fromkeys(known, "true"), known=known, straight=True, delay_sec=delay_sec, seconds=0.1
    )


def ledger_of(directory: Path) -> tuple[TrialRecord, ...]:
    found = list(directory.glob("results/fake/*/ledger.jsonl"))
    return read_ledger(found[0]).records if found else ()


def children_of(pid: int) -> set[int]:
    """All descendants of a process."""
    parents: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(path.parent.name)] = int(fields[1])
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {pid}


def alive(pids: set[int]) -> set[int]:
    def runs(pid: int) -> bool:
        try:
            return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
        except OSError:
            return False

    return {pid for pid in pids if runs(pid)}


async def until(condition: Callable[[], bool], seconds: float = 200) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        await asyncio.sleep(0.05)


async def test_after_kill_9_no_finished_cell_runs_again(tmp_path: Path) -> None:
    slow = model(SLOW_SEC)
    async with ScriptedEndpoint(slow) as endpoint:
        (tmp_path / "checkpoints.toml").write_text(entry(endpoint))
        with subprocess.Popen(
            command("eval", "fake"), cwd=tmp_path, stdout=subprocess.DEVNULL
        ) as first:
            await until(lambda: len(ledger_of(tmp_path)) >= 5)
            descendants = children_of(first.pid)
            first.kill()
            first.wait()
        before = ledger_of(tmp_path)
        assert 5 <= len(before) < 30
        assert descendants, "sandboxes were running"
        await until(lambda: not alive(descendants), seconds=10)
        calls_before = len(slow.seen)

        slow.delay_sec = 0.0
        done = await asyncio.to_thread(tbeval, "eval", "fake", cwd=tmp_path, timeout=500)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "continuing run" in done.stdout
    after = ledger_of(tmp_path)
    assert after[: len(before)] == before
    assert len(list(tmp_path.glob("results/fake/*"))) == 1
    scored = Counter(record.cell for record in after if record.outcome.scored)
    assert len(scored) == 36
    assert set(scored.values()) == {1}
    # Each trial makes three calls; what ran after the kill is only what had no line.
    assert len(slow.seen) - calls_before == 3 * (36 - len(before))
    killed = {r.cell for r in after[len(before) :] if r.try_number > 1}
    assert killed, "the trials that were killed got a second try, with a directory of their own"
    found = figures(tmp_path)
    assert (found["planned"], found["scored"]) == (36, 36)


async def test_an_interrupt_cancels_what_runs_and_the_same_command_continues(
    tmp_path: Path,
) -> None:
    slow = model(SLOW_SEC)
    async with ScriptedEndpoint(slow) as endpoint:
        (tmp_path / "checkpoints.toml").write_text(entry(endpoint))
        args = ("eval", "fake", "--tasks", "write-motto,notes-server", "-n", 2)
        with subprocess.Popen(
            command(*args), cwd=tmp_path, stdout=subprocess.PIPE, text=True
        ) as first:
            await asyncio.wait_for(endpoint.arrived(4), 200)
            descendants = children_of(first.pid)
            first.send_signal(signal.SIGINT)
            output = await asyncio.to_thread(first.communicate)
            assert first.returncode == 130, output
        assert "stopping" in output[0]
        records = ledger_of(tmp_path)
        assert [record.outcome for record in records] == [Outcome.CANCELLED] * 4
        assert not alive(descendants)
        slow.delay_sec = 0.0
        done = await asyncio.to_thread(tbeval, *args, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "continuing run" in done.stdout
    found = figures(tmp_path)
    assert (found["planned"], found["scored"], found["unscored"]) == (4, 4, {})


async def test_two_processes_never_write_one_run(tmp_path: Path) -> None:
    slow = model(SLOW_SEC)
    async with ScriptedEndpoint(slow) as endpoint:
        (tmp_path / "checkpoints.toml").write_text(entry(endpoint))
        args = ("eval", "fake", "--tasks", "write-motto", "-n", 1)
        with subprocess.Popen(command(*args), cwd=tmp_path, stdout=subprocess.DEVNULL) as first:
            await asyncio.wait_for(endpoint.arrived(1), 200)
            second = await asyncio.to_thread(tbeval, *args, cwd=tmp_path)
            assert second.returncode == 2
            assert "is being written by process" in second.stderr
            assert await asyncio.to_thread(first.wait, 200) == 0
    assert len(ledger_of(tmp_path)) == 1


async def test_a_cut_off_last_line_is_repaired_and_a_corrupt_one_refused(tmp_path: Path) -> None:
    args = ("eval", "oracle", "--tasks", "write-motto", "-n", 2)
    assert tbeval(*args, cwd=tmp_path).returncode == 0
    (path,) = tmp_path.glob("results/oracle/*/ledger.jsonl")
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    done = tbeval(*args, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "continuing run" in done.stdout
    assert "cut off" in done.stdout
    records = read_ledger(path).records
    assert len(records) == 2
    assert records[1].try_number == 2

    first, second = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first[:50] + b"\n" + second)
    for again in (args, ("show",)):
        refused = tbeval(*again, cwd=tmp_path)
        assert refused.returncode == 2
        assert "line 1" in refused.stderr
    assert path.read_bytes() == first[:50] + b"\n" + second
