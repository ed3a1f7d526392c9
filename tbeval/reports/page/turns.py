"""The turns of a trial, from the record of its model traffic. Nothing in it is believed."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tbeval.reports.page.reading import capped

_SHOWN_MESSAGES = 6
_SHOWN_COMMANDS = 40


@dataclass(frozen=True)
class Message:
    """What the model was shown since its last answer."""

    role: str
    text: str


@dataclass(frozen=True)
class Command:
    """Keystrokes or a tool call. `note` is the time to wait, or the tool's name."""

    text: str
    note: str


@dataclass(frozen=True)
class Turn:
    """One call of the model.

    Attributes:
        number: From 1.
        tries: How often the gateway asked.
        shown: What is new in the prompt.
        thinking: Its reasoning; empty without.
        said: What it wrote beside the commands.
        commands: What it wants to have done.
        failure: Why there is no answer; empty if there is one.
        raw: The answer as it came, where `said` and `commands` were read from it.
    """

    number: int
    tries: int
    shown: tuple[Message, ...]
    thinking: str
    said: str
    commands: tuple[Command, ...]
    failure: str
    finish: str
    tokens_in: int
    tokens_out: int
    seconds: float
    raw: str


def turns_of(entries: Iterable[Mapping[str, Any]]) -> list[Turn]:
    """One turn per call, in order; of several tries of a call the last one counts."""
    last: dict[Any, tuple[Mapping[str, Any], int]] = {}
    for entry in entries:
        call = str(entry.get("call"))
        last[call] = (entry, last[call][1] + 1 if call in last else 1)
    found: list[Turn] = []
    before = 0
    for number, (entry, tries) in enumerate(last.values(), start=1):
        messages = _messages(entry)
        found.append(_turn(number, tries, entry, _new(messages, before)))
        before = len(messages)
    return found


def _turn(
    number: int, tries: int, entry: Mapping[str, Any], shown: Sequence[Mapping[str, Any]]
) -> Turn:
    message = _answer(entry.get("response"))
    content = _text(message.get("content"))
    thinking = _text(message.get("reasoning_content") or message.get("reasoning"))
    if not thinking and "</think>" in content:
        thinking, _, content = content.partition("</think>")
        thinking = thinking.removeprefix("<think>")
    said, commands = _parsed(content)
    calls = _tool_calls(message)
    return Turn(
        number=number,
        tries=tries,
        shown=tuple(
            Message(_text(each.get("role")), capped(_text(each.get("content")).strip()))
            for each in shown[-_SHOWN_MESSAGES:]
        ),
        thinking=capped(thinking.strip()),
        said=capped(said.strip()),
        commands=tuple([*commands, *calls][:_SHOWN_COMMANDS]),
        failure=capped(_text(entry.get("failure"))),
        finish=_text(entry.get("finish_reason")),
        tokens_in=_number(entry.get("tokens_in")),
        tokens_out=_number(entry.get("tokens_out")),
        seconds=float(_number(entry.get("seconds"))),
        raw=capped(content) if commands else "",
    )


def _messages(entry: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    messages = _list(_mapping(entry.get("request")).get("messages"))
    return [each for each in messages if isinstance(each, dict)]


def _new(messages: list[Mapping[str, Any]], before: int) -> list[Mapping[str, Any]]:
    """What came since the last answer; the last message where the history was rewritten."""
    if len(messages) > before:
        return [
            each for each in messages[before:] if before == 0 or each.get("role") != "assistant"
        ]
    return messages[-1:]


def _answer(response: Any) -> Mapping[str, Any]:
    """The message of an answer: of an object, or put together from a stream's events."""
    if not isinstance(response, list):
        return _message(response, "message") or {"content": _message_text(response)}
    parts: dict[str, str] = {}
    calls: dict[int, dict[str, str]] = {}
    for event in response:
        delta = _message(event, "delta")
        for key in ("content", "reasoning_content", "reasoning"):
            if isinstance(delta.get(key), str):
                parts[key] = parts.get(key, "") + delta[key]
        for call in _list(delta.get("tool_calls")):
            function = _mapping(_mapping(call).get("function"))
            kept = calls.setdefault(_number(_mapping(call).get("index")), {})
            for key in ("name", "arguments"):
                kept[key] = kept.get(key, "") + _text(function.get(key))
    return {**parts, "tool_calls": [{"function": call} for call in calls.values()]}


def _message(response: Any, name: str) -> Mapping[str, Any]:
    return _mapping(_first_choice(response).get(name))


def _message_text(response: Any) -> str:
    return _text(_first_choice(response).get("text") or response if response else "")


def _first_choice(response: Any) -> Mapping[str, Any]:
    choices = _list(_mapping(response).get("choices"))
    return _mapping(choices[0]) if choices else {}


def _parsed(content: str) -> tuple[str, list[Command]]:
    """terminus-2's JSON as what it says and its keystrokes; else the text itself."""
    begin, end = content.find("{"), content.rfind("}")
    try:
        reply = json.loads(content[begin : end + 1]) if 0 <= begin < end else None
    except (ValueError, RecursionError):
        reply = None
    if not isinstance(reply, dict) or not isinstance(reply.get("commands"), list):
        return content, []
    commands = [
        Command(capped(_text(each.get("keystrokes"))), f"{_text(each.get('duration'))} s")
        for each in reply["commands"]
        if isinstance(each, dict)
    ]
    said = "\n\n".join(_text(reply[key]) for key in ("analysis", "plan") if reply.get(key))
    if reply.get("task_complete") is True:
        said += "\n\ntask_complete: true"
    return said, commands


def _tool_calls(message: Mapping[str, Any]) -> list[Command]:
    found = []
    for call in _list(message.get("tool_calls")):
        function = _mapping(_mapping(call).get("function"))
        found.append(Command(capped(_text(function.get("arguments"))), _text(function.get("name"))))
    return found


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _number(value: Any) -> int:
    return value if isinstance(value, int | float) else 0  # type: ignore[return-value]


def _text(value: Any) -> str:
    """Content as text: a string, or the parts of a list."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, list):
        return "\n".join(_text(_mapping(part).get("text", part)) for part in value)
    return json.dumps(value, ensure_ascii=False, default=str)
