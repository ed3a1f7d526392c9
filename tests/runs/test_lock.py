"""One writer for a run: on this machine by the kernel's lock, on others by the heartbeat."""

import json
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from tbeval.runs import lock as module
from tbeval.runs.lock import (
    HEARTBEAT_FILE,
    LOCK_FILE,
    Heartbeat,
    RunLockedError,
    read_heartbeat,
    run_lock,
)

RACERS = 5
ELSEWHERE = Heartbeat("other", "other 1234", 77, "token", 5)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BEAT_SEC", 0.1)
    monkeypatch.setattr(module, "STILL_SEC", 0.4)


def write(directory: Path, beat: Heartbeat) -> None:
    (directory / HEARTBEAT_FILE).write_text(json.dumps(asdict(beat)))


@pytest.fixture
def living(tmp_path: Path) -> Iterator[None]:
    """A machine elsewhere that goes on writing."""
    ended = threading.Event()

    def beat() -> None:
        number = 5
        while not ended.wait(0.05):
            number += 1
            module._write(tmp_path, Heartbeat(**asdict(ELSEWHERE) | {"beat": number}))

    write(tmp_path, ELSEWHERE)
    thread = threading.Thread(target=beat)
    thread.start()
    yield
    ended.set()
    thread.join()


def test_a_run_has_one_writer_until_it_lets_go(tmp_path: Path) -> None:
    with (
        run_lock(tmp_path) as lock,
        pytest.raises(RunLockedError, match=rf"is being written by process {os.getpid()} on "),
        run_lock(tmp_path),
    ):
        pass
    assert lock.taken_over == ""
    assert not (tmp_path / HEARTBEAT_FILE).exists()
    with run_lock(tmp_path):
        assert (tmp_path / HEARTBEAT_FILE).exists()


def test_the_holder_beats(tmp_path: Path) -> None:
    with run_lock(tmp_path):
        first = read_heartbeat(tmp_path)
        until = time.monotonic() + 10
        while read_heartbeat(tmp_path) == first:
            assert time.monotonic() < until
            time.sleep(0.02)


def hold(directory: Path) -> None:
    with run_lock(directory):
        time.sleep(60)


def test_who_was_killed_here_holds_nothing(tmp_path: Path) -> None:
    process = multiprocessing.get_context("spawn").Process(target=hold, args=(tmp_path,))
    process.start()
    until = time.monotonic() + 30
    while read_heartbeat(tmp_path) is None:
        assert time.monotonic() < until
        time.sleep(0.02)
    with pytest.raises(RunLockedError, match=f"process {process.pid}"), run_lock(tmp_path):
        pass
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    with run_lock(tmp_path) as lock:
        assert lock.taken_over == "", "it was on this machine: nobody has to be waited for"


@pytest.mark.usefixtures("living")
def test_a_machine_that_lives_keeps_its_run(tmp_path: Path) -> None:
    with pytest.raises(RunLockedError, match="process 77 on other"), run_lock(tmp_path):
        pass


@pytest.mark.parametrize("kernel_lock_stays", [False, True])
def test_the_run_of_a_dead_machine_is_taken_over(tmp_path: Path, kernel_lock_stays: bool) -> None:
    notes: list[str] = []
    with (tmp_path / LOCK_FILE).open("a+") as stale:
        if kernel_lock_stays:
            assert module._lock(stale)
        write(tmp_path, ELSEWHERE)
        with run_lock(tmp_path, notes.append) as lock:
            lock.check()
            assert lock.taken_over == "process 77 on other"
            assert "whether it lives" in notes[0]
            with pytest.raises(RunLockedError, match=f"process {os.getpid()}"), run_lock(tmp_path):
                pass


def test_who_was_away_and_lost_its_run_writes_nothing_more(tmp_path: Path) -> None:
    with run_lock(tmp_path) as lock:
        lock.check()
        (tmp_path / LOCK_FILE).rename(tmp_path / "lock.dead-1")
        (tmp_path / HEARTBEAT_FILE).unlink()
        with run_lock(tmp_path) as other:
            other.check()
            with pytest.raises(RunLockedError, match=r"was taken over by process \d+ on"):
                lock.check()


def test_of_two_that_saw_no_lock_one_is_told(tmp_path: Path) -> None:
    """Machines that do not see each other's locks: the last to say so has the run."""
    with run_lock(tmp_path) as lock:
        write(tmp_path, ELSEWHERE)
        with pytest.raises(RunLockedError, match="taken over by process 77 on other"):
            lock.check()
    assert read_heartbeat(tmp_path) == ELSEWHERE, "what is not ours is left alone"


def race(directory: Path, start: Any, winners: Any, losers: Any) -> None:
    module.BEAT_SEC, module.STILL_SEC = 0.1, 0.4
    start.wait()
    try:
        with run_lock(directory):
            winners.append(os.getpid())
            until = time.monotonic() + 60
            while len(winners) + len(losers) < RACERS and time.monotonic() < until:
                time.sleep(0.02)
    except RunLockedError:
        losers.append(os.getpid())


def test_of_many_takers_one_wins(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    with (tmp_path / LOCK_FILE).open("a+") as stale, context.Manager() as manager:
        assert module._lock(stale)
        write(tmp_path, ELSEWHERE)
        start, winners, losers = manager.Event(), manager.list(), manager.list()
        told = (tmp_path, start, winners, losers)
        racers = [context.Process(target=race, args=told) for _ in range(RACERS)]
        for racer in racers:
            racer.start()
        start.set()
        for racer in racers:
            racer.join()
        assert (len(winners), len(losers)) == (1, RACERS - 1)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"host": 1}'])
def test_a_heartbeat_that_cannot_be_read_is_none(tmp_path: Path, content: str) -> None:
    (tmp_path / HEARTBEAT_FILE).write_text(content)
    with run_lock(tmp_path) as lock:
        lock.check()
