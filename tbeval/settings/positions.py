"""On which line of a TOML text each key stands; `tomllib` keeps only the values."""

import tomllib
from typing import Final

type KeyPath = tuple[str | int, ...]

_BARE: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
_QUOTES: Final = ('"""', "'''", '"', "'")


def key_lines(text: str) -> dict[KeyPath, int]:
    """The line (from 1) of each key and table header in a text that `tomllib` accepts.

    A path is made of keys and, below an array, of positions: `("task", 0, "name")`.
    """
    return _Scanner(text.replace("\r\n", "\n")).scan()


class _Scanner:
    """Walks once over a valid TOML text, statement by statement."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._lines: dict[KeyPath, int] = {}
        self._arrays: dict[KeyPath, int] = {}  # array of tables -> its last position

    def scan(self) -> dict[KeyPath, int]:
        table: KeyPath = ()
        while self._skip_blank():
            if self._peek() == "[":
                table = self._header()
            else:
                self._pair(table)
        return self._lines

    def _header(self) -> KeyPath:
        is_array = self._text.startswith("[[", self._at)
        line = self._line()
        self._at += 2 if is_array else 1
        keys = self._keys()
        self._at += 2 if is_array else 1
        path: KeyPath = ()
        for number, key in enumerate(keys, start=1):
            path = (*path, key)
            self._lines.setdefault(path, line)
            if is_array and number == len(keys):
                self._arrays[path] = self._arrays.get(path, -1) + 1
            if path in self._arrays:
                path = (*path, self._arrays[path])
                self._lines.setdefault(path, line)
        return path

    def _pair(self, table: KeyPath) -> None:
        line = self._line()
        path = table
        for key in self._keys():
            path = (*path, key)
            self._lines.setdefault(path, line)
        self._at += 1  # the equals sign
        self._skip_blank()
        self._value(path)

    def _keys(self) -> list[str]:
        """A dotted key; stops at the character after it and its blanks."""
        keys: list[str] = []
        while True:
            self._skip_blank()
            start = self._at
            if self._peek() in "\"'":
                self._string()
                keys.append(next(iter(tomllib.loads(f"{self._text[start : self._at]}=0"))))
            else:
                while self._peek() in _BARE:
                    self._at += 1
                keys.append(self._text[start : self._at])
            self._skip_blank()
            if self._peek() != ".":
                return keys
            self._at += 1

    def _value(self, path: KeyPath) -> None:
        first = self._peek()
        if first == "[":
            self._array(path)
        elif first == "{":
            self._inline_table(path)
        elif first in "\"'":
            self._string()
        else:
            while self._at < len(self._text) and self._peek() not in ",]}#\n":
                self._at += 1

    def _array(self, path: KeyPath) -> None:
        self._at += 1
        position = 0
        while self._skip_blank() and self._peek() != "]":
            if self._peek() == ",":
                self._at += 1
                continue
            self._lines.setdefault((*path, position), self._line())
            self._value((*path, position))
            position += 1
        self._at += 1

    def _inline_table(self, path: KeyPath) -> None:
        self._at += 1
        while self._skip_blank() and self._peek() != "}":
            if self._peek() == ",":
                self._at += 1
                continue
            self._pair(path)
        self._at += 1

    def _string(self) -> None:
        quote = next(q for q in _QUOTES if self._text.startswith(q, self._at))
        self._at += len(quote)
        while not self._text.startswith(quote, self._at):
            self._at += 2 if self._peek() == "\\" and quote[0] == '"' else 1
        self._at += len(quote)
        if len(quote) > 1:  # up to two quotes may stand just before the closing three
            while self._peek() == quote[0]:
                self._at += 1

    def _skip_blank(self) -> bool:
        """Skip blanks, line ends and comments; whether anything is left."""
        while self._at < len(self._text):
            character = self._text[self._at]
            if character == "#":
                end = self._text.find("\n", self._at)
                self._at = len(self._text) if end < 0 else end
            elif character in " \t\r\n":
                self._at += 1
            else:
                return True
        return False

    def _peek(self) -> str:
        # NUL at the end, not "": the empty string is in every string, NUL in no valid TOML.
        return self._text[self._at] if self._at < len(self._text) else "\0"

    def _line(self) -> int:
        return self._text.count("\n", 0, self._at) + 1
