"""What falls silent and is not the model: a server that hangs, a verifier without an end."""

import asyncio
from pathlib import Path

import pytest

from tbeval.records.ledger import TrialRecord, read_ledger
from tbeval.records.outcome import Outcome
from tests.e2e.commands import as_json, tbeval
from tests.e2e.test_hostile_agent import TASK_TOML, TEST, make_task
from tests.scripted import Reply, Request, ScriptedEndpoint

pytestmark = [pytest.mark.e2e, pytest.mark.sandbox, pytest.mark.timeout(600)]

ENDLESS = TEST + "\ndef test_without_end():\n    import time; time.sleep(1000)\n"


def model(request: Request) -> Reply:
    return Reply(as_json(done=True), delay_sec=1000 if "«hung»" in request.first else 0)


async def test_neither_is_the_models_zero_however_often_it_is_tried(tmp_path: Path) -> None:
    for name in ("hung", "endless"):
        make_task(tmp_path / "tasks" / name, name)
        limits = TASK_TOML.replace("timeout_sec = 60", "timeout_sec = 4")
        (tmp_path / "tasks" / name / "task.toml").write_text(limits.replace("= 20", "= 4"))
    (tmp_path / "tasks" / "endless" / "tests" / "test_outputs.py").write_text(ENDLESS)
    source = '[source]\nkind = "directory"\npath = "tasks"\n'
    (tmp_path / "silent.toml").write_text(f'name = "silent"\ntasks = ["hung", "endless"]\n{source}')
    async with ScriptedEndpoint(model) as endpoint:
        (tmp_path / "checkpoints.toml").write_text(
            f'[checkpoints.fake]\nbase_url = "{endpoint.base_url}"\nserved_model = "scripted"\n'
        )
        args = ("eval", "fake", "--subset", "silent.toml", "-n", 1, "-j", 2)
        done = await asyncio.to_thread(tbeval, *args, cwd=tmp_path, timeout=500)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "No trial has a verdict" in done.stdout
    (path,) = tmp_path.glob("results/fake/*/ledger.jsonl")
    records = read_ledger(path).records
    assert outcomes(records, "hung") == {Outcome.MODEL_ENDPOINT}
    assert outcomes(records, "endless") == {Outcome.VERIFIER}


def outcomes(records: tuple[TrialRecord, ...], task: str) -> set[Outcome]:
    return {record.outcome for record in records if record.task == task}
