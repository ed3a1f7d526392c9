"""Whole commands: one verdict, one exit code, in every output."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner, Result

from tbeval.cli import compare, gate
from tests.made_up_runs import make_run, make_trial, write_made_up

TASKS = [f"task-{number:02}" for number in range(66)]
ATTEMPTS = 3


def write(
    results: Path, checkpoint: str, solved: dict[int, int], *, unscored: int = 0, **run: Any
) -> None:
    """A run in which the task with each number is solved so often; the last cells are unscored."""
    cells = [(task, n) for task in range(66) for n in range(1, ATTEMPTS + 1)]
    lost = set(cells[len(cells) - unscored :])
    trials = [
        make_trial(TASKS[task], n, "unscored:sandbox")
        if (task, n) in lost
        else make_trial(TASKS[task], n, "solved" if n <= solved.get(task, 0) else "unsolved")
        for task, n in cells
    ]
    fields = {"run_id": f"run-{checkpoint}", "checkpoint": checkpoint, "series": "qwen"} | run
    write_made_up(results, make_run(TASKS, ATTEMPTS, **fields), trials)


#: Counts like the published ones: 12, 16 and 11 of 198; and two that differ beyond doubt.
BASE = dict.fromkeys(range(4), 2) | dict.fromkeys(range(4, 8), 1)
BETTER = dict.fromkeys(range(6), 2) | dict.fromkeys(range(6, 10), 1)
GREAT = dict.fromkeys(range(40), 3)
MIXED = {2: 2, 3: 2, 4: 2, 5: 1, 8: 2, 9: 2, 10: 1}
NEAR = ("mixed", "--baseline", "base", "--margin", "0.001")


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    monkeypatch.chdir(tmp_path)
    results = tmp_path / "results"
    write(results, "base", BASE)
    write(results, "better", BETTER)
    write(results, "mixed", MIXED)
    write(results, "great", GREAT)
    write(results, "worse", {40: 1})
    write(results, "holes", BASE, unscored=30)
    write(results, "other", BASE, scoring={"sampling": {"top_p": 0.5}})

    def asked(command: Any, *arguments: str) -> Result:
        return CliRunner().invoke(command, arguments)

    return asked


def test_a_gain_within_the_noise_is_called_that(ask: Callable[..., Result]) -> None:
    done = ask(compare.command, "base", "better")
    assert done.exit_code == 0
    sentence = done.stdout.splitlines()[0]
    assert sentence.startswith(
        "better is 2.0 points above base (pass@1 8.1 % against 6.1 %); this design cannot tell "
        "that from chance (p = "
    )
    assert "attempts per task" in sentence or "takes more tasks" in sentence


def test_a_difference_beyond_doubt_is_called_that_in_every_form(
    ask: Callable[..., Result],
) -> None:
    text = ask(compare.command, "base", "great", "better").stdout
    shown = ask(compare.command, "base", "great", "better", "--format", "markdown").stdout
    data = json.loads(ask(compare.command, "base", "great", "better", "--format", "json").stdout)
    first, second = data["comparisons"]
    assert (first["differs"], second["differs"]) == (True, False)
    assert first["verdict"] in text
    assert "on tasks like these it is better" in first["verdict"]
    assert "on tasks like these it is better" in shown
    assert first["interval"][0] > 0
    assert second["interval"][0] <= 0 <= second["interval"][1]
    assert second["p_holm"] >= second["p"]
    assert data["winner"]["checkpoint"] == "great"
    assert data["winner"]["of"] == 7, "all complete runs of the series on disk"
    assert "the best of 7" in text


def test_what_was_not_measured_alike_is_not_compared_unless_told(
    ask: Callable[..., Result],
) -> None:
    for command, arguments in (
        (compare.command, ("base", "other")),
        (gate.command, ("other", "--baseline", "base")),
    ):
        refused = ask(command, *arguments)
        assert refused.exit_code == 4
        assert "sampling.top_p: not set → 0.5" in refused.stderr
        told = ask(command, *arguments, "--anyway")
        assert told.exit_code in {0, 3}
        assert "NOT MEASURED ALIKE: sampling.top_p" in told.stdout


@pytest.mark.parametrize(
    ("arguments", "verdict", "code"),
    [
        (("great", "--baseline", "base"), "PASS", 0),
        (("worse", "--baseline", "great"), "FAIL", 1),
        (("worse", "--baseline", "base"), "FAIL", 1),
        (("better", "--baseline", "great"), "FAIL", 1),
        (NEAR, "INCONCLUSIVE", 3),
        ((*NEAR, "--inconclusive", "warn"), "INCONCLUSIVE", 0),
        ((*NEAR, "--inconclusive", "fail"), "INCONCLUSIVE", 1),
        (("great", "--min-pass", "0.3"), "PASS", 0),
        (("base", "--min-pass", "0.3"), "FAIL", 1),
        (("base", "--min-pass", "0.05"), "INCONCLUSIVE", 3),
        (("great", "--baseline", "base", "--min-pass", "0.9"), "FAIL", 1),
    ],
)
def test_one_verdict_and_one_exit_code_in_every_output(
    ask: Callable[..., Result],
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    verdict: str,
    code: int,
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    done = ask(gate.command, *arguments, "--junit", "junit.xml")
    assert (done.stdout.splitlines()[0], done.exit_code) == (verdict, code)
    data = json.loads(ask(gate.command, *arguments, "--json").stdout)
    assert (data["verdict"], data["exit_code"]) == (verdict, code)
    suite = ET.parse("junit.xml").getroot()
    assert suite.get("failures") == str(int(code == 1))
    assert suite.get("skipped") == str(int(code == 3))
    assert f" {verdict}: " in Path("summary.md").read_text().splitlines()[0]
    for sentence in data["sentences"]:
        assert sentence in done.stdout
        assert sentence in "".join(suite.itertext())


def test_incomplete_data_give_no_answer_anywhere(
    ask: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "summary.md")
    for arguments in (("holes", "--baseline", "base"), ("base", "--baseline", "holes")):
        done = ask(gate.command, *arguments, "--junit", "junit.xml", "--json")
        assert done.exit_code == 4
        assert "168 of 198 cells have a verdict (84.8 %)" in done.stderr
        assert json.loads(done.stdout)["exit_code"] == 4
        assert ET.parse("junit.xml").getroot().get("errors") == "1"
    assert Path("summary.md").read_text().count("NO ANSWER") == 2
    assert ask(gate.command, *arguments, "--min-complete", "0.8").exit_code in {0, 3}


def test_a_frozen_baseline_does_as_well_as_its_run(ask: Callable[..., Result]) -> None:
    from tbeval.cli import freeze

    assert ask(freeze.command, "base", "-o", "baseline.json").exit_code == 0
    for form in ("text", "json"):
        flag = ["--json"] if form == "json" else []
        run = ask(gate.command, "better", "--baseline", "base", *flag)
        frozen = ask(gate.command, "better", "--baseline", "baseline.json", *flag)
        assert (frozen.stdout, frozen.exit_code) == (run.stdout, run.exit_code)


@pytest.mark.parametrize(
    ("command", "arguments", "said"),
    [
        (gate.command, ("base",), "nothing to judge by"),
        (gate.command, ("base", "--baseline", "base", "--metric", "pass@9"), "no task has pass@9"),
        (gate.command, ("base", "--baseline", "base", "--metric", "mean"), "is no metric"),
        (compare.command, ("base", "nobody"), 'no run "nobody"'),
    ],
)
def test_mistakes_are_told(
    ask: Callable[..., Result], command: Any, arguments: tuple[str, ...], said: str
) -> None:
    assert said in str(ask(command, *arguments).exception)


def test_hostile_names_reach_neither_terminal_nor_markup(
    ask: Callable[..., Result], tmp_path: Path
) -> None:
    hostile = "\x1b[31m<script>|`\x00"
    write(tmp_path / "results", "evil", GREAT, scoring={"agent_version": hostile}, run_id="r-evil")
    for arguments in ((), ("--anyway",), ("--anyway", "--format", "markdown")):
        done = ask(compare.command, "base", "evil", *arguments)
        assert "\x1b" not in done.output
        assert "\x00" not in done.output
    assert "<script>" not in done.stdout
