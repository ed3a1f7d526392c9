"""Seeded kills in every phase of a run; what comes of it is what an undisturbed run gives.

Each seed is one story: a run is started, killed at a random moment of a phase that the seed
chose, started again, and so on, until its kills are spent; then it may end in peace. When a run is
finished before, another one begins. The phases hit are printed (`pytest -rP`).
"""

import asyncio
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tbeval.records.ledger import TrialRecord, read_ledger
from tbeval.records.progress import read_progress
from tbeval.sandboxes.state import state_dir
from tests.e2e.commands import as_json
from tests.e2e.test_hostile_agent import TASK_TOML, make_task
from tests.scripted import Reply, Request, ScriptedEndpoint

pytestmark = [pytest.mark.e2e, pytest.mark.sandbox, pytest.mark.timeout(900)]

TASKS = ("ash", "beech", "cedar", "elm")
ATTEMPTS = 3
PHASES = ("start", "agent", "verifier", "ledger", "shutdown")
TEST = """\
import time
from pathlib import Path

def test_it_is_there():
    time.sleep(0.6)
    assert Path("/app/answer.txt").read_text().strip() == "42"

def test_another():
    assert Path("/app/given.txt").exists()
"""
FORKED = Path(__file__).with_name("forked.py")


def model(request: Request) -> Reply:
    """Two turns that depend on task and attempt; a third of the cells is solved."""
    task = next(name for name in TASKS if f"«{name}»" in request.first)
    attempt = request.attempt_at(task, attempts=ATTEMPTS, calls=10)
    assert attempt is not None
    right = (TASKS.index(task) + attempt) % 3 == 0
    number = 42 if right else attempt
    turn = as_json(f"echo {number} > answer.txt\n", seconds=0.3)
    return Reply(turn if request.turn == 1 else as_json(done=True), delay_sec=0.2)


def prepare(directory: Path, endpoint: ScriptedEndpoint) -> None:
    for name in TASKS:
        make_task(directory / "tasks" / name, name)
        (directory / "tasks" / name / "task.toml").write_text(TASK_TOML)
        (directory / "tasks" / name / "tests" / "test_outputs.py").write_text(TEST)
    names = ", ".join(f'"{name}"' for name in TASKS)
    (directory / "trees.toml").write_text(
        f'name = "trees"\ntasks = [{names}]\n[source]\nkind = "directory"\npath = "tasks"\n'
    )
    (directory / "checkpoints.toml").write_text(
        f'[checkpoints.fake]\nbase_url = "{endpoint.base_url}"\nserved_model = "scripted"\n'
    )


ARGUMENTS = ("eval", "fake", "--subset", "trees.toml", "-n", ATTEMPTS, "-j", 3, "--no-preflight")


class Story:
    """One run after another, until the kills are spent."""

    def __init__(self, directory: Path, seed: int) -> None:
        self.directory = directory
        self.random = random.Random(seed)
        plan = [*PHASES, *PHASES, self.random.choice(PHASES)]
        self.random.shuffle(plan)
        self.plan = plan
        self.hit: list[str] = []
        self.marker = directory / "writing"

    @property
    def run(self) -> Path | None:
        found = sorted(self.directory.glob("results/fake/*/run.toml"))
        return found[-1].parent if found else None

    def records(self) -> tuple[TrialRecord, ...]:
        return read_ledger(self.run / "ledger.jsonl").records if self.run else ()

    def finished(self) -> bool:
        return len({r.cell for r in self.records() if r.outcome.scored}) == len(TASKS) * ATTEMPTS

    def step(self, tbeval: "Forked") -> None:
        """Start the run and kill it in the phase that is next, if it gets there."""
        phase = self.plan[0]
        tbeval.start(*ARGUMENTS, *(["--new"] if self.finished() else []))
        if self.reach(phase, tbeval):
            self.kill(phase, tbeval)
            self.hit.append(self.plan.pop(0))
        tbeval.wait()

    def reach(self, phase: str, tbeval: "Forked") -> bool:
        """Wait for a random moment of a phase; False if the run ended before."""
        after = self.random.uniform(0.0, 0.4)
        if phase == "start":
            seen = True
        elif phase == "ledger":
            seen, after = self.until(tbeval, self.marker.exists), after / 2
        else:
            inside = phase if phase == "verifier" else "agent"
            seen = self.until(tbeval, lambda: self.in_phase(tbeval, inside))
        time.sleep(after)
        return seen and tbeval.runs

    def in_phase(self, tbeval: "Forked", phase: str) -> bool:
        progress = read_progress(self.run) if self.run else None
        return (
            progress is not None
            and progress.process.pid == tbeval.pid
            and any(trial.phase == phase for trial in progress.running)
        )

    @staticmethod
    def until(tbeval: "Forked", condition: Callable[[], bool]) -> bool:
        deadline = time.monotonic() + 120
        while tbeval.runs:
            assert time.monotonic() < deadline, "waited in vain"
            if condition():
                return True
            time.sleep(0.005)
        return False

    def kill(self, phase: str, tbeval: "Forked") -> None:
        signals = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
        if phase == "shutdown":  # while it ends in order, the end comes anyway
            tbeval.send(self.random.choice(signals[:2]))
            time.sleep(self.random.uniform(0.0, 0.4))
        chosen = self.random.choice(signals) if phase in {"agent", "verifier"} else signal.SIGKILL
        tbeval.send(chosen)


