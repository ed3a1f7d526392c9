"""Work for a harness: made-up tasks, how long each attempt takes, and what the model says.

Real tasks would measure their own programs. These start at once, their agent does what the
scripted model says, and their test script answers without pytest: what is left is the harness.
"""

import json
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

#: What the checkpoint is called.
CHECKPOINT = "bench"

#: The model is asked so often in a trial of the makespan: two commands, the end, and its repetition
#: that terminus-2 wants.
CALLS = 4

_TASK_TOML = """\
schema_version = "1.4"

[agent]
timeout_sec = {limit}

[verifier]
timeout_sec = 60.0

[environment]
network_mode = "no-network"
cpus = 1
memory_mb = 512
storage_mb = 256
"""

# Says to stock harbor and to tbeval's verifier what pytest would, in a thousandth of its time.
_TEST_SH = """\
#!/bin/bash
if [ -n "$TBEVAL_REPORT_DIR" ]; then
    cat > "$TBEVAL_REPORT_DIR/1-1.jsonl" <<END
{"event": "start", "nonce": "$TBEVAL_REPORT_NONCE", "process": 1, "rootdir": "/tests", \
"cwd": "/tests", "pytest": "0", "python": "0"}
{"event": "collected", "items": [["test_it.py::test_it", "/tests/test_it.py"]]}
{"event": "result", "id": "test_it.py::test_it", "path": "/tests/test_it.py", "when": "call", \
"outcome": "failed", "xfail": false, "message": ""}
{"event": "result", "id": "test_it.py::test_it", "path": "/tests/test_it.py", "when": "teardown", \
"outcome": "passed", "xfail": false, "message": ""}
{"event": "finish", "status": 1, "args": ["/tests/test_it.py"]}
{"event": "end"}
END
fi
mkdir -p /logs/verifier
echo 0 > /logs/verifier/reward.txt
"""


@dataclass(frozen=True)
class Work:
    """What a harness is to do; a JSON file carries it from process to process.

    Attributes:
        tasks: Ids; their directories lie in `directory/tasks`.
        directory: Where everything of this benchmark lies.
        agent: `nop` or `terminus-2`.
        seconds: Task → how long the model takes in each attempt, all its calls together.
        calls: How often a trial asks the model.
    """

    tasks: tuple[str, ...]
    directory: Path
    attempts: int
    concurrency: int
    agent: str
    seconds: Mapping[str, Sequence[float]] = field(default_factory=dict)
    calls: int = CALLS

    def save(self, path: Path) -> None:
        """Write it as JSON."""
        path.write_text(json.dumps(asdict(self) | {"directory": str(self.directory)}))

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read it."""
        found: dict[str, Any] = json.loads(path.read_text())
        return cls(
            **found | {"directory": Path(found["directory"]), "tasks": tuple(found["tasks"])}
        )

    def task_directory(self, task: str) -> Path:
        """Where a task lies."""
        return self.directory / "tasks" / task


def make_tasks(directory: Path, number: int, limit_sec: float = 900.0) -> tuple[str, ...]:
    """Write so many tasks and a subset of them; their ids.

    Args:
        directory: They go into `tasks/`, the subset into `bench.toml`.
        number: How many.
        limit_sec: The agent's time limit, the same for all: a planner without a history knows
            nothing.
    """
    names = tuple(f"bench-{index:03}" for index in range(number))
    for name in names:
        path = directory / "tasks" / name
        (path / "environment").mkdir(parents=True)
        (path / "tests").mkdir()
        (path / "environment" / "setup.sh").write_text("# nothing to prepare\n")
        (path / "task.toml").write_text(_TASK_TOML.format(limit=limit_sec))
        (path / "instruction.md").write_text(f"Nothing has to be done. Task id: {name}.\n")
        script = path / "tests" / "test.sh"
        script.write_text(_TEST_SH)
        script.chmod(0o755)
    (directory / "bench.toml").write_text(
        f'name = "bench"\ntasks = {json.dumps(names)}\n'
        '[source]\nkind = "directory"\npath = "tasks"\n'
    )
    return names


#: How much the longest task, and any other at most, takes of the shortest possible run.
_LONGEST, _LONG = 0.5, 0.25


def durations(
    tasks: Sequence[str], attempts: int, *, bound_sec: float, concurrency: int, seed: int = 0
) -> dict[str, list[float]]:
    """Seconds of each attempt at each task, such as a suite of terminal tasks shows.

    Tasks differ by a log-normal factor (sigma 1: the slowest tenth takes a dozen times as long as
    the quickest), attempts at one task by another (sigma 0.25), both cut off where the agent's
    time limit would end them; and one task is very long: half of the whole run. That one stands
    in the middle of the order, where chance would put it.

    Args:
        tasks: Their ids.
        attempts: At each of them.
        bound_sec: All together would take so long at best.
        concurrency: With so many at once.
        seed: The same numbers for the same seed.
    """
    rng = random.Random(seed)
    longest = tasks[len(tasks) // 2]
    drawn = {
        task: [median * math.exp(rng.gauss(0, 0.25)) for _ in range(attempts)]
        for task, median in ((task, math.exp(rng.gauss(0, 1))) for task in tasks)
        if task != longest
    }
    long = [bound_sec * _LONGEST * math.exp(-abs(rng.gauss(0, 0.1))) for _ in range(attempts)]
    others = [seconds for times in drawn.values() for seconds in times]
    limit = bound_sec * _LONG
    factor = _factor(others, limit, bound_sec * concurrency - sum(long))
    return {
        task: [min(limit, factor * seconds) for seconds in drawn.get(task, ())] or long
        for task in tasks
    }


def _factor(values: Sequence[float], limit: float, total: float) -> float:
    """By what to multiply so that all, cut off at the limit, add up to the total."""
    if limit * len(values) <= total:
        raise ValueError(f"{len(values)} trials of at most {limit:g} s cannot take {total:g} s")
    low, high = 0.0, 1.0
    while sum(min(limit, high * value) for value in values) < total:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        enough = sum(min(limit, middle * value) for value in values) >= total
        low, high = (low, middle) if enough else (middle, high)
    return high
