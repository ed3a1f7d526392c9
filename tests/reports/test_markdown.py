from pathlib import Path

import pytest
from jinja2 import UndefinedError

from tbeval.records.ledger import TrialRecord
from tbeval.records.run import RunRecord, fingerprint
from tbeval.reports import markdown as module
from tbeval.reports import words
from tbeval.reports.as_json import as_json
from tbeval.reports.escape import markdown
from tbeval.reports.markdown import summary_markdown, write_report
from tbeval.reports.summary import summarise
from tests.made_up_runs import write_made_up

HOSTILE = "|`*<script>alert(1)</script>\n\n# top\n| a | b |\x1b[2J"


def test_the_report_has_every_word_and_number_of_the_terminal(directory: Path) -> None:
    summary = summarise(directory)
    report = summary_markdown(summary)
    for lines in (words.head, words.figures, words.costs):
        for line in lines(summary):
            row = " | ".join(markdown(text) for text in (line.name, line.value, line.basis))
            assert f"| {row} |\n" in report
    for line in words.endings(summary):
        assert f"| {line.name} | {line.value} |\n" in report


def test_an_imported_run_shows_no_times_that_nobody_measured(
    tmp_path: Path, run: RunRecord, trials: list[TrialRecord]
) -> None:
    imported = run.model_copy(update={"source": "terminal-bench"})
    summary = summarise(write_made_up(tmp_path, imported, trials))
    report = summary_markdown(summary)
    assert (as_json(summary)["model_sec"], as_json(summary)["command_sec"]) == (None, None)
    assert "| wall time |" in report
    assert "model time" not in report
    assert "command time" not in report


def test_hostile_text_adds_no_line_no_cell_and_no_markup(
    tmp_path: Path, run: RunRecord, trials: list[TrialRecord]
) -> None:
    def shape(**changes: object) -> list[int]:
        changed = run.model_copy(update=changes)
        own = {"fingerprint": fingerprint(changed.scoring, changed.tasks)}
        directory = write_made_up(
            tmp_path / str(len(changes)), changed.model_copy(update=own), trials
        )
        report = summary_markdown(summarise(directory))
        assert "<script" not in report
        assert "\x1b" not in report
        return [line.count("|") for line in report.splitlines()]

    assert (
        shape(
            label=HOSTILE,
            endpoint=HOSTILE,
            scoring={"sampling": {"temperature": HOSTILE, HOSTILE: 0}, "stop": [HOSTILE]},
            identity={"served_model": HOSTILE, HOSTILE: "x"},
            versions={"harbor": HOSTILE, "tbeval": HOSTILE},
        )
        == shape()
    )


def test_the_report_is_replaced_whole_and_nothing_else_is_left(
    directory: Path, tmp_path: Path
) -> None:
    summary = summarise(directory)
    path = write_report(summary, tmp_path / "reports")
    path.write_text("an older report, longer than the new one" * 1000)
    assert write_report(summary, tmp_path / "reports") == path
    assert path == tmp_path / "reports" / "iter335" / "report.md"
    assert path.read_text() == summary_markdown(summary)
    assert list(path.parent.iterdir()) == [path]


def test_a_report_that_fails_leaves_the_older_one(
    directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = summarise(directory)
    path = write_report(summary, tmp_path)
    before = path.read_text()

    def fail(_: object) -> str:
        raise UndefinedError("a name that the template wants is not there")

    monkeypatch.setattr(module, "summary_markdown", fail)
    with pytest.raises(UndefinedError):
        write_report(summary, tmp_path)
    assert path.read_text() == before
    assert list(path.parent.iterdir()) == [path]
