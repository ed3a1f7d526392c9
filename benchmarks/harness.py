"""One harness does the work, in a process of its own, and tells what it took.

    python -m benchmarks.harness ours|harbor WORK.json OUT.json

Before it is measured, the process has run a trial of the same kind: imports (seconds of CPU time
with terminus-2) are paid by then.
"""

import argparse
import asyncio
import cProfile
import importlib
import json
import logging
import pstats
import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path

from benchmarks.usage import all_cpu_sec, own_cpu_sec, rss_mb
from benchmarks.work import Work


@dataclass(frozen=True)
class Span:
    """When a trial ran: seconds after some moment, the same for all trials of a measurement."""

    task: str
    began: float
    ended: float

    @property
    def seconds(self) -> float:
        """How long it ran."""
        return self.ended - self.began


@dataclass(frozen=True)
class Measured:
    """What the work took.

    Attributes:
        wall_sec: From the call to its return.
        own_cpu_sec: User and system time of the process.
        all_cpu_sec: That, and of all its children that have ended.
        rss_mb: Resident memory after each trial.
        spans: Of all trials, by harbor's own clock, which both harnesses keep.
        unscored: Trials without a verdict; there should be none.
    """

    wall_sec: float
    own_cpu_sec: float
    all_cpu_sec: float
    rss_mb: tuple[float, ...]
    spans: tuple[Span, ...]
    unscored: int

    @property
    def makespan(self) -> float:
        """Seconds from the first trial's begin to the last one's end."""
        return max(span.ended for span in self.spans) - min(span.began for span in self.spans)

    def lower_bound(self, concurrency: int) -> float:
        """No schedule of these trials can be shorter than this (seconds)."""
        times = [span.seconds for span in self.spans]
        return max(*times, sum(times) / concurrency)

    def save(self, path: Path) -> None:
        """Write it as JSON."""
        path.write_text(json.dumps(asdict(self)))

    @classmethod
    def load(cls, path: Path) -> "Measured":
        """Read it."""
        found = json.loads(path.read_text())
        spans = tuple(Span(**span) for span in found["spans"])
        return cls(**found | {"spans": spans, "rss_mb": tuple(found["rss_mb"])})


#: Work, the model's address, where results go, who hears of each trial's end → the trials' place.
Run = Callable[[Work, str, Path, Callable[[], None]], Awaitable[Path]]

#: Each imports what its harness needs, and nothing of the other's.
MODULES = {"ours": "benchmarks.ours", "harbor": "benchmarks.harbors"}


def read_spans(trials: Path) -> tuple[Span, ...]:
    """When each trial ran, from the result.json that harbor's Trial leaves for both."""
    found = []
    for path in sorted(trials.glob("*/result.json")):
        result = json.loads(path.read_text())
        began, ended = (
            datetime.fromisoformat(result[key]).timestamp() for key in ("started_at", "finished_at")
        )
        found.append(Span(result["task_name"].rpartition("/")[2], began, ended))
    first = min((span.began for span in found), default=0.0)
    return tuple(Span(span.task, span.began - first, span.ended - first) for span in found)


def _unscored(trials: Path) -> int:
    """Trials without a verdict, or that ended in an error, by harbor's result.json."""
    results = [json.loads(path.read_text()) for path in trials.glob("*/result.json")]
    return sum(not one.get("verifier_result") or bool(one["exception_info"]) for one in results)


async def measure(run: Run, work: Work, base_url: str, scratch: Path) -> Measured:
    """Warm up, do the work, and tell what it took."""
    first = replace(work, tasks=work.tasks[:1], attempts=1, concurrency=1)
    await run(first, base_url, scratch / "warm", lambda: None)
    memory: list[float] = []
    began = time.monotonic()
    own, everything = own_cpu_sec(), all_cpu_sec()
    trials = await run(work, base_url, scratch / "results", lambda: memory.append(rss_mb()))
    wall = time.monotonic() - began
    own, everything = own_cpu_sec() - own, all_cpu_sec() - everything
    return Measured(wall, own, everything, tuple(memory), read_spans(trials), _unscored(trials))


def main() -> None:
    """Measure one harness."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("harness", choices=MODULES)
    parser.add_argument("work", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--base-url", default="")
    parser.add_argument("--scratch", type=Path, required=True)
    parser.add_argument("--profile", type=Path, help="write what cProfile saw here")
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    work = Work.load(options.work)
    run = importlib.import_module(MODULES[options.harness]).run
    profile = cProfile.Profile()
    if options.profile:
        profile.enable()
    measured = asyncio.run(measure(run, work, options.base_url, options.scratch))
    if options.profile:
        profile.disable()
        with options.profile.open("w") as file:
            pstats.Stats(profile, stream=file).sort_stats("tottime").print_stats(60)
    measured.save(options.out)


if __name__ == "__main__":
    main()
