"""Files that a trial left, read with care: their names and contents are the sandbox's."""

import os
import stat
from pathlib import Path

#: What is read of one file at most, bytes.
MOST = 8_000_000


def read_inside(directory: Path, name: str, most: int = MOST) -> bytes | None:
    """The beginning of a file below a directory; None if there is none.

    A symbolic link out of the directory is not followed: a trial could have planted it, and the
    report would show a file of the host. What is no regular file is not opened.
    """
    try:
        path = (directory / name).resolve(strict=True)
        if not path.is_relative_to(directory.resolve(strict=True)):
            return None
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except (OSError, ValueError, RuntimeError):
        return None
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        return file.read(most)


def text_inside(directory: Path, name: str, most: int = MOST) -> str | None:
    """The same as text; what is not UTF-8 becomes a replacement character."""
    data = read_inside(directory, name, most)
    return None if data is None else data.decode(errors="replace")


def capped(text: str, head: int = 6000, tail: int = 3000) -> str:
    """The text, or its head and tail with a line that says how much was left out."""
    if len(text) <= head + tail:
        return text
    left_out = len(text) - head - tail
    return f"{text[:head]}\n[… {left_out:,} characters left out …]\n{text[-tail:]}"
