"""How much lies below a directory: what others write to the same disk does not count."""

from pathlib import Path


def bytes_below(*directories: Path) -> int:
    total = 0
    for directory in directories:
        for path in directory.rglob("*"):
            try:
                total += path.lstat().st_size
            except OSError:
                continue  # gone meanwhile
    return total
