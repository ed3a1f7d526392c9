from pathlib import Path

import pytest

from tbeval.runs.preflight import Finding, Subject, before_run, examine
from tbeval.runs.preflight.machine import memory_finding, most_memory_mb
from tbeval.runs.preflight.model import estimate
from tbeval.runs.progress import PlainProgress, Tally
from tbeval.settings.base import SettingsError
from tbeval.settings.checkpoint import Checkpoint
from tbeval.settings.options import Choices, resolve
from tests.made_up_runs import make_task
from tests.scripted import Reply, Request, Script, ScriptedEndpoint

pytestmark = pytest.mark.sandbox


def subject(tmp_path: Path, base_url: str = "http://127.0.0.1:9/v1", **choices: object) -> Subject:
    checkpoint = Checkpoint(id="fake", base_url=base_url, served_model="scripted")
    options, _ = resolve(Choices.model_validate(choices), checkpoint)
    return Subject(checkpoint, options, (), tmp_path)


async def findings(one: Subject) -> dict[str, Finding]:
    found: list[Finding] = []
    await examine(one, found.append)
    return {finding.name: finding for finding in found}


def good(request: Request) -> Reply:
    few = request.body["max_tokens"] <= 8
    return Reply("1 2 3", finish_reason="length" if few else "stop", tokens_out=8 if few else 40)


async def test_all_is_well_with_a_proper_server(tmp_path: Path) -> None:
    async with ScriptedEndpoint(good) as endpoint:
        found = await findings(subject(tmp_path, endpoint.base_url))
        calls = len(endpoint.requests)
    # an ordinary user's limits hold for each process only, and that is a warning
    assert {f.name for f in found.values() if f.status != "ok"} <= {"limits"}
    assert found["limits"].status != "failure"
    assert {"packages", "results", "memory", "clocks", "sandbox", "limits"} <= set(found)
    assert "context window 32768" in found["endpoint"].what
    assert calls == 1 + 1 + 1 + 4  # completion, length, one alone, four together


@pytest.mark.parametrize(
    ("script", "name", "status", "words"),
    [
        (lambda _: Reply("long", tokens_out=900), "length", "failure", "after 900 tokens"),
        (lambda _: Reply("short", tokens_out=3), "length", "warning", "ended with stop"),
        (lambda _: Reply("?", usage=False), "completion", "warning", "tells no usage"),
        (lambda _: Reply("loading", status=503), "completion", "failure", "HTTP 503"),
        (lambda _: Reply(raw=b"<html>\x1b[31m"), "completion", "failure", "<html>"),
        (lambda _: Reply(cut_after=0), "throughput", "failure", "chat/completions"),
        (
            lambda _: Reply(headers={"Date": "Sat, 01 Jan 2000 00:00:00 GMT"}),
            "completion",
            "warning",
            "clock",
        ),
    ],
)
async def test_what_is_wrong_with_a_server_is_said(
    tmp_path: Path, script: Script, name: str, status: str, words: str
) -> None:
    async with ScriptedEndpoint(script) as endpoint:
        found = (await findings(subject(tmp_path, endpoint.base_url)))[name]
    assert found.status == status
    assert words in found.what
    assert "\x1b" not in found.what


async def test_each_replica_is_asked_and_a_bad_one_is_named(tmp_path: Path) -> None:
    bad: Script = lambda _: Reply("long", tokens_out=900)  # noqa: E731 - a script
    async with ScriptedEndpoint(good) as one, ScriptedEndpoint(bad) as two:
        both = Checkpoint(id="fake", base_url=(one.base_url, two.base_url), served_model="scripted")
        options, _ = resolve(Choices(concurrency=4), both)
        found = await findings(Subject(both, options, (), tmp_path))
        assert (len(one.requests), len(two.requests)) == (1 + 1 + 1 + 2, 1 + 1 + 2)
    assert found["completion"].status == "ok"
    assert found["length"].status == "failure"
    assert f"{two.base_url}: max_tokens 8 ended with stop after 900" in found["length"].what
    assert two.base_url in found["endpoint"].what


async def test_a_dead_endpoint_is_a_failure_and_ends_the_checks_of_the_model(
    tmp_path: Path,
) -> None:
    found = await findings(subject(tmp_path))
    assert found["endpoint"].status == "failure"
    assert "127.0.0.1:9" in found["endpoint"].what
    assert "completion" not in found


async def test_an_agent_that_asks_no_model_needs_none(tmp_path: Path) -> None:
    assert "endpoint" not in await findings(subject(tmp_path, agent="oracle"))


async def test_a_run_is_refused_where_results_cannot_be_written(tmp_path: Path) -> None:
    from rich.console import Console

    (tmp_path / "file").write_text("")
    listener = PlainProgress(Console(), Tally(planned=1))
    with pytest.raises(SettingsError, match=r"cannot be written.*--no-preflight"):
        await before_run(subject(tmp_path / "file"), listener)


def test_memory_is_counted_for_all_trials_at_once() -> None:
    assert memory_finding(4, 2048, 8192).status == "ok"
    little = memory_finding(4, 2048, 8191)
    assert (little.status, little.advice) == ("warning", "-j 3 fits, or free memory")
    assert most_memory_mb([]) == 2048


def test_the_estimate_takes_what_is_known_and_says_what_it_assumes(tmp_path: Path) -> None:
    one = subject(tmp_path, attempts=2, concurrency=2)
    one = Subject(one.checkpoint, one.options, [make_task("a", 600), make_task("b", 600)], tmp_path)
    # a: 100 s as before; b: 20 × (300 / 10 + 5) = 700 s, but its limit is 600.
    text = estimate(one, 10.0, {"a": 100.0})
    assert "4 cells at 2 at once take about 12 min (durations of 1 of 2 tasks" in text
    assert "20 min if every agent" in text
