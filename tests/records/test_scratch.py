import multiprocessing
import os
import signal
import tempfile
import time
from pathlib import Path

import pytest

from tbeval.records.process import pid_namespace, process_id
from tbeval.records.scratch import dead_scratch, scratch_directory


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def hold(temporary: str) -> None:
    tempfile.tempdir = temporary
    with scratch_directory() as directory:
        (directory / "held").touch()
        time.sleep(60)


def test_what_a_killed_process_left_is_known_by_its_name(tmp_path: Path) -> None:
    process = multiprocessing.get_context("spawn").Process(target=hold, args=(str(tmp_path),))
    process.start()
    until = time.monotonic() + 30
    while not list(tmp_path.glob("*/held")):
        assert time.monotonic() < until
        time.sleep(0.02)
    assert dead_scratch() == ()
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    with scratch_directory() as mine:
        assert dead_scratch() == (next(tmp_path.glob("*/held")).parent,)
    assert not mine.exists()


def test_what_is_of_others_is_left_alone(tmp_path: Path) -> None:
    here, me = pid_namespace(), process_id(os.getpid())
    for name in (
        "tbeval-x-1-1-a",
        f"tbeval-{here + 1}-1-1-a",
        f"tbeval-{here}-{me.pid}-{me.started}-a",
        "tbeval-notes",
    ):
        (tmp_path / name).mkdir()
    (tmp_path / f"tbeval-{here}-1-1-file").touch()
    (tmp_path / f"tbeval-{here}-1-1-link").symlink_to(tmp_path / "tbeval-notes")
    assert dead_scratch() == ()
    (tmp_path / f"tbeval-{here}-1-1-dead").mkdir()
    assert [path.name for path in dead_scratch()] == [f"tbeval-{here}-1-1-dead"]
