"""The part of a reply in which a model thinks, where the server leaves it inside the content."""

import re
from dataclasses import dataclass

_OPEN, _CLOSE = "<think>", "</think>"
#: The end of thinking that the chat template began. Replies that only mention the tag, inside
#: JSON for instance, have no line's end after it.
_CLOSED_BY_TEMPLATE = re.compile(rf"{_CLOSE}[ \t]*(?:\r?\n|$)")


@dataclass(frozen=True)
class Reasoned:
    """A reply taken apart.

    Attributes:
        thinking: Without its tags; empty if there is none.
        content: The rest.
    """

    thinking: str
    content: str


def split_thinking(text: str) -> Reasoned:
    """Take the thinking off the beginning of a reply.

    It begins with `<think>`, or the chat template wrote that and only `</think>` and the end of a
    line tell. Thinking that was cut off is all thinking.
    """
    stripped = text.lstrip()
    if stripped.startswith(_OPEN):
        thinking, _, content = stripped.removeprefix(_OPEN).partition(_CLOSE)
        return Reasoned(thinking.strip(), content.lstrip())
    end = _CLOSED_BY_TEMPLATE.search(text)
    if end is None or _OPEN in text[: end.start()]:
        return Reasoned("", text)
    return Reasoned(text[: end.start()].strip(), text[end.end() :].lstrip())
