"""How long a run takes, against the shortest schedule of its trials and against harbor's Job."""

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median

from benchmarks.figures import Figure
from benchmarks.harness import Measured
from benchmarks.measuring import measure, run_benchmark
from benchmarks.work import CHECKPOINT, Work, durations, make_tasks
from tests.made_up_runs import make_run, make_trial, write_made_up

TASKS, ATTEMPTS = 66, 3
CONCURRENCIES = (8, 32)
BOUND = 1.05

History = Callable[[Path], None]


def run(quick: bool) -> list[Figure]:  # noqa: FBT001 - what every benchmark is called with
    """All histories at both concurrencies, and harbor's Job.

    A run takes about 75 s at 8 trials at once and 120 s at 32, where two cores would be busy with
    the trials of less; what is scaled down is the model's time, not the harness's.
    """
    if quick:
        return one_concurrency(CONCURRENCIES[0], 30)
    return one_concurrency(CONCURRENCIES[0], 75) + one_concurrency(CONCURRENCIES[1], 120)


def one_concurrency(concurrency: int, bound_sec: float) -> list[Figure]:
    """The figures for so many trials at once."""
    with tempfile.TemporaryDirectory(prefix="tbeval-bench-") as temporary:
        directory = Path(temporary)
        names = make_tasks(directory, TASKS)
        seconds = durations(names, ATTEMPTS, bound_sec=bound_sec, concurrency=concurrency)
        work = Work(names, directory, ATTEMPTS, concurrency, "terminus-2", seconds)
        usual = {task: median(times) for task, times in seconds.items()}
        harbors = measure("harbor", work)
        runs = {
            name: measure("ours", work, history=history)
            for name, history in (
                ("no history", _nothing),
                ("right history", _told(usual)),
                ("misleading history", _told(misleading(usual))),
            )
        }
    figures = []
    for name, measured in runs.items():
        what = f"{concurrency} at once, {name}"
        bound = BOUND if name == "right history" else None
        figures += [
            _against_bound(what, measured, concurrency, bound),
            _against_harbor(what, measured, harbors),
        ]
    return [*figures, _against_bound(f"{concurrency} at once, harbor's Job", harbors, concurrency)]


def misleading(usual: Mapping[str, float]) -> dict[str, float]:
    """A history that has everything the wrong way round: the longest task was the shortest."""
    by_length = sorted(usual, key=lambda task: usual[task])
    lengths = sorted(usual.values(), reverse=True)
    return dict(zip(by_length, lengths, strict=True))


def _nothing(_results: Path) -> None:
    """No earlier run."""


def _told(usual: Mapping[str, float]) -> History:
    """An earlier run of the checkpoint in which each task took so long."""

    def write(results: Path) -> None:
        run = make_run(list(usual), 1, checkpoint=CHECKPOINT)
        trials = [
            make_trial(task, 1, "unsolved", span=(0, seconds)) for task, seconds in usual.items()
        ]
        write_made_up(results, run, trials)

    return write


def _against_bound(
    what: str, measured: Measured, concurrency: int, bound: float | None = None
) -> Figure:
    least = measured.lower_bound(concurrency)
    longest = max(span.seconds for span in measured.spans)
    note = (
        f"{measured.makespan:.1f} s; at best {least:.1f} s, the longest trial {longest:.1f} s; "
        f"the whole command {measured.wall_sec:.1f} s"
    )
    ratio = measured.makespan / least
    return Figure.now("makespan", f"{what}, to the lower bound", ratio, "×", bound=bound, note=note)


def _against_harbor(what: str, measured: Measured, harbors: Measured) -> Figure:
    note = f"{measured.makespan:.1f} s against {harbors.makespan:.1f} s"
    ratio = measured.makespan / harbors.makespan
    return Figure.now("makespan", f"{what}, to harbor's Job", ratio, "×", note=note)


if __name__ == "__main__":
    run_benchmark(run, __doc__)
