from datetime import UTC, datetime
from pathlib import Path

import pytest

from tbeval.records.progress import (
    PROGRESS_FILE,
    Process,
    RunningTrial,
    RunProgress,
    read_progress,
    write_progress,
)

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def test_it_is_read_as_it_was_written_and_nothing_else_is_left(tmp_path: Path) -> None:
    trial = RunningTrial(
        trial_id="a.1.2-r", task="a", attempt=1, try_number=2, began=NOW, entered=NOW, calls=3
    )
    progress = RunProgress(process=Process.this(), written=NOW, concurrency=2, running=(trial,))
    write_progress(tmp_path, progress)
    write_progress(tmp_path, progress)
    assert read_progress(tmp_path) == progress
    assert [path.name for path in tmp_path.iterdir()] == [PROGRESS_FILE]


@pytest.mark.parametrize("content", [None, b"", b"{", b"\xff", b'{"schema_version": 99}'])
def test_what_cannot_be_read_says_nothing(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / PROGRESS_FILE).write_bytes(content)
    assert read_progress(tmp_path) is None


def test_only_a_process_of_this_place_is_surely_dead() -> None:
    this = Process.this()
    assert not this.surely_dead
    assert this.model_copy(update={"pid": 2**22 + 1}).surely_dead
    assert not Process(pid=2**22 + 1, place="elsewhere").surely_dead
