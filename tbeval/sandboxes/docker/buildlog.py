"""What a build says: lines of the old builder, or BuildKit's messages (protobuf in base64)."""

import base64
import binascii
from collections.abc import Iterator
from typing import Any

_TRACE = "moby.buildkit.trace"
# Fields of BuildKit's StatusResponse, Vertex and VertexLog (api/services/control/control.proto).
_VERTEX, _LOG = 1, 3
_VERTEX_NAME, _VERTEX_STARTED, _VERTEX_COMPLETED = 3, 5, 6
_LOG_TEXT = 4


def build_lines(message: dict[str, Any]) -> Iterator[str]:
    """The lines of one progress message of a build or a pull."""
    if "stream" in message:
        yield from str(message["stream"]).splitlines()
    elif message.get("id") == _TRACE:
        yield from _trace(str(message.get("aux", "")))


def build_error(message: dict[str, Any]) -> str:
    """Why the build failed; empty if this message does not say so."""
    return str(message.get("error", ""))


def _trace(encoded: str) -> Iterator[str]:
    try:
        for number, value in _fields(base64.b64decode(encoded)):
            fields = dict(_fields(value))
            if number == _LOG:
                yield from fields.get(_LOG_TEXT, b"").decode(errors="replace").splitlines()
            elif (
                number == _VERTEX and _VERTEX_STARTED in fields and _VERTEX_COMPLETED not in fields
            ):
                yield fields.get(_VERTEX_NAME, b"").decode(errors="replace")
    except (binascii.Error, ValueError, IndexError):
        return  # a newer BuildKit's; the build's end does not hang on it


def _fields(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The fields of a protobuf message that hold bytes; others are skipped."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        match key & 7:
            case 0:
                _, at = _varint(data, at)
            case 1:
                at += 8
            case 2:
                size, at = _varint(data, at)
                yield key >> 3, data[at : at + size]
                at += size
            case 5:
                at += 4
            case kind:
                raise ValueError(f"wire type {kind}")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:  # noqa: PLR2004 - the highest bit says that more follows
            return value, at
