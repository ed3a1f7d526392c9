"""A scripted model behind real HTTP goes the whole way through terminus-2."""

import asyncio
from pathlib import Path

import pytest

from tbeval.records.ledger import read_ledger
from tbeval.records.model_record import read_record
from tbeval.records.outcome import StopReason
from tests.e2e.commands import DEMO, Scripted, figures, instructions, tbeval
from tests.scripted import Reply, ScriptedEndpoint

pytestmark = [pytest.mark.e2e, pytest.mark.sandbox]


def served(endpoint: ScriptedEndpoint, parser: str = "json", more: str = "") -> str:
    return (
        f'[checkpoints.fake]\nbase_url = "{endpoint.base_url}"\nserved_model = "scripted"\n'
        f'parser = "{parser}"\nsubset = "demo"\nattempts = 1\nconcurrency = 4\n{more}\n'
    )


@pytest.mark.parametrize("parser", ["json", "xml"])
async def test_it_solves_every_demo_task_after_a_wrong_command_and_a_malformed_reply(
    tmp_path: Path, parser: str
) -> None:
    known = instructions()
    scripts = {task: (DEMO / task / "solution" / "solve.sh").read_text() for task in known}
    model = Scripted(scripts, known=known, parser=parser, seconds=6)
    async with ScriptedEndpoint(model) as endpoint:
        (tmp_path / "checkpoints.toml").write_text(served(endpoint, parser))
        done = await asyncio.to_thread(tbeval, "eval", "fake", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    found = figures(tmp_path)
    assert (found["planned"], found["solved_trials"]) == (12, 12), done.stdout
    (run,) = tmp_path.glob("results/fake/*")
    for record in read_ledger(run / "ledger.jsonl").records:
        assert record.turns >= 3
        assert record.stop_reason is StopReason.FINISHED
        calls = list(read_record(run / "model" / f"{record.trial_id}.jsonl.zst"))
        assert len(calls) == record.model_calls == 5
        assert (run / "trials" / record.trial_id / "agent" / "trajectory.json").is_file()
    assert found["tokens_in"] > 0
    assert found["tokens_out"] > 0


async def test_without_a_checkpoints_file_the_command_line_is_enough(tmp_path: Path) -> None:
    known = instructions()
    model = Scripted({"write-motto": "true"}, known=known, straight=True)
    async with ScriptedEndpoint(model, model="iter399") as endpoint:
        done = await asyncio.to_thread(
            tbeval,
            *("eval", "iter399", "--base-url", endpoint.base_url, "--served-model", "iter399"),
            *("--subset", "demo", "--tasks", "write-motto", "-n", 2),
            cwd=tmp_path,
        )
    assert done.returncode == 0, done.stderr
    found = figures(tmp_path, "iter399")
    assert (found["planned"], found["scored"], found["solved_trials"]) == (2, 2, 0)


async def test_a_pattern_evaluates_several_one_after_the_other(tmp_path: Path) -> None:
    model = Scripted({"write-motto": "true"}, known=instructions(), straight=True)
    async with ScriptedEndpoint(model) as endpoint:
        entries = served(endpoint) + served(endpoint).replace(".fake]", ".fake2]")
        (tmp_path / "checkpoints.toml").write_text(entries)
        done = await asyncio.to_thread(
            tbeval, "eval", "fake*", "--tasks", "write-motto", cwd=tmp_path
        )
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in (tmp_path / "results").iterdir()) == ["fake", "fake2"]


async def test_an_endpoint_that_fails_is_never_the_models_failure(tmp_path: Path) -> None:
    """No answer ever ends: nothing that could be waited out."""
    async with ScriptedEndpoint(lambda _: Reply("x" * 2**20, endless=True)) as endpoint:
        (tmp_path / "checkpoints.toml").write_text(served(endpoint))
        done = await asyncio.to_thread(
            tbeval, "eval", "fake", "--tasks", "write-motto,notes-server", cwd=tmp_path
        )
    assert done.returncode == 1, done.stderr
    found = figures(tmp_path)
    assert found["unscored"] == {"model-endpoint": 2}
    assert (found["scored"], found["completeness"]) == (0, 0.0)
    assert found["pass_at"]["1"] is None
    assert found["pass_at_planned"]["1"] == 0.0


async def test_keys_are_never_written(tmp_path: Path) -> None:
    key = "sk-planted-4f7a9c2e1b"
    model = Scripted({"write-motto": "true"}, known=instructions(), straight=True)
    async with ScriptedEndpoint(model, api_key=key) as endpoint:
        entry = served(
            endpoint, more='api_key_env = "PLANTED_KEY"\nheaders = { X-Team = "${TEAM}" }'
        )
        (tmp_path / "checkpoints.toml").write_text(entry)
        done = await asyncio.to_thread(
            tbeval,
            *("eval", "fake", "--tasks", "write-motto"),
            cwd=tmp_path,
            env={"PLANTED_KEY": key, "TEAM": "team-secret-77d1"},
        )
        assert done.returncode == 0, done.stderr
        assert endpoint.requests[0].headers["X-Team"] == "team-secret-77d1"
    (record,) = tmp_path.glob("results/*/*/model/*.zst")
    text = "".join(map(str, read_record(record))) + done.stdout + done.stderr
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    text += "".join(path.read_bytes().decode("utf-8", "replace") for path in files)
    assert key not in text
    assert "team-secret-77d1" not in text
