"""What is served changes in mid-run: other weights under one name, a replica that dies."""

import asyncio
from collections import Counter
from pathlib import Path

import pytest

from tbeval.records.ledger import TrialRecord, read_ledger
from tbeval.records.outcome import Outcome
from tests.e2e.commands import Scripted, instructions, tbeval
from tests.scripted import Reply, Request, ScriptedEndpoint

pytestmark = [pytest.mark.e2e, pytest.mark.sandbox]

ARGS = ("eval", "fake", "--tasks", "write-motto")


def entry(*endpoints: ScriptedEndpoint, more: str) -> str:
    urls = [endpoint.base_url for endpoint in endpoints]
    return f'[checkpoints.fake]\nbase_url = {urls}\nserved_model = "scripted"\n{more}\n'


def model() -> Scripted:
    return Scripted({"write-motto": "true"}, known=instructions(), straight=True, seconds=0.1)


def ledger_of(directory: Path) -> tuple[TrialRecord, ...]:
    (path,) = directory.glob("results/fake/*/ledger.jsonl")
    return read_ledger(path).records


async def test_weights_swapped_in_mid_run_stop_it_and_score_nothing(tmp_path: Path) -> None:
    say = model()

    def swapping(request: Request) -> Reply:
        if request.index == 3:  # the first call of the second trial
            endpoint.root = "/weights/iter336"
        return say(request)

    async with ScriptedEndpoint(swapping) as endpoint:
        endpoint.root = "/weights/iter335"
        more = 'expect_model_path = "/weights/iter335/"\nattempts = 3\nconcurrency = 1'
        (tmp_path / "checkpoints.toml").write_text(entry(endpoint, more=more))
        stopped = await asyncio.to_thread(tbeval, *ARGS, "--no-preflight", cwd=tmp_path)
        assert stopped.returncode == 2, stopped.stdout + stopped.stderr
        assert "serves the weights of /weights/iter336" in stopped.stderr
        first, second = ledger_of(tmp_path)
        assert (first.outcome, second.outcome) == (Outcome.UNSOLVED, Outcome.CANCELLED)
        assert second.error_class == "ModelChanged"

        refused = await asyncio.to_thread(tbeval, *ARGS, "--no-preflight", cwd=tmp_path)
        assert refused.returncode == 2
        assert len(ledger_of(tmp_path)) == 2

        endpoint.root = "/weights/iter335"
        done = await asyncio.to_thread(tbeval, *ARGS, "--no-preflight", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    scored = [record for record in ledger_of(tmp_path) if record.outcome.scored]
    assert Counter(record.cell for record in scored) == {
        ("write-motto", attempt): 1 for attempt in (1, 2, 3)
    }


async def test_a_replica_dies_and_new_trials_go_to_the_other(tmp_path: Path) -> None:
    async with ScriptedEndpoint(model()) as steady, ScriptedEndpoint(model()) as mortal:
        more = "attempts = 4\nconcurrency = 2"
        (tmp_path / "checkpoints.toml").write_text(entry(steady, mortal, more=more))
        running = asyncio.create_task(
            asyncio.to_thread(tbeval, *ARGS, "--no-preflight", cwd=tmp_path)
        )
        await asyncio.wait_for(mortal.arrived(1), 60)
        await mortal.__aexit__(None, None, None)
        await asyncio.wait_for(steady.arrived(9), 60)  # three whole trials
        await mortal.__aenter__()
        done = await running
    assert done.returncode == 0, done.stdout + done.stderr
    records = ledger_of(tmp_path)
    assert [record.outcome for record in records] == [Outcome.UNSOLVED] * 4
    assert Counter(record.replica for record in records) == {
        steady.base_url: 3,
        mortal.base_url: 1,
    }
    assert max(records, key=lambda record: record.paused_seconds).replica == mortal.base_url
