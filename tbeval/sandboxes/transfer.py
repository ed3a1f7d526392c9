"""Files in and out of a sandbox, as tar streams.

`tar` runs inside for either direction, so that no path inside is ever followed by the host.
What comes out is hostile: only plain files and directories are extracted, one bad member does not
lose the others, and the total is bounded.
"""

import contextlib
import io
import shutil
import stat
import tarfile
import time
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import IO

#: Bytes of one download; more is cut off.
MOST_DOWNLOAD = 256 * 1024 * 1024
_MOST_MEMBERS = 50_000
_MOST_DEPTH = 64
_DAMAGE = (tarfile.TarError, EOFError, OSError, ValueError)


def pack(
    target: IO[bytes],
    source: Path,
    *,
    prefix: str = ".",
    skip: Callable[[PurePosixPath], bool] = lambda _: False,
) -> None:
    """Write a directory's contents (or one file) as a tar stream owned by root.

    Args:
        target: Where to write.
        source: A directory, whose contents are packed, or a file.
        prefix: What stands before each name; for a file, its whole name.
        skip: Which paths, relative to the directory, are left out.
    """
    with tarfile.open(fileobj=target, mode="w|", format=tarfile.GNU_FORMAT) as archive:
        add(archive, source, prefix=prefix, skip=skip)


def add(
    archive: tarfile.TarFile,
    source: Path,
    *,
    prefix: str = ".",
    skip: Callable[[PurePosixPath], bool] = lambda _: False,
) -> None:
    """The same, into an archive that may hold more."""

    def owned(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
        relative = PurePosixPath(member.name).relative_to(PurePosixPath(prefix.strip("/")))
        if relative.parts and skip(relative):
            return None
        if not relative.parts and member.isdir():
            member.mode = 0o755  # the directory was made by us, perhaps with mkdtemp
        member.uid = member.gid = 0
        member.uname = member.gname = "root"
        return member

    archive.add(source, arcname=prefix, filter=owned)


def add_file(archive: tarfile.TarFile, name: str, data: bytes, mode: int = 0o644) -> None:
    """Add a file of root's with these contents."""
    member = tarfile.TarInfo(name)
    member.mtime = time.time()
    member.size = len(data)
    member.mode = mode
    archive.addfile(member, io.BytesIO(data))


def add_directory(archive: tarfile.TarFile, name: str, mode: int = 0o755) -> None:
    """Add a directory of root's."""
    member = tarfile.TarInfo(name)
    member.type = tarfile.DIRTYPE
    member.mtime = time.time()
    member.mode = mode
    archive.addfile(member)


def unpack(source: IO[bytes], target: Path) -> int:
    """Extract a hostile tar stream below a directory of the host.

    Only plain files and directories are taken: a link could lead out, a device or FIFO could hang
    a reader, a sparse file could be as large as it claims. Absolute names, `..`, what cannot be
    created, and everything after a damaged place or beyond a number of members is left out too.

    Returns:
        How many members were left out (at least; a cut-off end counts as one).
    """
    skipped = 0
    target.mkdir(parents=True, exist_ok=True)
    try:
        with tarfile.open(fileobj=source, mode="r|") as archive:
            for number, member in enumerate(archive):
                if number >= _MOST_MEMBERS:
                    return skipped + 1
                if not _extract(archive, member, target):
                    skipped += 1
    except _DAMAGE:
        skipped += 1
    return skipped


def _extract(archive: tarfile.TarFile, member: tarfile.TarInfo, target: Path) -> bool:
    name = PurePosixPath(member.name)
    if name.is_absolute() or ".." in name.parts or len(name.parts) > _MOST_DEPTH:
        return False
    path = target / name
    try:
        if member.isdir():
            path.mkdir(parents=True, exist_ok=True)
            return True
        content = archive.extractfile(member) if member.isreg() and not member.issparse() else None
        if content is None:
            return False
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        with path.open("xb") as file:
            shutil.copyfileobj(content, file)
        path.chmod(0o755 if member.mode & stat.S_IXUSR else 0o644)
    except OSError:
        return False
    return True


def unpack_file(source: IO[bytes], target: Path) -> bool:
    """Extract the one plain file of a tar stream to a path of the host's.

    Returns:
        Whether there was one.
    """
    files = read_files(source)
    for content in files.values():
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    return bool(files)


def read_files(source: IO[bytes]) -> dict[str, bytes]:
    """The plain files of a tar stream, by relative name; a cut-off end is left out."""
    files: dict[str, bytes] = {}
    with contextlib.suppress(*_DAMAGE), tarfile.open(fileobj=source, mode="r|") as archive:
        for member in archive:
            content = archive.extractfile(member) if member.isreg() else None
            if content is not None and not member.issparse():
                files[str(PurePosixPath(member.name))] = content.read()
    return files
