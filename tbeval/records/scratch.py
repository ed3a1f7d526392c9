"""Directories that are gone when their process is: at its end, or by `tbeval clean`."""

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tbeval.records.process import ProcessId, pid_namespace, process_id

_NAME = re.compile(r"tbeval-(?P<namespace>\d+)-(?P<pid>\d+)-(?P<started>\d+)-.+")


@contextmanager
def scratch_directory() -> Iterator[Path]:
    """An empty directory that goes with the context. Its name says whose it is."""
    owner = process_id(os.getpid())
    prefix = f"tbeval-{pid_namespace()}-{owner.pid}-{owner.started}-"
    with tempfile.TemporaryDirectory(prefix=prefix) as directory:
        yield Path(directory)


def dead_scratch() -> tuple[Path, ...]:
    """Those of this user whose process was killed."""
    return tuple(path for path in _mine() if not _owner_may_live(path))


def _mine() -> Iterator[Path]:
    for path in sorted(Path(tempfile.gettempdir()).glob("tbeval-*-*-*-*")):
        if path.is_dir() and not path.is_symlink() and path.lstat().st_uid == os.geteuid():
            yield path


def _owner_may_live(path: Path) -> bool:
    found = _NAME.fullmatch(path.name)
    if found is None or int(found["namespace"]) != pid_namespace():
        return True  # not ours, or of processes that cannot be seen from here
    return ProcessId(pid=int(found["pid"]), started=int(found["started"])).alive
