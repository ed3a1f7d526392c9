"""Faults of the endpoint and the sandbox in whole runs: what is lost comes back."""

import asyncio
import contextlib
import os
import signal
from collections import defaultdict
from pathlib import Path

import pytest

from tbeval.records.ledger import TrialRecord, read_ledger
from tbeval.records.outcome import Outcome
from tbeval.sandboxes.state import SandboxRecord, state_dir
from tests.e2e.commands import as_json, figures, tbeval
from tests.e2e.test_hostile_agent import TASK_TOML, make_task
from tests.scripted import Reply, Request, ScriptedEndpoint

pytestmark = [pytest.mark.e2e, pytest.mark.sandbox, pytest.mark.timeout(600)]

RIGHT = as_json("echo 42 > /app/answer.txt\n", seconds=0.2)
DONE = as_json(done=True)
ARGUMENTS = ("eval", "fake", "--subset", "faults.toml", "--no-preflight")


def prepare(directory: Path, endpoint: ScriptedEndpoint, *tasks: str, seconds: int = 60) -> None:
    for name in tasks:
        make_task(directory / "tasks" / name, name)
        limits = TASK_TOML.replace("timeout_sec = 60", f"timeout_sec = {seconds}")
        (directory / "tasks" / name / "task.toml").write_text(limits)
    names = ", ".join(f'"{name}"' for name in tasks)
    (directory / "faults.toml").write_text(
        f'name = "faults"\ntasks = [{names}]\n[source]\nkind = "directory"\npath = "tasks"\n'
    )
    (directory / "checkpoints.toml").write_text(
        f'[checkpoints.fake]\nbase_url = "{endpoint.base_url}"\nserved_model = "scripted"\n'
    )


def ledger_of(directory: Path) -> tuple[TrialRecord, ...]:
    (path,) = directory.glob("results/fake/*/ledger.jsonl")
    return read_ledger(path).records


def task_of(request: Request) -> str:
    return request.first.partition("«")[2].partition("»")[0]


def honest(request: Request) -> Reply:
    return Reply(RIGHT if request.turn == 1 else DONE)


FAULTS = {
    "cut-off": [Reply(RIGHT, cut_after=60)],
    "reset": [Reply(cut_after=-1)],
    "garbage": [Reply(raw=b"{<html> no JSON")],
    "no-text": [Reply(raw=b'{"choices": [{"message": {"content": "\xff\xfe\xc3"}, ')],
    "storm": [Reply("slow down", status=429, headers={"Retry-After": "1"})] * 3,
    "nothing": [Reply(no_choices=True)],
}


async def test_what_passes_costs_no_verdict_and_no_try(tmp_path: Path) -> None:
    left = {task: list(faults) for task, faults in FAULTS.items()}

    def model(request: Request) -> Reply:
        faults = left[task_of(request)]
        return faults.pop(0) if faults else honest(request)

    async with ScriptedEndpoint(model) as endpoint:
        prepare(tmp_path, endpoint, *FAULTS)
        done = await asyncio.to_thread(tbeval, *ARGUMENTS, "-n", 1, "-j", 6, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not any(left.values()), "every fault was met"
    records = ledger_of(tmp_path)
    assert {record.task: record.outcome for record in records} == dict.fromkeys(
        FAULTS, Outcome.SOLVED
    )
    assert len(records) == len(FAULTS), "nothing was tried again"
    found = await asyncio.to_thread(figures, tmp_path)
    assert (found["scored"], found["solved_trials"]) == (6, 6)


def kill_sandboxes(directory: Path) -> int:
    """Kill what the sandboxes of the run in this directory consist of, as the host would."""
    runs = {path.name for path in directory.glob("results/fake/*")}
    killed = 0
    for path in (state_dir() / "sandboxes").iterdir():
        try:
            record = SandboxRecord.model_validate_json(path.read_bytes())
        except (OSError, ValueError):  # of another run, being written or removed
            continue
        for process in record.processes if record.run_id in runs else ():
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)
                killed += 1
    return killed


async def test_a_sandbox_killed_under_the_agent_is_replaced(tmp_path: Path) -> None:
    killed: list[int] = []

    def model(request: Request) -> Reply:
        if not killed:
            killed.append(kill_sandboxes(tmp_path))
        return honest(request)

    async with ScriptedEndpoint(model) as endpoint:
        prepare(tmp_path, endpoint, "victim")
        done = await asyncio.to_thread(tbeval, *ARGUMENTS, "-n", 2, "-j", 1, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert killed[0] >= 1
    tries: dict[int, list[Outcome]] = defaultdict(list)
    for record in ledger_of(tmp_path):
        tries[record.attempt].append(record.outcome)
    assert tries == {1: [Outcome.SANDBOX, Outcome.SOLVED], 2: [Outcome.SOLVED]}
