"""What the model sees is harbor's terminus-2, to the letter."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from harbor.agents.terminus_2.terminus_2 import Terminus2
from harbor.models.agent.context import AgentContext

from tests.agents.harness import INSTRUCTION, in_turns, make_agent, reply, sandbox
from tests.scripted import WINDOW, Reply, ScriptedEndpoint

pytestmark = pytest.mark.sandbox

XML = """<response><analysis>a</analysis><plan>p</plan><commands>
<keystrokes duration="{wait}">{keys}</keystrokes></commands>{more}</response>"""


def replies(parser: str) -> list[Reply]:
    """Commands, faults of form, a reply cut off, a screen that scrolls, the end."""
    typed = ["echo one\n", "seq 1 90\n", "seq 1 3000 | tail -n 2500\n"]
    cut = Reply("and so on", finish_reason="length")
    if parser == "json":
        proper = [reply(keys, duration=2.0) for keys in typed]
        chatty = Reply("Well: " + (reply("pwd\n", duration=2.0).content or ""))
        return [*proper, Reply("no json"), cut, chatty, reply(done=True)]
    proper = [Reply(XML.format(wait=2.0, keys=keys, more="")) for keys in typed]
    chatty = Reply("Well: " + XML.format(wait=2.0, keys="pwd\n", more=""))
    done = Reply(XML.format(wait=0.1, keys="", more="<task_complete>true</task_complete>"))
    return [*proper, Reply("no xml"), cut, chatty, done]


def make_harbors(base_url: str, logs_dir: Path, parser: str) -> Terminus2:
    logs_dir.mkdir()
    limits: dict[str, Any] = {"max_input_tokens": WINDOW, "max_output_tokens": None}
    return Terminus2(
        logs_dir=logs_dir,
        model_name="openai/scripted",
        api_base=base_url,
        parser_name=parser,
        max_turns=10,
        record_terminal_session=False,
        model_info=limits | {"input_cost_per_token": 0, "output_cost_per_token": 0},
        llm_kwargs={"api_key": "none"},
        enable_summarize=False,
    )


async def sent_by(directory: Path, parser: str, *, ours: bool) -> Sequence[Any]:
    """The messages of every call of an agent."""
    directory.mkdir()
    async with (
        sandbox(directory) as environment,
        ScriptedEndpoint(in_turns(*replies(parser))) as endpoint,
    ):
        agent = (
            make_agent(endpoint.base_url, directory / "logs", parser=parser, summarize=False)
            if ours
            else make_harbors(endpoint.base_url, directory / "logs", parser)
        )
        await agent.setup(environment)
        # harbor's first screen depends on luck; ours has waited for the prompt.
        await environment.exec("until tmux capture-pane -p | grep -q .; do sleep 0.05; done")
        await agent.run(INSTRUCTION, environment, AgentContext())
        return [request.body["messages"] for request in endpoint.requests]


@pytest.mark.filterwarnings("ignore")  # of litellm, which is harbor's
@pytest.mark.parametrize("parser", ["json", "xml"])
async def test_every_call_is_harbors(tmp_path: Path, parser: str) -> None:
    ours, harbors = await asyncio.gather(
        sent_by(tmp_path / "ours", parser, ours=True),
        sent_by(tmp_path / "harbors", parser, ours=False),
    )
    assert len(ours) == len(harbors)
    for number, (our, harbor) in enumerate(zip(ours, harbors, strict=True)):
        assert our == harbor, number
