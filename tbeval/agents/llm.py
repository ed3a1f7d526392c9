"""terminus-2's way to the model: one call of the gateway, tried once, every fault with a name."""

import json
from collections.abc import Sequence
from typing import Any, override

import aiohttp
from harbor.llms.base import (
    BaseLLM,
    ContextLengthExceededError,
    LLMResponse,
    OutputLengthExceededError,
)
from harbor.models.metric import UsageInfo

from tbeval.agents.errors import (
    AgentCrashedError,
    BadRequestError,
    BudgetSpentError,
    CallsRefusedError,
    EndpointDownError,
)
from tbeval.models.gateway.reply import reasoning_of, text_of
from tbeval.models.markers import REFUSED_MARKER, budget_hit
from tbeval.models.thinking import split_thinking

#: What servers say about a prompt that is too long, in lower case.
_OVERFLOWS = (
    "context length",  # vLLM, sglang, OpenAI
    "context_length_exceeded",  # OpenAI's code
    "exceed_context_size_error",  # llama.cpp's type
    "available context size",  # llama.cpp's message
    "exceed context window",  # llama-cpp-python
    "`inputs` tokens + `max_new_tokens`",  # TGI
    "prompt is too long",
    "input is too long",
    "longer than the model",  # sglang
)

#: The status of the gateway's own markers; a server's error may quote anything of the prompt.
_MARKED = 401

_BAD_REQUESTS = frozenset({400, 413, 422})

#: The gateway waits for the endpoint; the agent's clock ends the wait.
_NO_LIMIT = aiohttp.ClientTimeout(total=None, sock_connect=30)

_QUOTE_LIMIT = 300


class GatewayLLM(BaseLLM):
    """A harbor model that speaks to the gateway.

    harbor's own client retries three times in three layers and leaves it to litellm to guess what
    a fault means; here waiting and retrying are the gateway's, and this class only names.

    Args:
        base_url: The trial's `…/v1`.
        served_model: As the endpoint names it.
        context_window: Tokens of prompt and reply together.
        output_limit: Tokens of one reply, if limited; terminus-2 tells it to the model.

    Attributes:
        tokens_in: Of all calls so far, those with cut-off replies included.
        tokens_out: Likewise.
        tokens_cached: Likewise, as far as the server tells.
        failure: What the last call raised; None if it was answered. terminus-2 goes on after a
            failed summary as if nothing had happened; its subclass looks here.
    """

    def __init__(
        self, *, base_url: str, served_model: str, context_window: int, output_limit: int | None
    ) -> None:
        super().__init__()
        self._url = base_url.rstrip("/") + "/chat/completions"
        self._model = served_model
        self._context_window = context_window
        self._output_limit = output_limit
        self._session: aiohttp.ClientSession | None = None
        self._answered = 0
        self.tokens_in = self.tokens_out = self.tokens_cached = 0
        self.failure: Exception | None = None

    @override
    def get_model_context_limit(self) -> int:
        return self._context_window

    @override
    def get_model_output_limit(self) -> int | None:
        return self._output_limit

    async def close(self) -> None:
        """Close the connection; an open call of an agent left behind ends with it."""
        if self._session is not None:
            await self._session.close()

    @override
    async def call(
        self, prompt: str, message_history: Sequence[dict[str, Any]] = (), **_: Any
    ) -> LLMResponse:
        """Ask once.

        Raises:
            ContextLengthExceededError: The server refused the prompt as too long.
            OutputLengthExceededError: The reply was cut off; it carries what there is of it.
            AgentError: The budget is spent, the trial is over, or the endpoint failed.
        """
        messages = [*message_history, {"role": "user", "content": prompt}]
        try:
            response = await self._ask({"model": self._model, "messages": messages})
        except Exception as error:
            self.failure = error
            raise
        self.failure = None
        return response

    async def _ask(self, body: dict[str, Any]) -> LLMResponse:
        if self._session is None:
            # Proxies of the environment are not for loopback: aiohttp does not ask for them.
            self._session = aiohttp.ClientSession(
                timeout=_NO_LIMIT, headers={"Authorization": "Bearer none"}
            )
        try:
            async with self._session.post(self._url, json=body) as response:
                status, data = response.status, await response.read()
        except (aiohttp.ClientError, OSError) as error:
            raise EndpointDownError(
                f"The model's endpoint cannot be reached: {type(error).__name__}: {error}"
            ) from error
        text = data.decode(errors="replace")
        if status != 200:  # noqa: PLR2004 - HTTP's OK
            raise self._fault(status, text, _size(body))
        return self._answer(text)

    def _fault(self, status: int, text: str, prompt_bytes: int) -> Exception:
        spent = budget_hit(text)
        if status == _MARKED and spent is not None:
            return BudgetSpentError(spent)
        if status == _MARKED and REFUSED_MARKER in text:
            return CallsRefusedError("The trial's model calls are refused: its time is over.")
        quoted = f"HTTP {status}: {text[:_QUOTE_LIMIT]}"
        if status in _BAD_REQUESTS:
            # A first prompt of fewer bytes than the window has tokens does fit: what the server
            # says then tells of its settings, and all trials would be the model's zeros.
            first = not self._answered and self.failure is None
            fits = first and prompt_bytes < self._context_window
            if not fits and any(words in text.lower() for words in _OVERFLOWS):
                overflow: Exception = ContextLengthExceededError(quoted)
                return overflow
            if self._answered:
                return BadRequestError(f"The server refused the conversation: {quoted}")
            return AgentCrashedError(f"The server refused the agent's first call: {quoted}")
        return EndpointDownError(f"The model's endpoint failed: {quoted}")

    def _answer(self, text: str) -> LLMResponse:
        try:
            answer = json.loads(text)
            choice = answer["choices"][0]
            message, finish_reason = choice["message"], choice.get("finish_reason")
            # Half a surrogate pair is valid JSON, but neither a file nor a terminal takes it.
            content = text_of(message.get("content")).encode(errors="replace").decode()
            reasoning = reasoning_of(message).encode(errors="replace").decode() or None
            content = split_thinking(content).content
            usage = self._count(answer.get("usage") or {})
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise EndpointDownError(
                f"The endpoint's answer is no chat completion: {text[:_QUOTE_LIMIT]!r}"
            ) from error
        self._answered += 1
        if finish_reason == "length":
            raise OutputLengthExceededError("The reply was cut off.", truncated_response=content)
        return LLMResponse(
            content=content,
            reasoning_content=reasoning,
            model_name=answer.get("model"),
            usage=usage,
        )

    def _count(self, usage: dict[str, Any]) -> UsageInfo:
        details = usage.get("prompt_tokens_details") or {}
        found = UsageInfo(
            prompt_tokens=_number(usage.get("prompt_tokens")),
            completion_tokens=_number(usage.get("completion_tokens")),
            cache_tokens=_number(details.get("cached_tokens")),
            cost_usd=0.0,
        )
        self.tokens_in += found.prompt_tokens
        self.tokens_out += found.completion_tokens
        self.tokens_cached += found.cache_tokens
        return found


def _number(told: object) -> int:
    """A count of tokens; 0 for what is none. The ledger's come from the gateway, not from here."""
    return told if isinstance(told, int) and told >= 0 else 0


def _size(body: dict[str, Any]) -> int:
    return sum(len(str(message["content"]).encode()) for message in body["messages"])
