"""The folder of a report: what it says, that it holds together, and that nothing in it acts."""

import base64
import hashlib
import json
import re
import zipfile
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tbeval.cli.report import command
from tbeval.models.gateway.record import RecordWriter
from tbeval.records.ledger import TrialRecord
from tbeval.records.run import RunRecord, fingerprint
from tbeval.reports.page.content import Content, content_of, file_name
from tbeval.reports.page.folder import write_folder
from tbeval.reports.page.in_markdown import LONGEST, report_markdown
from tbeval.results.cells import cells_of
from tbeval.results.run_results import RunResults, read_results
from tbeval.settings.base import SettingsError
from tests.made_up_runs import make_run, make_trial, write_made_up

HOSTILE = (
    "\x1b[31m]]></script><script>hit()</script>\" onload='hit()' ]]> \u202e | `x`\n\n# top\x00"
)
TRIAL = "all-solved.1.1-20260301-120000-abc"


class Reader(HTMLParser):
    """Every tag with its attributes, and the text of `<script>` and `<style>`."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.inline: dict[str, list[str]] = {"script": [], "style": []}
        self._open = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        self._open = tag

    def handle_endtag(self, tag: str) -> None:
        self._open = ""

    def handle_data(self, data: str) -> None:
        if self._open in self.inline:
            self.inline[self._open].append(data)

    def values(self, tag: str, attribute: str) -> list[str]:
        return [a[attribute] for t, a in self.tags if t == tag and attribute in a]


def read(directory: Path) -> Iterator[tuple[Path, Reader]]:
    for path in sorted(directory.rglob("*.html")):
        yield path, Reader(path.read_text(encoding="utf-8"))


def leave(directory: Path, trial_id: str, text: str) -> None:
    """What a real trial leaves: a model record, the verifier's answer and output."""
    trial = directory / "trials" / trial_id
    (trial / "verifier").mkdir(parents=True)
    (trial / "agent").mkdir()
    (trial / "agent" / "pane.txt").write_text(text)
    (trial / "verifier" / "test-stdout.txt").write_bytes(text.encode() + b"\xff\xfe")
    report = {"status": "ok", "message": text, "tests": {text: "failed"}, "messages": {text: text}}
    (trial / "verifier" / "tests.json").write_text(json.dumps(report))
    (directory / "model").mkdir(exist_ok=True)
    writer = RecordWriter(directory / "model" / f"{trial_id}.jsonl.zst")
    first = {"role": "user", "content": f"the task {text}"}
    reply = {"analysis": text, "plan": "look", "commands": [{"keystrokes": text, "duration": 1}]}
    answer = {"role": "assistant", "content": json.dumps(reply), "reasoning_content": text}
    screen = {"role": "user", "content": f"the screen {text}"}
    called = {"role": "assistant", "tool_calls": [{"function": {"name": text, "arguments": text}}]}
    for call, (messages, message) in enumerate(
        [([first], answer), ([first, answer, screen], called)]
    ):
        entry: dict[str, Any] = {"call": call, "tokens_in": 7, "tokens_out": 3, "seconds": 1.5}
        entry |= {"failure": text if call else "", "finish_reason": text}
        entry |= {"request": {"messages": messages}}
        entry |= {"response": {"choices": [{"message": message}]}}
        writer.write(json.dumps(entry).encode())
    writer.close()


@pytest.fixture
def base(tmp_path: Path, run: RunRecord, trials: list[TrialRecord]) -> Path:
    other = run.model_copy(update={"checkpoint": "base30b", "label": "the base"})
    unsolved = [
        trial
        if trial.task == "all-solved" or not trial.outcome.scored
        else make_trial(trial.task, trial.attempt, "unsolved", passed=1, number=trial.try_number)
        for trial in trials
    ]
    return write_made_up(tmp_path / "results", other, unsolved)


@pytest.fixture
def content(base: Path, directory: Path) -> Content:
    leave(directory, TRIAL, "plain")
    return content_of([read_results(base), read_results(directory)], command="tbeval report")


def test_every_link_of_the_folder_leads_to_something_in_it(
    content: Content, tmp_path: Path
) -> None:
    written = write_folder(content, tmp_path / "out", figures=False)
    assert (written.trial_pages, written.renewed) == (28, 28)
    followed = 0
    for path, page in read(tmp_path / "out"):
        ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
        assert len(ids) == len(set(ids))
        for link in page.values("a", "href"):
            file, _, anchor = link.partition("#")
            target = (path.parent / file).resolve() if file else path
            assert target.is_relative_to((tmp_path / "out").resolve())
            assert target.is_file(), link
            if anchor:
                assert f'id="{anchor}"' in target.read_text()
            followed += 1
        for label in [v for _, a in page.tags for v in a.get("aria-labelledby", "").split()]:
            assert label in ids
    assert followed > 100


