"""The page of a trial, and the raw files beside it."""

import hashlib
import io
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import zstandard
from pydantic import ValidationError

from tbeval.records.ledger import TrialRecord
from tbeval.records.model_record import DIRECTORY, SUFFIX, read_record
from tbeval.records.verdict import TestOutcome, VerifierReport
from tbeval.reports.page.content import Content, Shown, file_name
from tbeval.reports.page.reading import capped, read_inside, text_inside
from tbeval.reports.page.render import template_digest, trial_html
from tbeval.reports.page.turns import Turn, turns_of

#: Raw files up to this size are copied, and so much of them per trial; bytes.
RAW_FILE = 500_000
RAW_TRIAL = 2_000_000
#: Turns shown from the begin and from the end, and tests.
HEAD, TAIL = 40, 20
MOST_TESTS = 200
_SOURCES = ("verifier/tests.json", "verifier/test-stdout.txt")
_EPOCH = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True)
class TestLine:
    """A test and why it did not pass."""

    __test__ = False

    name: str
    outcome: str
    passed: bool
    message: str


@dataclass(frozen=True)
class Raw:
    """A file that the trial left. `copied` tells whether it is in the archive."""

    name: str
    size: int
    copied: bool


@dataclass(frozen=True)
class Sibling:
    """Another trial of the same task. `page` is relative to the page that names it."""

    name: str
    outcome: str
    page: str
    current: bool


def key_of(content: Content, shown: Shown, trial: TrialRecord) -> str:
    """A checksum of all that the page of a trial is made of: equal ones need not be written."""
    seen = [template_digest(), trial.model_dump_json(), repr(_siblings(content, shown, trial))]
    directory = shown.results.directory
    for path in (_model_record(directory, trial), *_raw_paths(directory, trial)):
        try:
            status = path.lstat()
        except OSError:
            continue
        seen.append(f"{path.name} {status.st_size} {status.st_mtime_ns}")
    return hashlib.sha256("\n".join(seen).encode(errors="replace")).hexdigest()


def page_of(content: Content, shown: Shown, trial: TrialRecord, key: str) -> tuple[str, bytes]:
    """The page of a trial, and its raw files as a zip archive (empty if there are none)."""
    directory = shown.results.directory / "trials" / trial.trial_id
    report = _verifier_report(directory)
    raw, archive = _archive(directory)
    turns, broken = _turns(shown.results.directory, trial)
    html = trial_html(
        key=key,
        shown=shown,
        trial=trial,
        seconds=_seconds(trial),
        siblings=_siblings(content, shown, trial),
        up="../" * shown.folder.count("/") + "../index.html",
        verifier=report,
        tests=_tests(report),
        more_tests=max(0, len(report.tests) - MOST_TESTS) if report else 0,
        first=turns[:HEAD] if len(turns) > HEAD + TAIL else turns,
        left_out=max(0, len(turns) - HEAD - TAIL),
        last=turns[-TAIL:] if len(turns) > HEAD + TAIL else [],
        broken=broken,
        output=capped(text_inside(directory, "verifier/test-stdout.txt") or "", 10_000, 10_000),
        raw=raw,
        archive=f"{file_name(trial.trial_id)}.zip" if archive else "",
    )
    return html, archive


def _seconds(trial: TrialRecord) -> dict[str, float]:
    """Phase → its seconds; a phase may be entered several times."""
    found: dict[str, float] = {}
    for phase in trial.phases:
        found[phase.name] = found.get(phase.name, 0.0) + phase.seconds
    return found


def _siblings(content: Content, shown: Shown, trial: TrialRecord) -> tuple[Sibling, ...]:
    found = []
    for other in content.shown:
        for each in other.results.trials:
            if each.task != trial.task:
                continue
            name = f"{other.name}, attempt {each.attempt}"
            name += f", try {each.try_number}" if each.try_number > 1 else ""
            page = "../" * (shown.folder.count("/") + 1) + other.page_of(each.trial_id)
            current = other is shown and each.trial_id == trial.trial_id
            found.append(Sibling(name, each.outcome.value, page, current))
    return tuple(found)


def _verifier_report(directory: Path) -> VerifierReport | None:
    data = read_inside(directory, "verifier/tests.json")
    try:
        return VerifierReport.model_validate_json(data) if data else None
    except ValidationError:
        return None


def _tests(report: VerifierReport | None) -> list[TestLine]:
    if report is None:
        return []
    passing = {TestOutcome.PASSED, TestOutcome.XFAILED}
    lines = [
        TestLine(name, outcome.value, outcome in passing, capped(report.messages.get(name, "")))
        for name, outcome in report.tests.items()
    ]
    return sorted(lines, key=lambda line: line.passed)[:MOST_TESTS]


def _model_record(directory: Path, trial: TrialRecord) -> Path:
    return directory / DIRECTORY / f"{trial.trial_id}{SUFFIX}"


def _turns(directory: Path, trial: TrialRecord) -> tuple[list[Turn], str]:
    """The turns, and what is wrong with their record; both may be empty."""
    path = _model_record(directory, trial)
    if "/" in trial.trial_id or not path.is_file() or path.is_symlink():
        return [], ""
    try:
        return turns_of(read_record(path)), ""
    except (OSError, ValueError, RecursionError, zstandard.ZstdError) as error:
        return [], f"The record of the model's calls cannot be read ({error})."


def _raw_paths(directory: Path, trial: TrialRecord) -> list[Path]:
    return [path for path in _files(directory / "trials" / trial.trial_id) if path.is_file()]


def _files(directory: Path) -> Iterator[Path]:
    """The regular files below a trial's directory, in the order of their names."""
    if not directory.is_dir() or directory.is_symlink():
        return
    for folder, folders, names in directory.walk():
        folders.sort()
        yield from (folder / name for name in sorted(names) if not (folder / name).is_symlink())


def _archive(directory: Path) -> tuple[tuple[Raw, ...], bytes]:
    found: list[Raw] = []
    buffer, room = io.BytesIO(), RAW_TRIAL
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in _files(directory):
            name = path.relative_to(directory).as_posix()
            size = path.lstat().st_size
            data = read_inside(directory, name) if size <= min(RAW_FILE, room) else None
            if data is not None:
                room -= len(data)
                safe = "/".join(file_name(part) for part in name.split("/"))
                archive.writestr(zipfile.ZipInfo(safe, _EPOCH), data, zipfile.ZIP_DEFLATED)
            found.append(Raw(name, size, data is not None))
    copied = any(each.copied for each in found)
    return tuple(found), buffer.getvalue() if copied else b""
