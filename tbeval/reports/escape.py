"""Make foreign text harmless: what models and tasks write may hold anything."""

import re
import unicodedata

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})  # control, format, surrogates, …
_BACKSLASHED = frozenset("\\`*_[]~")
_REFERENCED = frozenset("<>&|$")  # HTML, table cells, formulas
_MENTION = re.compile(r"(?<!\w)@")


def visible(text: str) -> str:
    r"""The text on one line, with every character that would act instead of show written out.

    Escape sequences, line ends, marks that turn the direction of writing and the like become
    `\x1b`, `\n`, `\u202e`. Applying it twice changes nothing more.
    """
    if text.isprintable():  # nearly every text; a hundred times quicker
        return text
    return "".join(_written_out(character) for character in text)


def visible_lines(text: str) -> str:
    r"""The same for text of several lines: ends of lines stay, tabs become blanks.

    `\r\n` is an end of a line; a `\r` alone, which overwrites its line, is written out.
    """
    lines = text.replace("\r\n", "\n").expandtabs().split("\n")
    return "\n".join(visible(line) for line in lines)


def _written_out(character: str) -> str:
    if unicodedata.category(character) not in _HIDDEN:
        return character
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


def markdown(text: str) -> str:
    """The text as Markdown that shows exactly it, on one line, in a table too.

    Control characters are written out; what Markdown, HTML or a table would read as markup is
    escaped. It is meant for the middle of a line: a `#` or `-` at its begin is left alone.
    """
    escaped = "".join(_escaped(character) for character in visible(text))
    return _MENTION.sub("&#64;", escaped)


def _escaped(character: str) -> str:
    if character in _BACKSLASHED:
        return f"\\{character}"
    return f"&#{ord(character)};" if character in _REFERENCED else character