def test_pages_name_their_inline_style_and_script_by_hash_and_no_other_source(
    content: Content, tmp_path: Path
) -> None:
    write_folder(content, tmp_path / "out", figures=False)
    for _, page in read(tmp_path / "out"):
        policy = next(a["content"] for t, a in page.tags if "http-equiv" in a)
        assert policy.startswith("default-src 'none'; ")
        for kind, texts in page.inline.items():
            text = "".join(texts)
            digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
            assert f"{kind}-src 'sha256-{digest}'" in policy
        assert not [a for _, a in page.tags for name in a if name in {"src", "style"}]
        assert not [t for t, _ in page.tags if t in {"link", "img", "iframe", "object", "base"}]


def test_hostile_text_is_text_in_every_page_and_adds_no_tag(
    tmp_path: Path, run: RunRecord, trials: list[TrialRecord]
) -> None:
    def shape(text: str) -> dict[str, list[str]]:
        where = tmp_path / hashlib.sha256(text.encode()).hexdigest()[:8]
        changed = run.model_copy(
            update={
                "label": text,
                "endpoint": text,
                "notes": (text,),
                "agent": text,
                "protocol": text,
                "scoring": {"sampling": {text: text}, "stop": [text]},
                "identity": {text: text},
                "versions": {text: text},
                "tasks": tuple(
                    task.model_copy(update={"id": f"{task.id} {text}"}) for task in run.tasks
                ),
            }
        )
        own = {"fingerprint": fingerprint(changed.scoring, changed.tasks)}
        told = [
            trial.model_copy(
                update={
                    "task": f"{trial.task} {text}",
                    "error_class": text,
                    "error_message": text,
                    "limits_hit": (text,),
                    "replica": text,
                }
            )
            for trial in trials
        ]
        directory = write_made_up(where / "results", changed.model_copy(update=own), told)
        leave(directory, TRIAL, text)
        found = content_of([read_results(directory)], command=text)
        write_folder(found, where / "out", figures=True)
        shapes = {}
        for path, page in read(where / "out"):
            raw = path.read_bytes()
            assert not re.search(rb"[\x00-\x09\x0b-\x1f\x7f]", raw)
            assert "\u202e" not in raw.decode()
            assert b"<script>hit" not in raw
            assert raw.count(b"</script>") == 1
            assert not [a for _, a in page.tags for name in a if name.startswith("on")]
            shapes[path.name] = [tag for tag, _ in page.tags]
        for picture in (where / "out" / "figures").glob("*.svg"):
            assert "<script" not in picture.read_text()
        report = (where / "out" / "report.md").read_text()
        assert "<script" not in report
        assert "\x1b" not in report
        shapes["report.md"] = [str(line.count("|")) for line in report.splitlines()]
        assert json.loads((where / "out" / "report.json").read_text())["command"] == text
        return shapes

    assert shape(HOSTILE) == shape("plain text")


def test_a_trial_page_has_what_happened(content: Content, tmp_path: Path) -> None:
    write_folder(content, tmp_path / "out", figures=False)
    page = tmp_path / "out" / content.shown[1].page_of(TRIAL)
    text = page.read_text()
    for part in ("the task plain", "the screen plain", "Thinking", "look", 'class="keys"'):
        assert part in text
    assert text.count('<article class="turn"') == 2
    with zipfile.ZipFile(page.with_suffix(".zip")) as archive:
        assert archive.read("agent/pane.txt") == b"plain"


def test_megabytes_in_every_field_are_cut(directory: Path, tmp_path: Path) -> None:
    leave(directory, TRIAL, "<y>" * 1_000_000)
    found = content_of([read_results(directory)], command="x")
    write_folder(found, tmp_path / "out", figures=False)
    page = tmp_path / "out" / found.shown[0].page_of(TRIAL)
    assert 20_000 < page.stat().st_size < 700_000
    assert "characters left out" in page.read_text()


def test_only_pages_whose_trial_changed_are_written_again(
    content: Content, directory: Path, tmp_path: Path
) -> None:
    write_folder(content, tmp_path / "out", figures=False)
    assert write_folder(content, tmp_path / "out", figures=False).renewed == 0
    (directory / "trials" / TRIAL / "agent" / "pane.txt").write_text("longer than it was")
    assert write_folder(content, tmp_path / "out", figures=False).renewed == 1


