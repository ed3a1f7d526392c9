"""A server that is gone for long stops the run; one that comes back does not."""

import asyncio
import os
import signal
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tbeval.models.endpoint import EndpointError
from tbeval.records.ledger import LedgerWriter
from tbeval.records.outcome import Outcome
from tbeval.runs.plan import plan_cells
from tbeval.runs.scheduler import Scheduler
from tbeval.runs.stopping import interrupts, while_answering
from tests.made_up_runs import make_task
from tests.runs.test_scheduler import Listener, Trials, scheduler


@dataclass
class Endpoints:
    """What a gateway would tell, one value per look; the last one stays."""

    told: list[float]
    down_reason: str = "connection refused"
    looks: int = field(default=0)

    @property
    def all_down_seconds(self) -> float:
        self.looks += 1
        return self.told[min(self.looks, len(self.told)) - 1]


async def follow(path: Path, told: list[float]) -> tuple[Listener, Scheduler, Endpoints]:
    """Two cells whose trials end once the endpoints were looked at often enough."""
    trials, endpoints = Trials(), Endpoints(told)
    trials.release = asyncio.Event()
    with LedgerWriter(path) as writer:
        schedule, listener = scheduler(path, trials, writer)
        watcher: Any = while_answering(
            endpoints, schedule, listener, down_sec=300, noted_sec=30, look_sec=0.001
        )
        async with watcher:
            running = asyncio.create_task(
                schedule.run(plan_cells([make_task("a"), make_task("b")], 1), 2)
            )
            while endpoints.looks < len(told) + 3 and not schedule.stopping:  # noqa: ASYNC110
                await asyncio.sleep(0.001)
            trials.release.set()
            await running
    return listener, schedule, endpoints


async def test_gone_for_long_stops_the_run_and_costs_no_try(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    with pytest.raises(EndpointError, match=r"down for 301 s: connection refused.*same command"):
        await follow(path, [0, 20, 31, 301])
    from tbeval.records.ledger import read_ledger

    assert {record.outcome for record in read_ledger(path).records} == {Outcome.CANCELLED}


async def test_back_again_is_said_and_the_run_goes_on(tmp_path: Path) -> None:
    listener, schedule, _ = await follow(tmp_path / "ledger.jsonl", [0, 31, 200, 299, 0, 0, 40, 0])
    assert not schedule.stopping
    assert [record.outcome for record in listener.ended] == [Outcome.UNSOLVED] * 2
    said = ["is down (connection refused): trials wait", "answers again"] * 2
    assert len(listener.notes) == len(said)
    assert all(words in note for words, note in zip(said, listener.notes, strict=True))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
async def test_each_interrupt_stops_in_order(tmp_path: Path, number: signal.Signals) -> None:
    path, trials = tmp_path / "ledger.jsonl", Trials()
    trials.release = asyncio.Event()
    with LedgerWriter(path) as writer:
        schedule, listener = scheduler(path, trials, writer)
        with interrupts(listener) as stop:
            stop.scheduler = schedule
            running = asyncio.create_task(schedule.run(plan_cells([make_task("a")], 2), 2))
            await trials.two_run.wait()
            os.kill(os.getpid(), number)
            await running
    assert [record.outcome for record in listener.ended] == [Outcome.CANCELLED] * 2
    assert "stopping" in listener.notes[0]


async def test_a_second_interrupt_puts_the_terminal_right_and_ends_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[object] = []
    ended = asyncio.Event()

    def exit_at_once(code: int) -> None:
        done.append(code)
        ended.set()

    monkeypatch.setattr(os, "_exit", exit_at_once)
    with LedgerWriter(tmp_path / "ledger.jsonl") as writer:
        schedule, listener = scheduler(tmp_path / "ledger.jsonl", Trials(), writer)
        with interrupts(listener, lambda: done.append("terminal")) as stop:
            stop.scheduler = schedule
            os.kill(os.getpid(), signal.SIGINT)
            while not listener.notes:  # noqa: ASYNC110 - the loop's handler runs in its next turn
                await asyncio.sleep(0)
            os.kill(os.getpid(), signal.SIGTERM)
            await ended.wait()
    assert done == ["terminal", 130]
