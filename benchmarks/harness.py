"""One harness does the work, in a process of its own, and tells what it took.

    python -m benchmarks.harness ours|harbor WORK.json OUT.json

Before it is measured, the process has run a trial of the same kind: imports (seconds of CPU time
with terminus-2) are paid by then.
"""

import argparse
import asyncio
import cProfile
import io
import json
import logging
import os
import pstats
import resource
import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path

import tbeval  # noqa: F401 - turns off what harbor and litellm send, before they are imported
from benchmarks.work import Work

CHECKPOINT = "bench"
_SANDBOX = "tbeval.sandboxes.bubblewrap:BubblewrapEnvironment"


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


Run = Callable[[Work, str, Path, Callable[[], None]], Awaitable[Path]]


async def ours(work: Work, base_url: str, results: Path, ended: Callable[[], None]) -> Path:
    """Everything that `tbeval eval` does between its options and its summary; the trials' place."""
    from rich.console import Console

    from tbeval.records.ledger import TrialRecord
    from tbeval.runs.progress import PlainProgress, Tally
    from tbeval.runs.session import Request, evaluate, find
    from tbeval.settings.checkpoint import Checkpoint
    from tbeval.settings.options import Choices, resolve
    from tbeval.settings.subsets import load_subset
    from tbeval.tasks.load import load_tasks

    class Listener(PlainProgress):
        def trial_ended(self, record: TrialRecord) -> None:
            super().trial_ended(record)
            ended()

    checkpoint = Checkpoint.model_validate(
        {"id": CHECKPOINT, "agent": work.agent}
        | ({"base_url": base_url, "served_model": "scripted"} if base_url else {})
    )
    options, _ = resolve(
        Choices(
            subset="bench",
            attempts=work.attempts,
            concurrency=work.concurrency,
            sandbox="bubblewrap",
            turn_limit=work.calls + 5,
        ),
        checkpoint,
    )
    subset = load_subset(str(work.directory / "bench.toml"))
    request = Request(
        checkpoint, options, subset, load_tasks(subset, select=work.tasks), results, new=True
    )
    finding = find(request)
    console = Console(file=io.StringIO())
    with Listener(console, Tally(planned=finding.run.planned)) as listener:
        return await evaluate(request, finding, listener) / "trials"


async def harbors(work: Work, base_url: str, results: Path, ended: Callable[[], None]) -> Path:
    """harbor's own Job, its own agents and verifier, in our sandbox; the trials' place."""
    from harbor.job import Job
    from harbor.models.job.config import JobConfig
    from harbor.models.trial.config import AgentConfig, EnvironmentConfig, TaskConfig

    os.environ["OPENAI_API_KEY"] = "none"
    agent = AgentConfig(name=work.agent)
    if base_url:
        agent = AgentConfig(
            name=work.agent,
            model_name="openai/scripted",
            kwargs={
                "api_base": base_url,
                "max_turns": work.calls + 5,
                "record_terminal_session": False,
                "model_info": {
                    "max_input_tokens": 32768,
                    "max_output_tokens": 8192,
                    "input_cost_per_token": 0.0,
                    "output_cost_per_token": 0.0,
                },
            },
        )
    config = JobConfig(
        job_name="job",
        jobs_dir=results,
        n_attempts=work.attempts,
        n_concurrent_trials=work.concurrency,
        quiet=True,
        skip_credential_checks=True,
        agents=[agent],
        environment=EnvironmentConfig(import_path=_SANDBOX, kwargs={"run_id": "bench"}),
        tasks=[TaskConfig(path=work.task_directory(task)) for task in work.tasks],
    )
    job = await Job.create(config)

    async def on_end(_event: object) -> None:
        ended()

    job.on_trial_ended(on_end)
    await job.run()
    return results / "job"


RUNS: dict[str, Run] = {"ours": ours, "harbor": harbors}


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


def _cpu(*whose: int) -> float:
    usages = [resource.getrusage(one) for one in whose]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def rss_mb() -> float:
    """Resident memory of this process, MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


async def measure(run: Run, work: Work, base_url: str, scratch: Path) -> Measured:
    """Warm up, do the work, and tell what it took."""
    first = replace(work, tasks=work.tasks[:1], attempts=1, concurrency=1)
    await run(first, base_url, scratch / "warm", lambda: None)
    memory: list[float] = []
    began = time.monotonic()
    own = _cpu(resource.RUSAGE_SELF)
    everything = _cpu(resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    trials = await run(work, base_url, scratch / "results", lambda: memory.append(rss_mb()))
    wall = time.monotonic() - began
    own = _cpu(resource.RUSAGE_SELF) - own
    everything = _cpu(resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN) - everything
    return Measured(wall, own, everything, tuple(memory), read_spans(trials), _unscored(trials))


def main() -> None:
    """Measure one harness."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("harness", choices=RUNS)
    parser.add_argument("work", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--base-url", default="")
    parser.add_argument("--scratch", type=Path, required=True)
    parser.add_argument("--profile", type=Path, help="write what cProfile saw here")
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    work = Work.load(options.work)
    profile = cProfile.Profile()
    if options.profile:
        profile.enable()
    measured = asyncio.run(measure(RUNS[options.harness], work, options.base_url, options.scratch))
    if options.profile:
        profile.disable()
        with options.profile.open("w") as file:
            pstats.Stats(profile, stream=file).sort_stats("tottime").print_stats(60)
    measured.save(options.out)


if __name__ == "__main__":
    main()
