"""Records of model traffic survive what happens to the process and the disk."""

import json
import random
from pathlib import Path

import pytest

from tbeval.models.gateway.record import RecordWriter
from tbeval.records.model_record import read_record


def entries(count: int) -> list[dict[str, object]]:
    noise = random.Random(1)
    return [{"call": n, "text": noise.randbytes(40).hex()} for n in range(count)]


def written(path: Path, count: int) -> list[int]:
    """Write entries; returns the file's size after each."""
    writer = RecordWriter(path)
    sizes = []
    for entry in entries(count):
        writer.write(json.dumps(entry).encode())
        sizes.append(path.stat().st_size)  # on disk at once: nothing waits in a buffer
    writer.close()
    return sizes


def test_record_comes_back(tmp_path: Path) -> None:
    written(tmp_path / "r", 300)
    assert list(read_record(tmp_path / "r")) == entries(300)


def test_cut_anywhere_it_holds_all_that_was_complete(tmp_path: Path) -> None:
    sizes = written(tmp_path / "r", 4)
    data = (tmp_path / "r").read_bytes()
    for size in range(len(data)):
        (tmp_path / "cut").write_bytes(data[:size])
        whole = sum(end <= size for end in sizes)
        found = list(read_record(tmp_path / "cut"))
        assert found == entries(4)[:whole]


def test_garbage_at_the_end_is_left_out(tmp_path: Path) -> None:
    written(tmp_path / "r", 3)
    with (tmp_path / "r").open("ab") as file:
        file.write(b"\0" * 50)
    assert list(read_record(tmp_path / "r")) == entries(3)


def test_record_is_never_overwritten(tmp_path: Path) -> None:
    written(tmp_path / "r", 1)
    with pytest.raises(FileExistsError):
        RecordWriter(tmp_path / "r")
