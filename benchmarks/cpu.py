"""CPU time of the harness, as a ratio to harbor's Job on the same work in the same sandbox."""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

from benchmarks.figures import Figure
from benchmarks.harness import Measured
from benchmarks.measuring import measure, run_benchmark
from benchmarks.work import Work, make_tasks

NOP_BOUND = 1.0
TURN_BOUND = 1.25
FEW_CALLS, MANY_CALLS = 3, 23


def run(quick: bool) -> list[Figure]:  # noqa: FBT001 - what every benchmark is called with
    """A nop trial, and a model turn (the difference between long and short trials)."""
    rounds = 1 if quick else 3
    return nop_trials(rounds, 30 if quick else 66) + model_turns(rounds, 4 if quick else 8)


def nop_trials(rounds: int, tasks: int) -> list[Figure]:
    """What a trial costs in which nothing happens."""
    with tempfile.TemporaryDirectory(prefix="tbeval-bench-") as temporary:
        directory = Path(temporary)
        work = Work(make_tasks(directory, tasks), directory, 3, 8, "nop")
        trials = tasks * work.attempts
        pairs = [(measure("ours", work), measure("harbor", work)) for _ in range(rounds)]
    return _figures("nop trial", pairs, trials, 1000, NOP_BOUND)


def model_turns(rounds: int, tasks: int) -> list[Figure]:
    """What a turn costs, gateway and record included; harbor's agent asks the endpoint itself."""
    with tempfile.TemporaryDirectory(prefix="tbeval-bench-") as temporary:
        directory = Path(temporary)
        names = make_tasks(directory, tasks)

        def turns(harness: str) -> tuple[Measured, Measured]:
            short, long = (
                measure(harness, Work(names, directory, 1, 4, "terminus-2", calls=calls))
                for calls in (FEW_CALLS, MANY_CALLS)
            )
            return short, long

        pairs = []
        whole = []
        for _ in range(rounds):
            (our_short, our_long), (short, long) = turns("ours"), turns("harbor")
            pairs.append((_less(our_long, our_short), _less(long, short)))
            whole.append((our_short, short))
    number = tasks * (MANY_CALLS - FEW_CALLS)
    return _figures("model turn", pairs, number, 1000, TURN_BOUND) + _figures(
        f"terminus-2 trial of {FEW_CALLS} calls", whole, tasks, 1000, None
    )


def _less(one: Measured, other: Measured) -> Measured:
    return Measured(
        one.wall_sec - other.wall_sec,
        one.own_cpu_sec - other.own_cpu_sec,
        one.all_cpu_sec - other.all_cpu_sec,
        (),
        (),
        0,
    )


def _figures(
    what: str,
    pairs: Sequence[tuple[Measured, Measured]],
    number: int,
    scale: float,
    bound: float | None,
) -> list[Figure]:
    figures = []
    takes: tuple[tuple[str, Callable[[Measured], float], float | None], ...] = (
        ("process and children", lambda measured: measured.all_cpu_sec, bound),
        ("process alone", lambda measured: measured.own_cpu_sec, None),
    )
    for whose, take, limit in takes:
        ours = [take(one) * scale / number for one, _ in pairs]
        harbors = [take(other) * scale / number for _, other in pairs]
        ratio = median(one / other for one, other in zip(ours, harbors, strict=True))
        note = f"{_listed(ours)} ms against harbor's {_listed(harbors)} ms"
        figures.append(Figure.now("cpu", f"{what}, {whose}", ratio, "×", bound=limit, note=note))
    return figures


def _listed(values: Sequence[float]) -> str:
    return " / ".join(f"{value:.1f}" for value in values)


if __name__ == "__main__":
    run_benchmark(run, __doc__)
