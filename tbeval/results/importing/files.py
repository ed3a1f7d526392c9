"""Which files under a directory hold results, read whatever state they are in."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tbeval.records.run import RUN_FILE
from tbeval.results.importing.foreign import Oddities

#: Larger files are left out, and said so.
MOST_BYTES = 1 << 30

_UNREADABLE = "a file cannot be read as JSON; what it holds is left out"
_MENDED = "a file is not valid UTF-8; the bytes in question were replaced"
_OURS = "a run of tbeval itself lies there and is left out"
_TOO_LARGE = f"a file is larger than {MOST_BYTES >> 30} GiB and is left out"


@dataclass(frozen=True)
class ResultFile:
    """A JSON object found under the directory, and where."""

    path: Path
    content: dict[str, Any]


def result_files(root: Path, oddities: Oddities) -> Iterator[ResultFile]:
    """Every result file under a directory, or the file itself, by path.

    Those are `result.json` of harbor, and `results.json` and `…_results.json` of terminal-bench.
    Symbolic links to directories are not followed.
    """
    for path in _candidates(root, oddities):
        content = read_object(path, oddities)
        if content is not None:
            yield ResultFile(path, content)


def _candidates(root: Path, oddities: Oddities) -> Iterator[Path]:
    if root.is_file():
        yield root
        return
    for directory, directories, files in os.walk(root):
        if RUN_FILE in files:
            oddities.note(_OURS, directory)
            directories.clear()
            continue
        directories.sort()
        for name in sorted(files):
            if name in {"result.json", "results.json"} or name.endswith("_results.json"):
                yield Path(directory, name)


def is_in_run_of_ours(path: Path, root: Path) -> bool:
    """Whether a file under `root` belongs to a run of tbeval, whose trials are harbor's as well."""
    between = (parent for parent in path.parents if parent.is_relative_to(root))
    return any((parent / RUN_FILE).exists() for parent in between)


def read_object(path: Path, oddities: Oddities) -> dict[str, Any] | None:
    """The JSON object in a file; None, and an oddity, if there is none to be had."""
    try:
        if path.stat().st_size > MOST_BYTES:
            oddities.note(_TOO_LARGE, path)
            return None
        data = path.read_bytes()
    except OSError as error:
        oddities.note(f"{_UNREADABLE} ({error.strerror})", path)
        return None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        oddities.note(_MENDED, path)
        text = data.decode("utf-8", errors="replace")
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        oddities.note(_UNREADABLE, path)
        return None
    if not isinstance(content, dict):
        oddities.note(_UNREADABLE, path)
        return None
    return content
