"""A reply of the model is anything; parsing one never fails with an exception."""

import math
from typing import Any

from harbor.agents.terminus_2.terminus_json_plain_parser import ParseResult

_DEFAULT_DURATION_SEC = 1.0


class TolerantParser:
    """One of harbor's parsers, which fail on some replies (nested too deep, odd numbers).

    Such a reply is a parse error like any other: the model is told and tries again.
    """

    def __init__(self, parser: Any) -> None:
        self._parser = parser

    def parse_response(self, response: str) -> ParseResult:
        """Parse a reply; see harbor."""
        try:
            result: ParseResult = self._parser.parse_response(response)
        except Exception as error:  # noqa: BLE001 - whatever the model made the parser do
            return ParseResult([], False, f"Reply cannot be parsed ({type(error).__name__})", "")
        for command in result.commands:
            command.keystrokes = _encodable(command.keystrokes)
            if math.isnan(command.duration):
                command.duration = _DEFAULT_DURATION_SEC
        result.analysis, result.plan = _encodable(result.analysis), _encodable(result.plan)
        result.error, result.warning = _encodable(result.error), _encodable(result.warning)
        return result

    def __getattr__(self, name: str) -> Any:
        """What only one of harbor's parsers has."""
        return getattr(self._parser, name)


def _encodable(text: object) -> str:
    """Text without halves of surrogate pairs, which are valid JSON and no valid UTF-8."""
    return str(text).encode(errors="replace").decode()
