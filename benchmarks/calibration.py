"""Do the intervals cover, and does the gate say what it should? By simulation, with fixed seeds.

    python -m benchmarks.calibration [--quick] [--data DIR] [--write FILE]

All draws go through the functions that users' numbers come from. DIR holds public submissions to
terminal-bench's leaderboard, one directory each, whose attempts are split and resampled.
"""

import argparse
import json
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tbeval.stats.exact import Array, sign_flip
from tbeval.stats.gate import verdict_of
from tbeval.stats.intervals import tasks_like_these, these_tasks_only
from tbeval.stats.planning import Spread, draw_rates

TASKS, ATTEMPTS, MARGIN = 66, 3, 0.05
PAGE = Path(__file__).with_name("calibration.md")
RATES = (0.02, 0.06, 0.15, 0.3, 0.5)
TOGETHER = (0.5, 0.7, 0.85)
FULL = 5  # attempts per task of a public submission
TWO_POINT = (0.1, 0.6)  # so many tasks have this rate, the others 0
ALPHA = 0.05
SMALL_DROP, LARGE_DROP, ONE_SIDED_Z = 0.01, 0.03, 1.645  # the naive rules
COVER = """\
| p | attempts together | tasks like these | these tasks only | Wald on 198 |
|---:|---:|---:|---:|---:|
"""
GATE = """\
| draws from | true difference | FAIL | PASS | INCONCLUSIVE | Δ interval covers | \
drop > 1 point | drop > 3 points | pooled z |
|---|---:|---:|---:|---:|---:|---:|---:|---:|
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the draws")
    parser.add_argument("--data", type=Path, help="public submissions, a directory each")
    parser.add_argument("--write", type=Path, help=f"where the page goes; in full {PAGE.name}")
    options = parser.parse_args()
    draws = 200 if options.quick else 2000
    began = time.perf_counter()
    page = "\n".join(_page(draws, options.data))
    took = time.perf_counter() - began
    target = options.write or (None if options.quick else PAGE)
    if target:
        target.write_text(page + "\n")
    print(page, f"\n{took:.0f} s")
    return 0


def _page(draws: int, data: Path | None) -> Iterator[str]:
    yield "# Calibration\n"
    yield (
        f"`python -m benchmarks.calibration --data DIR`: {draws} draws per line, "
        f"{TASKS} tasks × {ATTEMPTS} attempts, seed 0. The standard error of a share near 5 % is "
        f"{100 * (0.05 * 0.95 / draws) ** 0.5:.1f} points.\n"
    )
    yield "## How often an interval of 95 % contains the truth\n"
    yield (
        "Task rates are beta-distributed with mean p; “attempts together” is their intraclass "
        "correlation. The truth is p for tasks like these, the mean of the drawn rates for these "
        "tasks only.\n"
    )
    rows = [_coverage(rate, together, draws) for rate in RATES for together in TOGETHER]
    yield COVER + "\n".join(rows) + "\n"
    yield f"## What the gate says (margin {100 * MARGIN:.0f} points)\n"
    yield (
        "FAIL at no difference is a false alarm; INCONCLUSIVE is none. Beta: p = .06 unless said, "
        "a drop scales all tasks, “between” is the correlation of the two checkpoints' task "
        "rates. Two-point: a tenth of the tasks at .6, the others at 0. The last three columns "
        "are how often naive rules alarm on the same draws.\n"
    )
    yield GATE + "\n".join(_gates(draws, data))


def _coverage(rate: float, together: float, draws: int) -> str:
    rng = np.random.default_rng(0)
    rates, _ = draw_rates(Spread(rate, together, 1.0), 0.0, (draws, TASKS), rng)
    solved = rng.binomial(ATTEMPTS, rates)
    new = only = wald = 0
    for row, truth in zip(solved, rates.mean(axis=1), strict=True):
        values = (row / ATTEMPTS).tolist()
        interval = tasks_like_these(values, TASKS * ATTEMPTS)
        fixed = these_tasks_only([ATTEMPTS] * TASKS, row.tolist())
        new += interval is not None and rate in interval
        only += fixed is not None and truth in fixed
        p = float(np.mean(values))
        wald += abs(p - rate) <= 1.96 * (p * (1 - p) / (TASKS * ATTEMPTS)) ** 0.5
    return f"| {rate} | {together} | {new / draws:.3f} | {only / draws:.3f} | {wald / draws:.3f} |"


def _gates(draws: int, data: Path | None) -> Iterator[str]:
    for together in TOGETHER:
        for between in (1.0, 0.95, 0.8):
            for drop in (0.0, 0.03, 0.05):
                name = f"beta, together {together}, between {between}"
                yield _beta(name, Spread(0.06, together, between), drop, draws)
    for drop in (0.0, 0.03, 0.05):
        yield _beta("beta, p = .3, together 0.7, between 0.95", Spread(0.3, 0.7), drop, draws)
    for drop in (0.0, 0.03, 0.05):
        rng = np.random.default_rng(0)
        rates = np.where(rng.random((draws, TASKS)) < TWO_POINT[0], TWO_POINT[1], 0.0)
        yield _row("two-point", drop, *_solved(rates, rates * (1 - drop / 0.06), rng))
    for name, attempts in _submissions(data).items() if data else ():
        yield from _resampled(name, attempts, draws)


def _beta(name: str, spread: Spread, drop: float, draws: int) -> str:
    rng = np.random.default_rng(0)
    base, other = draw_rates(spread, drop, (draws, TASKS), rng)
    return _row(name, drop, *_solved(base, other, rng))


def _solved(base: Array, other: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    first, second = rng.binomial(ATTEMPTS, base), rng.binomial(ATTEMPTS, other)
    return first.astype(np.float64), second.astype(np.float64)


def _resampled(name: str, attempts: list[list[bool]], draws: int) -> Iterator[str]:
    """A real submission against itself: halves of its attempts, and attempts drawn anew."""
    rng = np.random.default_rng(0)
    usual = np.array([row for row in attempts if len(row) == FULL], float)
    halves = []
    for _ in range(draws):
        mixed = rng.permuted(usual[rng.permutation(len(usual))[:TASKS]], axis=1)
        halves.append((mixed[:, :2].sum(axis=1), mixed[:, 2:4].sum(axis=1)))
    first, second = (np.array(side) for side in zip(*halves, strict=True))
    yield _row(f"{name}, split 2 and 2", 0.0, first, second, n=2)
    rates = usual.mean(axis=1)[rng.integers(0, len(usual), (draws, TASKS))]
    for drop in (0.0, 0.03, 0.05):
        kept = 1 - drop / float(usual.mean())
        yield _row(f"{name}, resampled", drop, *_solved(rates, rates * kept, rng))


def _row(name: str, drop: float, base: Array, other: Array, n: int = ATTEMPTS) -> str:
    said: dict[str, int] = defaultdict(int)
    covered = 0
    for row in (other - base).astype(int):
        test = sign_flip(row.tolist(), n)
        said[verdict_of(test, MARGIN)] += 1
        covered += test.p(-drop) > ALPHA
    before, after = base.mean(axis=1) / n, other.mean(axis=1) / n
    pooled = (before + after) / 2
    error = np.sqrt(np.maximum(pooled * (1 - pooled) * 2 / (TASKS * n), 1e-12))
    shares = [said["FAIL"], said["PASS"], said["INCONCLUSIVE"], covered]
    naive = [
        before - after > SMALL_DROP,
        before - after > LARGE_DROP,
        (before - after) / error > ONE_SIDED_Z,
    ]
    cells = [share / len(base) for share in shares] + [float(rule.mean()) for rule in naive]
    true = f"-{100 * drop:.0f}" if drop else "0"
    return f"| {name} | {true} | " + " | ".join(f"{100 * cell:.1f} %" for cell in cells) + " |"


def _submissions(data: Path) -> dict[str, list[list[bool]]]:
    """Per submission, per task, whether each attempt was solved (a null verdict is not)."""
    found: dict[str, dict[str, dict[str, bool]]] = {}
    for directory in sorted(data.glob("*/")):
        tasks: dict[str, dict[str, bool]] = defaultdict(dict)
        for path in directory.rglob("*results.json"):
            # run-level files alone: a trial's own repeats what stands there
            for trial in json.loads(path.read_text()).get("results", []):
                name = trial.get("id") or trial["trial_name"]
                tasks[trial["task_id"]][name] = bool(trial["is_resolved"])
        found[directory.name] = tasks
    return {
        name: [list(attempts.values()) for attempts in tasks.values()]
        for name, tasks in found.items()
        if sum(len(attempts) == FULL for attempts in tasks.values()) >= TASKS
    }


if __name__ == "__main__":
    sys.exit(main())
