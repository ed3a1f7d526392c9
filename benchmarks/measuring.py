"""Have a harness do the work: a scripted endpoint and the harness, each a process of its own."""

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from benchmarks.figures import Figure, show, write
from benchmarks.harness import Measured
from benchmarks.work import Work

REPOSITORY = Path(__file__).parents[1]
_SERVER = REPOSITORY / "tests" / "scripted.py"
_MODEL = Path(__file__).with_name("scripted_model.py")


class BenchmarkError(Exception):
    """What was measured is not what was to be measured."""


@contextlib.contextmanager
def endpoint(work_file: Path) -> Iterator[str]:
    """The scripted model for some work; yields its address."""
    command = [sys.executable, str(_SERVER), "--script", str(_MODEL)]
    environment = {**os.environ, "BENCH_WORK": str(work_file)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def measure(
    harness: str,
    work: Work,
    *,
    history: Callable[[Path], None] = lambda _results: None,
    profile: Path | None = None,
) -> Measured:
    """What the work takes one harness.

    Args:
        harness: `ours` or `harbor`.
        work: What is to be done; its task directories exist.
        history: Writes earlier runs into the results directory that it is given.
        profile: cProfile's table goes there.

    Raises:
        BenchmarkError: The harness failed, or trials have no verdict.
    """
    with (
        tempfile.TemporaryDirectory(prefix="tbeval-bench-") as temporary,
        contextlib.ExitStack() as stack,
    ):
        scratch = Path(temporary)
        history(scratch / "results")
        work_file, out = scratch / "work.json", scratch / "out.json"
        work.save(work_file)
        command = [sys.executable, "-m", "benchmarks.harness", harness, str(work_file)]
        command += [str(out), "--scratch", str(scratch)]
        if work.agent != "nop":
            command += ["--base-url", stack.enter_context(endpoint(work_file))]
        if profile:
            command += ["--profile", str(profile)]
        done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
        if done.returncode:
            raise BenchmarkError(f"{harness} failed: {done.stderr[-3000:]}")
        measured = Measured.load(out)
    wanted = len(work.tasks) * work.attempts
    if len(measured.spans) != wanted or measured.unscored:
        raise BenchmarkError(
            f"{harness}: {len(measured.spans)} trials of {wanted}, {measured.unscored} unscored"
        )
    return measured


def run_benchmark(run: Callable[[bool], Sequence[Figure]], what: str | None) -> None:
    """The command line of a benchmark: run it, print its figures, keep them if asked to."""
    parser = argparse.ArgumentParser(description=what)
    parser.add_argument("--quick", action="store_true", help="less work, wider scatter")
    parser.add_argument("--out", type=Path, help="keep the figures here, as JSON lines")
    options = parser.parse_args()
    figures = run(options.quick)
    print(show(figures), flush=True)
    if options.out:
        write(options.out, figures)
