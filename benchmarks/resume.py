"""How long the same command takes once a run of 1,000 cells is finished, or nearly so."""

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks.figures import Figure
from benchmarks.measuring import REPOSITORY, BenchmarkError, run_benchmark
from benchmarks.usage import children_cpu_sec
from benchmarks.work import make_tasks
from tbeval.runs.asked import find
from tbeval.runs.finding import Request
from tbeval.settings.checkpoint import Checkpoint
from tbeval.settings.options import Choices, resolve
from tbeval.settings.subsets import load_subset
from tbeval.tasks.load import load_tasks
from tests.made_up_runs import make_trial, write_made_up

BOUND_SEC = 2.0
TASKS, ATTEMPTS = 100, 10


class Taken(NamedTuple):
    """What one command took, seconds."""

    wall_sec: float
    cpu_sec: float


def run(quick: bool) -> list[Figure]:  # noqa: FBT001 - what every benchmark is called with
    """A finished run, and one whose last cell is open."""
    times = 2 if quick else 5
    cells = TASKS * ATTEMPTS
    return [
        _figure(f"a finished run of {cells:,} cells", finished(0, times), BOUND_SEC),
        _figure(f"one nop trial that {cells:,} cells still want", finished(1, 1), None),
    ]


def finished(still_open: int, times: int) -> list[Taken]:
    """What the whole command took, for a run with so many cells open."""
    with tempfile.TemporaryDirectory(prefix="tbeval-bench-") as temporary:
        directory = Path(temporary)
        tasks = make_tasks(directory, TASKS)
        _make_run(directory, tasks, still_open)
        taken = []
        for _ in range(times):
            began, used = time.monotonic(), children_cpu_sec()
            done = subprocess.run(
                _command(), cwd=directory, capture_output=True, text=True, check=False
            )
            taken.append(Taken(time.monotonic() - began, children_cpu_sec() - used))
            if done.returncode or ("is finished" in done.stdout) == bool(still_open):
                raise BenchmarkError(
                    f"tbeval eval did not find the run: {done.stdout}{done.stderr}"
                )
    return taken


def _command() -> list[str]:
    code = f"import sys; sys.path.insert(0, {str(REPOSITORY)!r}); "
    code += "from tbeval.cli.main import main; main()"
    options = ("--subset", "bench.toml", "-n", str(ATTEMPTS), "--no-preflight")
    return [sys.executable, "-c", code, "eval", "nop", *options]


def _make_run(directory: Path, tasks: tuple[str, ...], still_open: int) -> None:
    """Write the run that the command is going to look for, and its trials' directories."""
    checkpoint = Checkpoint(id="nop", agent="nop")
    options, _ = resolve(Choices(subset="bench", attempts=ATTEMPTS), checkpoint)
    subset = load_subset(str(directory / "bench.toml"))
    results = directory / "results"
    found = find(Request(checkpoint, options, subset, load_tasks(subset), results))
    cells = [(task, attempt) for attempt in range(1, ATTEMPTS + 1) for task in tasks]
    trials = [make_trial(task, attempt, "unsolved", span=(0, 60)) for task, attempt in cells]
    run = write_made_up(results, found.run, trials[: len(trials) - still_open])
    for trial in trials[: len(trials) - still_open]:
        (run / "trials" / trial.trial_id).mkdir(parents=True)


def _figure(what: str, taken: list[Taken], bound: float | None) -> Figure:
    note = (
        "whole commands: "
        + " / ".join(f"{one.wall_sec:.2f}" for one in taken)
        + f" s, of which {median(one.cpu_sec for one in taken):.2f} s of CPU time"
    )
    wall = median(one.wall_sec for one in taken)
    return Figure.now("resume", what, wall, "s", bound=bound, note=note)


if __name__ == "__main__":
    run_benchmark(run, __doc__)
