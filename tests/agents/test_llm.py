"""The model client takes any shape of a proper answer, and counts nothing that is no number."""

import pytest

from tbeval.agents.llm import GatewayLLM
from tests.scripted import Reply, ScriptedEndpoint

PARTS = (
    b'{"choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", '
    b'"content": [{"type": "text", "text": "two "}, {"type": "text", "text": "parts"}]}}], '
    b'"usage": {"prompt_tokens": "many", "completion_tokens": null, "total_tokens": [1]}}'
)


@pytest.mark.parametrize(
    ("reply", "content"),
    [
        (Reply(raw=PARTS), "two parts"),
        (Reply(None, reasoning="thought only"), ""),
        (Reply("<think>hmm</think>\n\n{}"), "{}"),
        (Reply("<think>cut off"), ""),
        (Reply("half a pair \ud800 and \x00"), "half a pair ? and \x00"),
    ],
    ids=["parts and odd usage", "reasoning only", "think", "unclosed think", "surrogate"],
)
async def test_shapes_of_a_proper_answer(reply: Reply, content: str) -> None:
    async with ScriptedEndpoint(lambda _request: reply) as endpoint:
        llm = GatewayLLM(
            base_url=endpoint.base_url, served_model="scripted", context_window=4096, output_limit=9
        )
        answer = await llm.call("hello")
        await llm.close()
    assert answer.content == content
    assert llm.tokens_in >= 0
