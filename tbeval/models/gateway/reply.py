"""Whether what came back from the endpoint is an answer, and what it says about itself."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tbeval.models.thinking import split_thinking

_SHOWN = 160  # characters of a bad reply that an error text shows


class BadReplyError(Exception):
    """The endpoint answered with something that is no model's answer."""


@dataclass(frozen=True)
class Reply:
    """What a complete answer says about itself.

    Attributes:
        content: The answer as read, for the record: an object, or the list of a stream's events.
        finish_reason: Of the first choice.
        tokens_in: Tokens of the prompt.
        tokens_out: Tokens generated, reasoning included.
        reasoning_tokens: Those of them that the server calls reasoning; None if it does not tell.
        reasoning_chars: Characters of reasoning, beside the content or inside `<think>`.
        has_usage: False: the server told no tokens; they are 0, or None.
    """

    content: Any
    finish_reason: str
    tokens_in: int = 0
    tokens_out: int = 0
    reasoning_tokens: int | None = None
    reasoning_chars: int = 0
    has_usage: bool = False


def shown(body: bytes) -> str:
    """The beginning of a body on one line, for an error text."""
    text = body[: 4 * _SHOWN].decode(errors="replace")
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line[:_SHOWN] + ("…" if len(line) > _SHOWN else "")


def read_json(body: bytes) -> Any:
    """Parse JSON from anywhere.

    Raises:
        BadReplyError: It is not JSON, or nested beyond reason.
    """
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise BadReplyError(f"not JSON: {shown(body) or 'an empty body'}") from error


def read_reply(body: bytes) -> Reply:
    """Check a whole answer.

    `content: null` is an answer: thinking models send it with their reasoning beside it.

    Raises:
        BadReplyError: Not JSON, no choices, a choice without its message or finish_reason.
    """
    answer = read_json(body)
    choices = answer.get("choices") if isinstance(answer, dict) else None
    if not isinstance(choices, list) or not choices:
        raise BadReplyError(f"no choices: {shown(body)}")
    for choice in choices:
        if not isinstance(choice, dict) or not isinstance(choice.get("finish_reason"), str):
            raise BadReplyError(f"a choice without finish_reason: {shown(body)}")
        if not isinstance(choice.get("message"), dict) and not isinstance(choice.get("text"), str):
            raise BadReplyError(f"a choice without message or text: {shown(body)}")
        if not _is_content((choice.get("message") or {}).get("content")):
            raise BadReplyError(f"a content that is neither text nor parts: {shown(body)}")
    message = choices[0].get("message") or {"content": choices[0].get("text")}
    thought = len(reasoning_of(message))
    return _reply(answer, choices[0]["finish_reason"], answer.get("usage"), thought)


def text_of(content: object) -> str:
    """A message's content as text; OpenAI's API may send it in parts, or none."""
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def reasoning_of(message: Mapping[str, Any]) -> str:
    """What a message tells of the model's thinking: beside its content, or inside `<think>`."""
    return _told_reasoning(message) + split_thinking(text_of(message.get("content"))).thinking


def _told_reasoning(message: Mapping[str, Any]) -> str:
    """`reasoning_content` of sglang and llama.cpp; newer vLLM calls it `reasoning`."""
    return text_of(message.get("reasoning_content")) or text_of(message.get("reasoning"))


def _is_content(content: object) -> bool:
    """Text, nothing, or a list of parts, as OpenAI's API has it."""
    if isinstance(content, list):
        return all(isinstance(part, dict) for part in content)
    return content is None or isinstance(content, str)


def read_stream(body: bytes) -> Reply:
    """Check a whole stream of server-sent events.

    Raises:
        BadReplyError: An event that is not JSON or an error, or a choice that never finishes.
    """
    events: list[Any] = []
    reasons: dict[int, str | None] = {}
    said: dict[str, list[str]] = {"content": [], "reasoning": []}
    usage: Any = None
    for data in _events(body):
        event = read_json(data)
        if not isinstance(event, dict) or event.get("error"):
            raise BadReplyError(f"an error in the stream: {shown(data)}")
        events.append(event)
        usage = event.get("usage") or usage
        for choice in event.get("choices") or ():
            if not isinstance(choice, dict):
                raise BadReplyError(f"a malformed event: {shown(data)}")
            index = _count(choice.get("index"))
            reasons[index] = choice.get("finish_reason") or reasons.get(index)
            if index == 0:
                delta = choice.get("delta")
                part = delta if isinstance(delta, dict) else {"content": choice.get("text")}
                said["content"].append(text_of(part.get("content")))
                said["reasoning"].append(_told_reasoning(part))
    if not reasons:
        raise BadReplyError(f"a stream without choices: {shown(body)}")
    if not all(isinstance(reason, str) for reason in reasons.values()):
        raise BadReplyError("a stream that ends without finish_reason")
    whole = {name: "".join(parts) for name, parts in said.items()}
    return _reply(events, str(reasons[min(reasons)]), usage, len(reasoning_of(whole)))


def without_usage_event(body: bytes) -> bytes:
    """A stream without the event that only tells usage, for an agent that did not ask for it."""
    blocks = body.replace(b"\r\n", b"\n").split(b"\n\n")
    return b"\n\n".join(block for block in blocks if not _only_usage(block))


def _only_usage(block: bytes) -> bool:
    if b'"usage"' not in block:
        return False  # most of them: parsing each again would cost as much as reading did
    for data in _events(block):
        event = json.loads(data)
        return bool(event.get("usage")) and not event.get("choices")
    return False


def _events(body: bytes) -> Iterator[bytes]:
    """The data of each event but `[DONE]`; engines put each event's data on one line."""
    for line in body.splitlines():
        field, _, data = line.partition(b":")
        if field == b"data" and data.strip() not in {b"", b"[DONE]"}:
            yield data.strip()


def _reply(content: Any, finish_reason: str, usage: Any, reasoning_chars: int) -> Reply:
    if not isinstance(usage, dict):
        return Reply(content, finish_reason, reasoning_chars=reasoning_chars)
    details = usage.get("completion_tokens_details")
    told = details.get("reasoning_tokens") if isinstance(details, dict) else None
    return Reply(
        content,
        finish_reason,
        tokens_in=_count(usage.get("prompt_tokens")),
        tokens_out=_count(usage.get("completion_tokens")),
        reasoning_tokens=None if told is None else _count(told),
        reasoning_chars=reasoning_chars,
        has_usage=True,
    )


def _count(value: Any) -> int:
    return value if isinstance(value, int) and 0 <= value < 2**40 else 0
