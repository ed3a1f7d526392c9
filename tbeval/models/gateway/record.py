"""What went to the model and what came back: `model/<trial>.jsonl.zst`.

Each entry is a zstd frame of its own that is written at once: whatever was complete when a run was
killed can still be read (`tbeval.records.model_record`).
"""

from pathlib import Path

import zstandard

SUFFIX = ".jsonl.zst"
_LEVEL = 3


class RecordWriter:
    """Appends entries to the record of one trial."""

    def __init__(self, path: Path) -> None:
        """Begin a record.

        Raises:
            FileExistsError: The trial has a record already; one is never overwritten.
        """
        self._file = path.open("xb", buffering=0)
        self._compressor = zstandard.ZstdCompressor(level=_LEVEL)

    def write(self, entry: bytes) -> None:
        """Append one entry, a JSON object without a newline.

        Raises:
            OSError: The disk is full or gone; what was written of the entry is taken back.
        """
        frame = self._compressor.compress(entry + b"\n")
        start = self._file.tell()
        try:
            written = 0
            while written < len(frame):
                written += self._file.write(frame[written:]) or 0
        except OSError:
            self._file.seek(start)
            self._file.truncate()
            raise

    def close(self) -> None:
        """Close the file."""
        self._file.close()
