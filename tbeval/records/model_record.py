"""What went to the model and what came back: `model/<trial>.jsonl.zst`, read.

Each entry is a zstd frame of its own: whatever was complete when a run was killed can be read.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import zstandard

#: The directory of a run that holds them, and how their names end.
DIRECTORY = "model"
SUFFIX = ".jsonl.zst"
_CHUNK = 1 << 16


def read_record(path: Path) -> Iterator[dict[str, Any]]:
    """The entries of a record, up to where it was cut off.

    Raises:
        OSError: The file cannot be read.
    """
    with path.open("rb") as file:
        frame, rest = _next_frame(file, b"")
        while frame is not None:
            yield json.loads(frame)
            frame, rest = _next_frame(file, rest)


def _next_frame(file: IO[bytes], data: bytes) -> tuple[bytes | None, bytes]:
    """One frame's content and what was read beyond it; None at the end and where it is broken."""
    decompressor = zstandard.ZstdDecompressor().decompressobj()
    parts: list[bytes] = []
    while data or (data := file.read(_CHUNK)):
        try:
            parts.append(decompressor.decompress(data))
        except zstandard.ZstdError:
            break
        if decompressor.eof:
            return b"".join(parts), decompressor.unused_data
        data = b""
    return None, b""