class Forked:
    """tbeval in one process after the other; see `forked.py`."""

    def __init__(self, directory: Path, marker: Path) -> None:
        self.pid = 0
        self._server = subprocess.Popen(
            [sys.executable, FORKED, marker, directory / "output.txt"],
            cwd=directory,
            env={**os.environ, "PYTHONPATH": str(FORKED.parents[2])},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._say() == "ready"

    def _say(self, line: str = "") -> str:
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(line)
        self._server.stdin.flush()
        return self._server.stdout.readline().strip()

    def start(self, *arguments: object) -> None:
        self.pid = int(self._say(json.dumps(list(map(str, arguments))) + "\n"))

    @property
    def runs(self) -> bool:
        return Path(f"/proc/{self.pid}").exists()

    def send(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def wait(self) -> None:
        assert self._say() == "ended"

    def close(self) -> None:
        self._server.communicate(timeout=60)


Results = dict[tuple[str, int], tuple[str, float | None]]


def results_of(records: tuple[TrialRecord, ...]) -> Results:
    scored = [record for record in records if record.outcome.scored]
    assert len({record.cell for record in scored}) == len(scored), "a cell with two results"
    return {record.cell: (str(record.outcome), record.score) for record in scored}


def tell(directory: Path, seed: int) -> tuple[Story, Results]:
    """A run in peace, then the story with its kills, then the last run to its end."""
    story = Story(directory, seed)
    forked = Forked(directory, story.marker)
    forked.start(*ARGUMENTS)
    forked.wait()
    undisturbed = results_of(story.records())
    outcomes = Counter(outcome for outcome, _ in undisturbed.values())
    assert outcomes == {"solved": 4, "unsolved": 8}, (directory / "output.txt").read_text()
    while story.plan:
        story.step(forked)
    forked.start(*ARGUMENTS)
    forked.wait()
    forked.close()
    return story, undisturbed


def ran_after_their_result(run: Path) -> list[str]:
    """Trials of cells that had a result already."""
    tries = {
        r.cell: r.try_number for r in read_ledger(run / "ledger.jsonl").records if r.outcome.scored
    }
    found = []
    for path in (run / "trials").iterdir():
        task, attempt, number = path.name.split("-")[0].split(".")
        if int(number) > tries[task, int(attempt)]:
            found.append(path.name)
    return found


def left_behind(directory: Path, runs: list[str]) -> list[str]:
    """Processes, mounts, and records of sandboxes that belong to these runs."""
    records = [path.read_text() for path in (state_dir() / "sandboxes").glob("*")]
    found = [record for record in records if any(run in record for run in runs)]
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
            found += [line] if str(directory) in line else []
    mounts = Path("/proc/mounts").read_text().splitlines()
    return found + [line for line in mounts if str(directory) in line]


def left_in_the_end(directory: Path, runs: list[str]) -> list[str]:
    """What is left when those that were killed last have died."""
    until = time.monotonic() + 10
    while (found := left_behind(directory, runs)) and time.monotonic() < until:
        time.sleep(0.1)
    return found


@pytest.mark.parametrize("seed", [1, 2, 3, 4, 5])
async def test_after_any_kill_the_results_are_those_of_an_undisturbed_run(
    tmp_path: Path, seed: int
) -> None:
    async with ScriptedEndpoint(model) as endpoint:
        prepare(tmp_path, endpoint)
        story, undisturbed = await asyncio.to_thread(tell, tmp_path, seed)
    print(f"seed {seed}: {len(story.hit)} kills:", *story.hit)  # noqa: T201 - for pytest -rP
    assert all(story.hit.count(phase) >= 2 for phase in PHASES)
    runs = list((tmp_path / "results" / "fake").iterdir())
    for run in runs:
        assert results_of(read_ledger(run / "ledger.jsonl").records) == undisturbed
        assert ran_after_their_result(run) == []
    assert await asyncio.to_thread(left_in_the_end, tmp_path, [run.name for run in runs]) == []