def test_no_link_that_a_trial_planted_is_followed(
    content: Content, directory: Path, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("a secret of the host")
    trial = directory / "trials" / TRIAL
    (trial / "verifier" / "test-stdout.txt").unlink()
    (trial / "verifier" / "test-stdout.txt").symlink_to(secret)
    (trial / "agent" / "link").symlink_to(secret)
    (trial / "agent" / "folder").symlink_to(tmp_path)
    write_folder(content, tmp_path / "out", figures=False)
    for path in (tmp_path / "out").rglob("*"):
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive:
                assert not [n for n in archive.namelist() if "link" in n or "folder" in n]
        elif path.is_file():
            assert b"a secret of the host" not in path.read_bytes()


def test_the_page_says_what_compare_says(content: Content, tmp_path: Path) -> None:
    write_folder(content, tmp_path / "out", figures=False)
    data = json.loads((tmp_path / "out" / "report.json").read_text())
    index = (tmp_path / "out" / "index.html").read_text()
    (row,) = data["comparison"]["comparisons"]
    assert row["gained"] == ["one-of-two"]
    assert data["baseline"] == "base30b"
    for sentence in data["verdicts"]:
        assert sentence in index
    assert "solved by iter335 alone: one-of-two" in (tmp_path / "out" / "report.md").read_text()
    assert "base30b, iter335: only 60.0 % of the planned cells have a verdict." in data["warnings"]


def test_markdown_of_any_size_fits_a_comment() -> None:
    tasks = [f"task-{n:04}-{'x' * 40}" for n in range(900)]
    runs = []
    for n in range(4):
        run = make_run(tasks, 1, checkpoint=f"checkpoint-{n}", run_id=f"run-{n}")
        trials = [make_trial(task, 1, "unsolved") for task in tasks]
        runs.append(RunResults(Path(), run, cells_of(run, trials), tuple(trials)))
    text = report_markdown(content_of(runs, command="tbeval report"))
    assert len(text) <= LONGEST
    assert "more tasks are in index.html" in text
    assert "900 of 900 tasks were solved by none" in text


def test_runs_that_were_not_measured_alike_are_shown_and_not_compared(
    base: Path, tmp_path: Path
) -> None:
    other = write_made_up(
        tmp_path / "results", make_run(["all-solved"], 1), [make_trial("all-solved", 1, "solved")]
    )
    found = content_of([read_results(base), read_results(other)], command="x")
    assert found.comparison is None
    assert "not measured alike" in found.refused[0]
    assert write_folder(found, tmp_path / "out", figures=False).index.is_file()


@pytest.mark.parametrize("outcome", ["unscored:sandbox", "solved"])
def test_a_report_of_one_task_and_of_no_verdict(tmp_path: Path, outcome: str) -> None:
    made = write_made_up(tmp_path, make_run(["a"], 1), [make_trial("a", 1, outcome)])
    found = content_of([read_results(made)], command="x")
    index = write_folder(found, tmp_path / "out").index.read_text()
    assert ("no trial has a verdict" in index) == (outcome != "solved")


@pytest.mark.parametrize("name", ["..", ".", "", "a/b", "x" * 300, "a b", ".hidden", "\x00"])
def test_a_file_name_is_harmless_and_its_own(name: str) -> None:
    made = file_name(name)
    assert re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,150}", made)
    assert made != file_name(name + "!")
    assert file_name(made) == made


@pytest.mark.usefixtures("base", "directory")
def test_the_command_writes_where_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "references.toml").write_text(
        '[[reference]]\nname = "published <b>"\npass_at_1 = 0.525\ntasks = 80\n'
    )
    asked = ["base30b", "iter335", "-o", "made", "--no-figures", "--references", "references.toml"]
    done = CliRunner().invoke(command, asked, catch_exceptions=False)
    assert "report: made/index.html" in done.output
    assert "trial pages: 28, of which 28 are new" in done.output
    index = (tmp_path / "made" / "index.html").read_text()
    assert "published &lt;b&gt;" in index
    assert "52.5 %" in index
    assert "tbeval report base30b iter335" in index


@pytest.mark.usefixtures("base", "directory")
@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (["nobody"], 'no run "nobody"'),
        (["iter335", "--baseline", "x"], 'the baseline "x" is none of the runs'),
        (["iter335", "--references", "absent.toml"], "there is no file absent.toml"),
    ],
)
def test_what_cannot_be_reported_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: list[str], sentence: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SettingsError, match=re.escape(sentence)):
        CliRunner().invoke(command, asked, catch_exceptions=False)
