"""terminus-2 against a scripted endpoint and a real sandbox: how it ends, what it costs."""

import hashlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tbeval.agents.terminus import MAX_CUT_OFF, summary_threshold
from tbeval.records.outcome import StopReason
from tbeval.sandboxes.bubblewrap import BubblewrapEnvironment
from tbeval.settings.checkpoint import Budget
from tests.agents.harness import in_turns, reply, run_agent, sandbox, succeeds
from tests.scripted import Reply, Request

pytestmark = pytest.mark.sandbox

OVERFLOWS = {
    "vllm": "This model's maximum context length is 8192 tokens. However, you requested 9000 "
    "tokens in the messages. Please reduce the length of the messages.",
    "sglang": "The input (9000 tokens) is longer than the model's context length (8192 tokens).",
    "llama.cpp": "the request exceeds the available context size, try increasing it",
}
XML = """<response>
<analysis>a</analysis>
<plan>p</plan>
<commands>
<keystrokes duration="0.1">{keys}</keystrokes>
</commands>
{more}</response>"""


@pytest.fixture
async def environment(tmp_path: Path) -> AsyncIterator[BubblewrapEnvironment]:
    async with sandbox(tmp_path) as environment:
        yield environment


def overflow(text: str) -> Reply:
    return Reply(text, status=400)


async def test_a_task_done(environment: BubblewrapEnvironment, tmp_path: Path) -> None:
    script = in_turns(
        reply("echo hello > out\n", "cat out\n"), reply("", done=True), reply(done=True)
    )
    ran = await run_agent(environment, script, tmp_path)
    assert ran.error is None
    assert await succeeds(environment, "test $(cat /app/out) = hello")
    assert ran.report.stop_reason is StopReason.FINISHED
    assert (ran.report.turns, ran.report.commands, ran.calls) == (3, 2, 3)
    sent = ran.endpoint.requests[0].last
    assert ran.report.prompt_sha256 == hashlib.sha256(sent.encode()).hexdigest()
    assert ran.context.n_input_tokens
    assert ran.context.n_output_tokens
    trajectory = json.loads((tmp_path / "logs" / "trajectory.json").read_text())
    assert trajectory["steps"][1]["tool_calls"][0]["arguments"]["keystrokes"]


async def test_the_shells_exit_ends_the_agent(
    environment: BubblewrapEnvironment, tmp_path: Path
) -> None:
    ran = await run_agent(environment, in_turns(reply("exit\n", duration=1.0)), tmp_path)
    assert ran.error is None
    assert (ran.report.stop_reason, ran.calls) == (StopReason.FINISHED, 1)


async def test_a_terminal_that_the_model_killed_ends_the_agent(
    environment: BubblewrapEnvironment, tmp_path: Path
) -> None:
    script = in_turns(reply("tmux kill-server\n", "echo\n", duration=1.0))
    ran = await run_agent(environment, script, tmp_path)
    assert ran.error is None
    assert ran.report.stop_reason is StopReason.FINISHED
    assert ran.report.error_class == "TerminalLostError"


async def test_the_turn_limit(environment: BubblewrapEnvironment, tmp_path: Path) -> None:
    ran = await run_agent(environment, in_turns(reply("ls\n")), tmp_path, turn_limit=3)
    assert ran.error is None
    assert (ran.report.stop_reason, ran.report.turns) == (StopReason.TURN_LIMIT, 3)


async def test_done_in_the_last_turn_is_finished(
    environment: BubblewrapEnvironment, tmp_path: Path
) -> None:
    ran = await run_agent(environment, in_turns(reply(done=True)), tmp_path, turn_limit=2)
    assert (ran.report.stop_reason, ran.report.turns) == (StopReason.FINISHED, 2)


@pytest.mark.parametrize(
    "content",
    [
        None,
        "I would run ls.",
        "[" * 100_000,
        '{"analysis": 1, "plan": 2, "commands": 3}',
        '{"analysis": "", "plan": "", "commands": [{"keystrokes": "x", "duration": 1'
        + "0" * 400
        + "}]}",
        '{"analysis": "\\ud800", "plan": "", "commands": "\\u0000"}',
    ],
)
@pytest.mark.parametrize("parser", ["json", "xml"])
async def test_nothing_but_rubbish(
    environment: BubblewrapEnvironment, tmp_path: Path, content: str, parser: str
) -> None:
    script = in_turns(Reply(content))
    ran = await run_agent(environment, script, tmp_path, turn_limit=2, parser=parser)
    assert ran.error is None
    assert (ran.report.stop_reason, ran.report.turns) == (StopReason.PARSE_ERRORS, 2)
    assert ran.report.commands == 0
    assert ran.context.metadata is not None
    assert ran.context.metadata["parse_errors"] == 2


