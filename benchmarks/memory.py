"""Memory of the process over a long run: it has to stay flat."""

import tempfile
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.measuring import measure, run_benchmark
from benchmarks.work import Work, make_tasks

#: More than this per 1,000 trials is no longer flat; a run has 198 of them, a long one 1,000.
BOUND_MB = 50.0
CONCURRENCY = 8
#: By then caches are full and pools have grown.
SETTLED = 100


def run(quick: bool) -> list[Figure]:  # noqa: FBT001 - what every benchmark is called with
    """1,000 trials without a model, and fewer (they cost more) with one."""
    factor = 5 if quick else 1
    return [
        *growth("nop", 1000 // factor, SETTLED // factor),
        *growth("terminus-2", 400 // factor, SETTLED // factor),
    ]


def growth(agent: str, trials: int, settled: int) -> list[Figure]:
    """Resident memory after some trials, and how it grew."""
    with tempfile.TemporaryDirectory(prefix="tbeval-bench-") as temporary:
        directory = Path(temporary)
        names = make_tasks(directory, trials // 10)
        measured = measure("ours", Work(names, directory, 10, CONCURRENCY, agent, calls=3))
    rss = measured.rss_mb
    marks = sorted({settled, len(rss) // 2, len(rss)})
    note = ", ".join(f"{rss[mark - 1]:.1f} MB after {mark}" for mark in marks)
    a_trial = slope(rss[settled - 1 :])
    return [
        Figure.now(
            "memory",
            f"growth over 1,000 {agent} trials",
            a_trial * 1000,
            "MB",
            bound=BOUND_MB,
            note=f"fitted from {len(rss)} trials at {CONCURRENCY} at once; {note}",
        )
    ]


def slope(values: tuple[float, ...]) -> float:
    """The least-squares line's rise from one value to the next."""
    middle = (len(values) - 1) / 2
    mean = sum(values) / len(values)
    covered = sum((index - middle) ** 2 for index in range(len(values)))
    rise = sum((index - middle) * (value - mean) for index, value in enumerate(values))
    return rise / covered if covered else 0.0


if __name__ == "__main__":
    run_benchmark(run, __doc__)
