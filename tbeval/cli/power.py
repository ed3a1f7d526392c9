"""`tbeval power`: what a design can see, before it is run."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

if TYPE_CHECKING:
    from tbeval.stats.planning import Spread


@click.command("power")
@click.option("--tasks", type=click.IntRange(2, 1000), default=66, show_default=True)
@click.option("--attempts", type=click.IntRange(1, 100), default=3, show_default=True)
@click.option(
    "--pass",
    "rate",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.06,
    show_default=True,
    help="The base's pass@1.",
)
@click.option(
    "--delta",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="Say how many attempts see this rise (0.03 is 3 points).",
)
@click.option(
    "--together",
    type=click.FloatRange(0.05, 0.95),
    default=0.6,
    show_default=True,
    help="How far attempts at one task go together (intraclass correlation).",
)
@click.option(
    "--between",
    type=click.FloatRange(0, 1),
    default=0.95,
    show_default=True,
    help="The correlation of the two checkpoints' task rates.",
)
@click.option("--like", metavar="RUN", help="Take --pass and --together from a run.")
@click.option(
    "--results-dir", type=click.Path(path_type=Path), default=Path("results"), show_default=True
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    *,
    tasks: int,
    attempts: int,
    rate: float,
    delta: float | None,
    together: float,
    between: float,
    like: str | None,
    results_dir: Path,
    as_json: bool,
) -> None:
    """Say which difference a design sees with 80 % power, or how many attempts see --delta.

    By simulation through the test that `tbeval compare` reports: paired by task, two-sided, .05.
    """
    from tbeval.settings.base import SettingsError
    from tbeval.stats.planning import Spread, attempts_simulated, smallest_simulated

    spread = Spread(rate, together, between)
    if like is not None:
        spread = _spread_of_run(like, results_dir, between)
        rate, together = spread.rate, spread.together
    assumed = f"pass@1 {100 * rate:.3g} %, attempts together {together:.2g}, between {between:g}"
    found: dict[str, float | int | None] = {"tasks": tasks, "pass": rate}
    found |= {"together": together, "between": between, "power": 0.8}
    if delta is None:
        smallest = smallest_simulated(spread, tasks=tasks, attempts=attempts)
        found |= {"attempts": attempts, "smallest_delta": smallest}
        says = "sees no rise" if smallest is None else f"sees a rise of {100 * smallest:.1f} points"
        sentence = f"{tasks} tasks × {attempts} attempts {says} with 80 % power ({assumed})."
    else:
        try:
            needed = attempts_simulated(spread, tasks=tasks, delta=delta)
        except ValueError as error:
            raise SettingsError(f"{error}.") from error
        found |= {"delta": delta, "attempts_needed": needed}
        says = "takes more tasks" if needed is None else f"takes {needed} attempts at each"
        sentence = (
            f"To see a rise of {100 * delta:g} points on {tasks} tasks with 80 % power {says} "
            f"({assumed})."
        )
    click.echo(json.dumps(found, indent=2) if as_json else sentence)


def _spread_of_run(run: str, results: Path, between: float) -> "Spread":
    from tbeval.results.measured import find_measured
    from tbeval.settings.base import SettingsError
    from tbeval.stats.counts import TaskCounts
    from tbeval.stats.planning import spread_of

    measured, _ = find_measured(results, run)
    spread = spread_of(
        [
            TaskCounts(task.id, task.planned, len(task.solved), sum(task.solved))
            for task in measured.tasks
        ],
        between=between,
    )
    if not 0 < spread.rate < 1:
        raise SettingsError(
            f"{run} solved all or nothing: its spread says nothing. Give --pass instead."
        )
    return spread