async def test_keystrokes_of_every_kind(environment: BubblewrapEnvironment, tmp_path: Path) -> None:
    odd = ["echo a\0b\n", "\ud800\n", "x" * 30_000 + "C-c", "C-c", "-t other\n", "'; tmux ls\n"]
    ran = await run_agent(environment, in_turns(reply(*odd), reply(done=True)), tmp_path)
    assert ran.error is None
    assert (ran.report.stop_reason, ran.report.commands) == (StopReason.FINISHED, len(odd))


@pytest.mark.parametrize("text", OVERFLOWS.values(), ids=OVERFLOWS)
async def test_an_overflow_without_summaries(
    environment: BubblewrapEnvironment, tmp_path: Path, text: str
) -> None:
    script = in_turns(reply("ls\n"), overflow(text))
    ran = await run_agent(environment, script, tmp_path, summarize=False)
    assert ran.error_class == "ContextLengthExceededError"
    assert ran.report.stop_reason is StopReason.CONTEXT_LIMIT
    assert ran.calls == 2


@pytest.mark.parametrize(("after", "window"), [(0, 2048), (1, 32768), (3, 32768)])
async def test_an_overflow_that_no_summary_helps(
    environment: BubblewrapEnvironment, tmp_path: Path, after: int, window: int
) -> None:
    script = in_turns(*[reply("ls\n")] * after, overflow(OVERFLOWS["vllm"]))
    ran = await run_agent(environment, script, tmp_path, window=window)
    assert ran.error_class == "ContextLengthExceededError"
    assert ran.report.stop_reason is StopReason.CONTEXT_LIMIT
    assert ran.calls - after <= 4


async def test_a_summary_helps(environment: BubblewrapEnvironment, tmp_path: Path) -> None:
    def script(request: Request) -> Reply:
        if request.index == 2:
            return overflow(OVERFLOWS["llama.cpp"])
        if "questions" in request.last or "hand off" in request.last:
            return Reply("a summary")
        return reply("ls\n", done=request.index > 8)

    ran = await run_agent(environment, script, tmp_path)
    assert ran.error is None
    assert ran.report.stop_reason is StopReason.FINISHED
    assert ran.context.metadata is not None
    assert ran.context.metadata["summarization_count"] == 1


async def test_a_window_too_small_to_work_in_ends_the_agent(
    environment: BubblewrapEnvironment, tmp_path: Path
) -> None:
    ran = await run_agent(
        environment, in_turns(reply("ls\n")), tmp_path, window=1000, turn_limit=50
    )
    assert ran.report.stop_reason is StopReason.CONTEXT_LIMIT
    assert ran.calls < 25


def test_the_summary_threshold_leaves_room_to_work() -> None:
    assert summary_threshold(8192) == 2048
    assert summary_threshold(32768) == summary_threshold(262_144) == 8000


async def test_replies_cut_off_for_ever(environment: BubblewrapEnvironment, tmp_path: Path) -> None:
    script = in_turns(Reply("and so on", finish_reason="length", tokens_out=7))
    ran = await run_agent(environment, script, tmp_path)
    assert ran.error_class == "OutputLengthExceededError"
    assert ran.report.stop_reason is StopReason.OUTPUT_LIMIT
    assert ran.calls == MAX_CUT_OFF
    assert ran.context.n_output_tokens == 7 * MAX_CUT_OFF


async def test_a_cut_off_reply_may_be_followed_by_a_shorter_one(
    environment: BubblewrapEnvironment, tmp_path: Path
) -> None:
    long = Reply("and so on", finish_reason="length")
    script = in_turns(long, long, reply("ls\n"), long, long, reply(done=True))
    ran = await run_agent(environment, script, tmp_path)
    assert ran.error is None
    assert ran.report.stop_reason is StopReason.FINISHED


async def test_a_cut_off_xml_reply_that_is_whole_enough_is_used(
    environment: BubblewrapEnvironment, tmp_path: Path
) -> None:
    whole = XML.format(keys="echo hello > out\n", more="")
    done = XML.format(keys="", more="<task_complete>true</task_complete>\n")
    script = in_turns(Reply(whole + " And then", finish_reason="length"), Reply(done))
    ran = await run_agent(environment, script, tmp_path, parser="xml")
    assert ran.error is None
    assert await succeeds(environment, "test $(cat /app/out) = hello")
    assert (ran.report.stop_reason, ran.report.turns) == (StopReason.FINISHED, 3)
    roles = [message["role"] for message in ran.endpoint.requests[1].messages]
    assert roles == ["user", "assistant", "user"]
    assert ran.endpoint.requests[1].messages[1]["content"] == whole


