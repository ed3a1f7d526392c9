from typing import Any

import pytest

from tbeval.records.measured import Measured, TaskOutcomes
from tbeval.results.comparable import common_tasks, differences
from tests.made_up_runs import BEGAN


def task(name: str, digest: str = "d", planned: int = 3, limited: int = 0) -> TaskOutcomes:
    return TaskOutcomes(
        id=name,
        digest=digest,
        planned=planned,
        solved=(True,) * planned,
        scores=(1.0,) * planned,
        time_limited=limited,
    )


def measured(*tasks: TaskOutcomes, **changes: Any) -> Measured:
    fields: dict[str, Any] = {
        "checkpoint": "c",
        "runs": ("r",),
        "created": BEGAN,
        "source": "tbeval",
        "subset": "s",
        "attempts": 3,
        "settings": {"agent": "terminus-2", "sampling.top_p": 0.9},
        "versions": {"tbeval": "1", "python": "3.12"},
        "engine": {"engine": "sglang", "engine_version": "0.5"},
        "tasks": tasks or (task("a"), task("b")),
    }
    return Measured(**fields | changes)


@pytest.mark.parametrize(
    ("other", "said", "refuses"),
    [
        (measured(task("a"), task("c")), "tasks: 2, b only here → 2, c only here", True),
        (measured(task("a"), task("b", "e")), "contents of b: as measured then", True),
        (measured(attempts=5), "attempts: 3 → 5", True),
        (measured(task("a"), task("b", planned=2)), "attempts at b: 3 → 2", True),
        (measured(settings={"agent": "terminus-2"}), "sampling.top_p: 0.9 → not set", True),
        (measured(source="harbor"), "harness: tbeval → harbor", True),
        (measured(versions={"tbeval": "2"}), "version of tbeval: 1 → 2", False),
        (measured(engine={"engine": "vllm"}), "engine's engine: sglang → vllm", False),
        (measured(task("a", limited=1), task("b")), "time limit: 0.0 % → 16.7 %", False),
    ],
)
def test_what_differs_is_told(other: Measured, said: str, *, refuses: bool) -> None:
    found = differences(measured(), other)
    assert said in " | ".join(str(difference) for difference in found)
    assert found[0].refuses is refuses


def test_equals_and_unimportant_differences_say_nothing() -> None:
    other = measured(versions={"tbeval": "1", "python": "3.13"}, checkpoint="d", runs=("x",))
    assert differences(measured(), other) == ()


def test_settings_of_other_harnesses_are_not_known() -> None:
    foreign = measured(source="harbor")
    (difference,) = differences(foreign, foreign)
    assert (difference.what, difference.refuses) == ("settings of the other harness", False)


def test_only_tasks_with_the_same_contents_are_common() -> None:
    base = measured(task("a"), task("b"), task("c"))
    other = measured(task("b", "changed"), task("c"), task("d"))
    mine, theirs = common_tasks(base, other)
    assert [[each.id for each in one.tasks] for one in (mine, theirs)] == [["c"], ["c"]]
