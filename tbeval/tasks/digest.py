"""Content digests: two task directories with one digest are the same task."""

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

_CHUNK = 1024 * 1024
#: What tools leave behind in a task directory; it is no part of the task.
IGNORED = frozenset({"__pycache__", ".pytest_cache", ".DS_Store", ".git"})


def task_digest(directory: Path) -> str:
    """SHA-256 over the paths, modes and contents of a task directory, in hexadecimal.

    Of the mode only the executable bit counts, as in git: a checkout under another umask is
    the same task. Times and the order of directory entries do not count; links count by
    their target.

    Raises:
        OSError: Something cannot be read.
    """
    total = hashlib.sha256()
    for path in sorted(_walk(directory), key=os.fsencode):
        total.update(_entry(Path(directory, path), os.fsencode(path)))
    return total.hexdigest()


def subset_digest(digests: Mapping[str, str]) -> str:
    """SHA-256 over task ids and their digests, in whatever order they come."""
    lines = (f"{task} {digest}\n" for task, digest in sorted(digests.items()))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _walk(root: Path) -> Iterator[str]:
    """Files, links and empty directories, relative to the root."""
    for directory, subdirectories, files in os.walk(root, onerror=_raise):
        subdirectories[:] = [name for name in subdirectories if name not in IGNORED]
        links = [name for name in subdirectories if Path(directory, name).is_symlink()]
        kept = [name for name in files if name not in IGNORED]
        for name in (*links, *kept):
            yield os.path.relpath(Path(directory, name), root)
        if not subdirectories and not kept and directory != str(root):
            yield os.path.relpath(directory, root)


def _entry(path: Path, name: bytes) -> bytes:
    status = path.lstat()
    content = hashlib.sha256()
    if stat.S_ISLNK(status.st_mode):
        kind = b"link"
        content.update(os.fsencode(path.readlink()))
    elif stat.S_ISDIR(status.st_mode):
        kind = b"directory"
    elif stat.S_ISREG(status.st_mode):
        kind = b"program" if status.st_mode & stat.S_IXUSR else b"file"
        for chunk in _chunks(path):
            content.update(chunk)
    else:
        kind = b"other"
    fields = (kind, b"%d" % len(name), name, content.digest())
    return hashlib.sha256(b"\0".join(fields)).digest()


def _chunks(path: Path) -> Iterable[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            yield chunk


def _raise(error: OSError) -> None:
    raise error