FAULTS: dict[str, tuple[Reply, str, StopReason]] = {
    "wrong key": (Reply("bad", status=401), "EndpointDownError", StopReason.ENDPOINT_DOWN),
    "payment": (Reply("pay", status=402), "EndpointDownError", StopReason.ENDPOINT_DOWN),
    "forbidden": (Reply("no", status=403), "EndpointDownError", StopReason.ENDPOINT_DOWN),
    "no model": (Reply("none", status=404), "EndpointDownError", StopReason.ENDPOINT_DOWN),
    "too many": (Reply("slow", status=429), "EndpointDownError", StopReason.ENDPOINT_DOWN),
    "failing": (Reply("oops", status=500), "EndpointDownError", StopReason.ENDPOINT_DOWN),
    "loading": (Reply("wait", status=503), "EndpointDownError", StopReason.ENDPOINT_DOWN),
    "html": (Reply(raw=b"<html>"), "EndpointDownError", StopReason.ENDPOINT_DOWN),
    "cut off": (Reply("x" * 99, cut_after=20), "EndpointDownError", StopReason.ENDPOINT_DOWN),
    "reset": (Reply(cut_after=-1), "EndpointDownError", StopReason.ENDPOINT_DOWN),
    "no choices": (Reply(no_choices=True), "EndpointDownError", StopReason.ENDPOINT_DOWN),
    "bad": (Reply("what?", status=400), "AgentCrashedError", StopReason.CRASHED),
    # ... of a first prompt that is far shorter than the window that the server told
    "too long": (overflow(OVERFLOWS["vllm"]), "AgentCrashedError", StopReason.CRASHED),
}


@pytest.mark.parametrize(("fault", "error", "reason"), FAULTS.values(), ids=FAULTS)
async def test_a_fault_costs_one_call_and_has_a_name(
    environment: BubblewrapEnvironment, tmp_path: Path, fault: Reply, error: str, reason: StopReason
) -> None:
    ran = await run_agent(environment, in_turns(fault), tmp_path, gateway=False)
    assert (ran.error_class, ran.report.stop_reason, ran.calls) == (error, reason, 1)
    assert ran.report.seconds < 5  # about 0.1 on an idle machine


async def test_a_refused_conversation_is_the_agents(
    environment: BubblewrapEnvironment, tmp_path: Path
) -> None:
    script = in_turns(reply("ls\n"), Reply("I do not like it", status=400))
    ran = await run_agent(environment, script, tmp_path)
    assert (ran.error_class, ran.report.stop_reason) == ("BadRequestError", StopReason.BAD_REQUEST)
    assert ran.calls == 2


@pytest.mark.parametrize(
    ("budget", "reason"),
    [
        (Budget(calls=2), StopReason.CALL_LIMIT),
        (Budget(output_tokens=30), StopReason.TOKEN_LIMIT),
        (Budget(total_tokens=1500), StopReason.TOKEN_LIMIT),
    ],
)
async def test_a_spent_budget(
    environment: BubblewrapEnvironment, tmp_path: Path, budget: Budget, reason: StopReason
) -> None:
    ran = await run_agent(environment, in_turns(reply("ls\n")), tmp_path, budget=budget)
    assert (ran.error_class, ran.report.stop_reason) == ("BudgetSpentError", reason)
    assert ran.calls <= 2


async def test_markers_in_the_models_own_words_end_nothing(
    environment: BubblewrapEnvironment, tmp_path: Path
) -> None:
    quoting = Reply("tbeval-budget: calls tbeval-refused: tbeval-endpoint:")
    ran = await run_agent(environment, in_turns(quoting, reply(done=True)), tmp_path)
    assert ran.report.stop_reason is StopReason.FINISHED


async def test_markers_in_a_servers_quotation_end_nothing(
    environment: BubblewrapEnvironment, tmp_path: Path
) -> None:
    script = in_turns(reply("ls\n"), Reply("you said 'tbeval-budget: calls'", status=400))
    ran = await run_agent(environment, script, tmp_path)
    assert ran.report.stop_reason is StopReason.BAD_REQUEST


async def test_proxies_and_keys_of_the_environment_do_not_matter(
    environment: BubblewrapEnvironment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "OPENAI_BASE_URL"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted")
    ran = await run_agent(environment, in_turns(reply(done=True)), tmp_path, gateway=False)
    assert ran.report.stop_reason is StopReason.FINISHED
    headers: Any = [dict(request.headers) for request in ran.endpoint.requests]
    assert "sk-planted" not in json.dumps(headers)
