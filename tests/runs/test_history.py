"""What earlier ledgers tell: how long a task takes, and that it verifies in time here."""

from pathlib import Path

from tbeval.records.outcome import Outcome
from tbeval.records.verdict import TestCounts
from tbeval.runs.history import expected_seconds, verified_before
from tbeval.runs.plan import plan_cells
from tests.made_up_runs import make_run, make_task, make_trial, write_made_up


def write(results: Path, checkpoint: str, run: str, trials: list[tuple[str, float, int]]) -> None:
    records = [
        make_trial(task, n, Outcome.UNSOLVED, span=(0, seconds), model_calls=calls, task_digest="d")
        for n, (task, seconds, calls) in enumerate(trials, start=1)
    ]
    write_made_up(results, make_run(["a", "b"], 9, checkpoint=checkpoint, run_id=run), records)


def test_the_checkpoints_own_median_counts_before_that_of_others(tmp_path: Path) -> None:
    write(tmp_path, "iter335", "r1", [("a", 10, 3), ("a", 50, 3), ("a", 20, 3)])
    write(tmp_path, "iter351", "r2", [("a", 900, 3), ("b", 70, 3), ("b", 90, 3)])
    write(tmp_path, "oracle", "r3", [("c", 1, 0)])
    assert expected_seconds(tmp_path, "iter335") == {"a": 20, "b": 80}
    assert expected_seconds(tmp_path, "oracle")["c"] == 1


def test_a_task_without_history_comes_before_those_known_to_be_shorter(tmp_path: Path) -> None:
    tasks = [make_task("short", 900), make_task("new", 300), make_task("long", 900)]
    cells = plan_cells(tasks, 2, {"short": 5, "long": 800})
    order = [cell.key for cell in cells]
    assert order == [(task, n) for task in ("long", "new", "short") for n in (1, 2)]


def test_unscored_and_broken_ledgers_are_no_evidence(tmp_path: Path) -> None:
    lost = make_trial("a", 1, Outcome.SANDBOX, span=(0, 5), model_calls=1, task_digest="d")
    directory = write_made_up(tmp_path, make_run(["a"], 1), [lost])
    assert expected_seconds(tmp_path, "iter335") == {}
    assert not verified_before(tmp_path, "d", 60)
    (directory / "ledger.jsonl").write_text("{\n{}\n")
    assert expected_seconds(tmp_path, "iter335") == {}
    write(tmp_path, "oracle", "r3", [("a", 1, 0)])
    assert verified_before(tmp_path, "d", 60)
    assert not verified_before(tmp_path, "another", 60)


def test_a_verifier_that_ran_out_of_time_is_no_proof_that_it_does_not(tmp_path: Path) -> None:
    """The second try would take the first one's time-out for proof, and score it as the model's."""
    late = make_trial(
        "a",
        1,
        Outcome.VERIFIER,
        error_class="VerifierTimeout",
        tests=TestCounts(passed=2, failed=1, total=3),
        task_digest="d",
    )
    write_made_up(tmp_path, make_run(["a"], 2), [late])
    assert not verified_before(tmp_path, "d", 60)
