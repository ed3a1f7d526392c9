"""`tb run` directories, as small as the published ones are odd."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tbeval.reports.summary import RunSummary, summarise
from tbeval.results.importing.assemble import Imported, read_foreign, write_imported
from tbeval.settings.base import SettingsError

type Entry = dict[str, Any]


def entry(
    task: str, number: int, *, of: int = 2, run: str = "run1", **fields: Any
) -> dict[str, Any]:
    return {
        "id": f"id-{run}-{task}-{number}",
        "trial_name": f"{task}.{number}-of-{of}.{run}",
        "task_id": task,
        "is_resolved": False,
        "failure_mode": "unset",
        "parser_results": {"test_a": "passed", "test_b": "failed"},
        "total_input_tokens": 10,
        "total_output_tokens": 2,
        "agent_started_at": f"2025-09-24T13:25:{number:02}+00:00",
        "agent_ended_at": "2025-09-24T13:26:00+00:00",
        **fields,
    }


def write(
    root: Path, entries: list[dict[str, Any]], *, own: bool = True, whole: bool = True
) -> Path:
    root.mkdir(parents=True, exist_ok=True)
    if whole:
        (root / "results.json").write_text(json.dumps({"id": "x", "results": entries}))
    for each in entries if own else ():
        directory = root / each["task_id"] / each["trial_name"]
        directory.mkdir(parents=True)
        (directory / "results.json").write_text(json.dumps(each))
    return root


def solved(task: str, number: int, **fields: Any) -> Entry:
    verdict: Entry = {"is_resolved": True, "parser_results": {"t": "passed"}}
    return entry(task, number, **verdict | fields)


def summary(imported: Imported, results: Path) -> RunSummary:
    return summarise(write_imported(imported, results)[0])


def outcomes(imported: Imported) -> list[str]:
    return [f"{t.task} {t.attempt} {t.outcome}" for t in imported.trials]


def test_own_files_and_the_runs_file_are_counted_once(tmp_path: Path) -> None:
    entries = [solved("a.easy", 1), entry("a.easy", 2), entry("b", 1), entry("b", 2)]
    root = write(tmp_path / "tb", entries)
    shutil.copytree(root, root / "copy-of-itself")
    (root / ".DS_Store").write_bytes(b"\0\xff")
    found = read_foreign(root, "base30b")
    assert (len(found.trials), found.copies) == (4, 12)
    assert found.run.notes == ()
    figures = summary(found, tmp_path / "results")
    assert (figures.planned, figures.scored, figures.solved_trials) == (4, 4, 1)
    assert figures.score.value == pytest.approx((0.75 + 0.5) / 2)
    assert (figures.tokens_in, figures.tokens_out) == (40, 8)
    assert found.trials[0].phases[0].seconds == 59


@pytest.mark.parametrize("gone", ["own", "whole"])
def test_either_kind_of_file_is_enough(tmp_path: Path, gone: str) -> None:
    entries = [solved("a", 1), entry("a", 2)]
    both = read_foreign(write(tmp_path / "both", entries), "c")
    root = write(tmp_path / "one", entries, own=gone != "own", whole=gone != "whole")
    one = read_foreign(root, "c")
    assert outcomes(one) == outcomes(both) == ["a 1 solved", "a 2 unsolved"]
    assert one.run.run_id == both.run.run_id


def test_a_verdict_flipped_in_the_trials_own_file_counts_and_is_told(
    tmp_path: Path,
) -> None:
    root = write(tmp_path / "tb", [solved("a", 1), entry("a", 2)])
    path = root / "a" / "a.2-of-2.run1" / "results.json"
    path.write_text(path.read_text().replace("false", "true").replace("failed", "passed"))
    found = read_foreign(root, "c")
    assert outcomes(found) == ["a 1 solved", "a 2 solved"]
    assert any("disagree" in note and "a.2-of-2.run1" in note for note in found.run.notes)


@pytest.mark.parametrize(
    ("mode", "resolved", "outcome", "stop", "told"),
    [
        ("unset", True, "solved", None, False),
        ("agent_timeout", True, "solved", "time limit", False),
        ("agent_timeout", False, "unsolved", "time limit", False),
        ("context_length_exceeded", False, "unsolved", "context limit", False),
        ("unset", None, "unscored:verifier", None, True),
        ("parse_error", None, "unscored:verifier", None, False),
        ("test_timeout", None, "unscored:verifier", None, False),
        ("unknown_agent_error", None, "unscored:harness", None, False),
        ("agent_installation_failed", False, "unscored:agent-setup", None, True),
        ("a_mode_of_tomorrow", True, "unscored:harness", None, True),
        (None, "yes", "unscored:verifier", None, True),
    ],
)
def test_failure_modes(
    tmp_path: Path, mode: str | None, resolved: object, outcome: str, stop: str | None, told: bool
) -> None:
    trial = entry("a", 1, of=1, failure_mode=mode, is_resolved=resolved, parser_results=None)
    if resolved is True:
        trial["parser_results"] = {"t": "passed"}
    elif resolved is False:
        trial["parser_results"] = {"t": "failed"}
    found = read_foreign(write(tmp_path / "tb", [trial], own=False), "c")
    (made,) = found.trials
    assert (made.outcome, made.stop_reason) == (outcome, stop)
    assert bool(found.run.notes) is told
    assert (made.score is None) is made.outcome.startswith("unscored")


def test_runs_are_put_together_in_the_order_they_began_in(tmp_path: Path) -> None:
    late = entry("a", 1, of=1, run="late", agent_started_at="2025-09-25T00:00:00Z")
    late["agent_ended_at"] = "2025-09-25T01:00:00"  # no zone: UTC
    early = solved("a", 1, of=1, run="early")
    (tmp_path / "tb").mkdir()
    for run, trial in (("2025-09-25_results.json", late), ("2025-09-26_results.json", early)):
        (tmp_path / "tb" / run).write_text(json.dumps({"results": [trial]}))
    found = read_foreign(tmp_path / "tb", "c")
    assert outcomes(found) == ["a 1 solved", "a 2 unsolved"]
    assert found.run.attempts == 2


def test_uneven_attempts_are_planned_as_they_are(tmp_path: Path) -> None:
    entries = [solved("a", 1), entry("a", 2), solved("b", 1)]
    figures = summary(read_foreign(write(tmp_path / "tb", entries), "c"), tmp_path / "results")
    assert figures.planned == 3
    assert {k: mean.tasks for k, mean in figures.pass_at.items()} == {1: 2, 2: 1}
    assert figures.pass_at[1].value == 0.75
    assert figures.pass_at_planned[1] == 0.75


def test_what_the_metadata_promise_is_planned(tmp_path: Path) -> None:
    root = write(tmp_path / "tb", [solved("a", 1)])
    metadata = {"uuid": "u", "n_attempts": 2, "task_ids": ["a", "never-begun"]}
    for place in (root, root / "copy"):
        place.mkdir(exist_ok=True)
        (place / "run_metadata.json").write_text(json.dumps(metadata))
    found = read_foreign(root, "c")
    figures = summary(found, tmp_path / "results")
    assert (figures.planned, figures.scored, figures.not_run) == (4, 1, 3)
    assert "a: 1, never-begun: 2" in "".join(found.run.notes)


def test_an_attempt_that_was_repeated_counts_once(tmp_path: Path) -> None:
    again = solved("a", 1, id="another", agent_started_at="2025-09-24T13:25:30Z")
    failed = entry("b", 1, id="x", is_resolved=None, failure_mode="parse_error")
    entries = [
        entry("a", 1),
        again,
        failed,
        solved("b", 1, agent_started_at="2025-09-24T13:25:09Z"),
    ]
    found = read_foreign(write(tmp_path / "tb", entries, own=False), "c")
    assert outcomes(found) == ["a 1 unsolved", "b 1 unscored:verifier", "b 1 solved"]
    assert [trial.try_number for trial in found.trials] == [1, 1, 2]
    assert any("twice" in note for note in found.run.notes)


@pytest.mark.parametrize(
    "broken",
    [b"", b'{"results": [', b"[1, 2]", b"\xff\xfe{", b"nonsense", b'{"results": 7}', b'"a"'],
    ids=repr,
)
def test_files_that_cannot_be_read_are_told_and_cost_nothing_else(
    tmp_path: Path, broken: bytes
) -> None:
    root = write(tmp_path / "tb", [solved("a", 1)])
    (root / "broken_results.json").write_bytes(broken)
    found = read_foreign(root, "c")
    assert outcomes(found) == ["a 1 solved"]
    assert "broken_results.json" in "".join(found.run.notes)


def test_odd_values_change_nothing_they_should_not(tmp_path: Path) -> None:
    text = json.dumps({"results": [solved("a", 1), solved("b", 1), 7, {"task_id": None}]})
    text = text.replace('"total_input_tokens": 10', '"total_input_tokens": 1e309', 1)
    text = text.replace('"total_output_tokens": 2', '"total_output_tokens": NaN', 1)
    text = text.replace("2025-09-24T13:26:00+00:00", "yesterday", 1)
    text = text.replace('"id-run1-b-1"', '"\\ud800"')
    (tmp_path / "x_results.json").write_bytes(text.encode().replace(b"test_b", b"\xff"))
    found = read_foreign(tmp_path / "x_results.json", "c")
    assert outcomes(found) == ["a 1 solved", "b 1 solved"]
    assert (found.trials[0].tokens_in, found.trials[0].phases) == (0, ())
    assert any("no trial" in note for note in found.run.notes)
    assert write_imported(found, tmp_path / "results")[1]


def test_a_verdict_against_its_tests_is_kept_and_told(tmp_path: Path) -> None:
    trials = [entry("a", 1, is_resolved=True), solved("b", 1, is_resolved=False)]
    found = read_foreign(write(tmp_path / "tb", trials, own=False), "c")
    assert outcomes(found) == ["a 1 solved", "b 1 unsolved"]
    assert "contradicts" in "".join(found.run.notes)
    assert summary(found, tmp_path / "results").solved_trials == 1


def test_the_same_result_is_imported_once(tmp_path: Path) -> None:
    root = write(tmp_path / "tb", [solved("a", 1)])
    first, new = write_imported(read_foreign(root, "c"), tmp_path / "results")
    moved = root.rename(tmp_path / "moved")
    again, newer = write_imported(read_foreign(moved, "c"), tmp_path / "results")
    assert (first, new, newer) == (again, True, False)
    assert [path.name for path in first.parent.iterdir()] == [first.name]


@pytest.mark.parametrize("checkpoint", ["../x", "", "a/b", ".hidden", "a\nb", "x" * 65])
def test_an_id_that_is_no_name_of_a_directory_is_refused(tmp_path: Path, checkpoint: str) -> None:
    with pytest.raises(SettingsError, match="cannot be a checkpoint's id"):
        read_foreign(write(tmp_path / "tb", [solved("a", 1)]), checkpoint)


def test_a_directory_without_results_is_refused(tmp_path: Path) -> None:
    (tmp_path / "results.json").write_text("{")
    with pytest.raises(SettingsError, match=r"holds no result.*cannot be read as JSON"):
        read_foreign(tmp_path, "c")
    with pytest.raises(SettingsError, match="does not exist"):
        read_foreign(tmp_path / "nothing", "c")
