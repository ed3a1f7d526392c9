"""What pytest did, from the reports that our plugin wrote: pure functions on their bytes."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from tbeval.records.base import Record
from tbeval.records.verdict import TestCounts, TestOutcome

TESTS_DIR = "/tests"

# The plugin's side of the agreement. It must not import anything of ours, and we need no pytest
# to read what it wrote, so both sides have these; a test compares them.
PLUGIN = "tbeval_report"
REPORT_DIR = "TBEVAL_REPORT_DIR"
REPORT_NONCE = "TBEVAL_REPORT_NONCE"
REPORT_OPTIONS = "TBEVAL_REPORT_OPTIONS"
REPORT_USER_SITE = "TBEVAL_REPORT_USER_SITE"

#: From best to worst: of two results of one test the worse one counts.
_RANK = {
    TestOutcome.PASSED: 0,
    TestOutcome.XFAILED: 1,
    TestOutcome.SKIPPED: 2,
    TestOutcome.XPASSED: 3,
    TestOutcome.FAILED: 4,
    TestOutcome.ERROR: 5,
}
_PASSED = {TestOutcome.PASSED, TestOutcome.XFAILED}
_PASSED_AS_PUBLISHED = {TestOutcome.PASSED, TestOutcome.XFAILED, TestOutcome.SKIPPED}


class Start(Record):
    """A session began."""

    event: Literal["start"]
    nonce: str
    process: int
    rootdir: str
    cwd: str
    pytest: str
    python: str


class Collected(Record):
    """The tests that a session (or a worker of one) was going to run: node id and file."""

    event: Literal["collected"]
    items: tuple[tuple[str, str], ...]


class Uncollected(Record):
    """A file or class that could not be collected, or that skipped itself whole."""

    event: Literal["broken", "skipped"]
    path: str
    id: str = ""
    message: str


class Result(Record):
    """One phase of one test."""

    event: Literal["result"]
    id: str
    path: str
    when: str
    outcome: str
    xfail: bool
    message: str


class Stopped(Record):
    """Something ended the session from inside: `pytest.exit`, `sys.exit`, an internal error."""

    event: Literal["stopped"]
    internal: bool  # an error of pytest's own, or of a plugin
    message: str


class Finish(Record):
    """The session is over, with pytest's exit status."""

    event: Literal["finish"]
    status: int
    args: tuple[str, ...]


class End(Record):
    """The process of the session reached an orderly end."""

    event: Literal["end"]


Event = Start | Collected | Uncollected | Result | Stopped | Finish | End
_EVENT: TypeAdapter[Event] = TypeAdapter(Event)


@dataclass
class Session:
    """One pytest session.

    Attributes:
        tests: Key of each collected test -> its result; see `test_key`.
        messages: Key -> why it did not pass.
        status: pytest's exit status; None if the session did not get so far.
        ended: Whether the process reached an orderly end.
        stopped: Why the session was stopped from inside; empty if it was not.
        internal: Whether an internal error of pytest's stopped it.
        ran: How many of the tests ran to their end.
    """

    tests: dict[str, TestOutcome] = field(default_factory=dict)
    messages: dict[str, str] = field(default_factory=dict)
    status: int | None = None
    ended: bool = False
    stopped: str = ""
    internal: bool = False
    ran: int = 0

    @property
    def killed(self) -> bool:
        """Whether the process ended halfway, with no chance to say so."""
        return self.status is None and not self.ended

    @property
    def started(self) -> bool:
        """Whether there is anything to judge: tests, or the reason why there are none."""
        return bool(self.tests) or self.status == _NO_TESTS


_NO_TESTS = 5
_USAGE = 4


def parse_report(data: bytes, nonce: str) -> tuple[Event, ...] | None:
    """The events of one report file; None if it is not one that we asked for.

    A last line that was cut off and lines that are no events are left out: they take results
    away and so never make a result better.
    """
    events: list[Event] = []
    for line in data.split(b"\n"):
        try:
            events.append(_EVENT.validate_python(json.loads(line)))
        except (ValueError, RecursionError, ValidationError):
            continue
    first = events[0] if events else None
    if not isinstance(first, Start) or first.nonce != nonce:
        return None
    return tuple(events)


def test_key(node_id: str, path: str) -> str:
    """A name for a test that does not depend on pytest's root directory.

    Two calls from different directories give equal node ids to different tests, and different
    ones to the same test. So the file stands as a path, relative to /tests where it lies there.
    """
    file = path.removeprefix(TESTS_DIR + "/")
    _, separator, rest = node_id.partition("::")
    return f"{file}{separator}{rest}"


test_key.__test__ = False  # type: ignore[attr-defined] # its name looks like a test's


def read_session(events: Iterable[Event]) -> Session:
    """Put the events of one report together."""
    session = Session()
    phases: dict[str, list[Result]] = {}
    for event in events:
        match event:
            case Collected():
                for node_id, path in event.items:
                    phases.setdefault(test_key(node_id, path), [])
            case Result():
                phases.setdefault(test_key(event.id, event.path), []).append(event)
            case _:
                _note(session, event)
    for key, results in phases.items():
        _add_test(session, key, results)
    if session.stopped and not session.internal and not session.tests:
        _add(session, "pytest", TestOutcome.ERROR, f"stopped: {session.stopped}")
    return session


def _note(session: Session, event: Event) -> None:
    match event:
        case Uncollected():
            outcome = TestOutcome.ERROR if event.event == "broken" else TestOutcome.SKIPPED
            _add(session, test_key(event.id, event.path), outcome, event.message)
        case Stopped():
            session.stopped = event.message
            session.internal = event.internal
        case Finish():
            session.status = event.status
            if event.status == _USAGE:
                _add_missing(session, event.args)
        case End():
            session.ended = True
        case _:
            pass


def _add_test(session: Session, key: str, results: list[Result]) -> None:
    outcome, message = combine(results)
    if outcome is None:
        outcome = TestOutcome.ERROR
        message = message or session.stopped or "collected, but pytest ended before it was over"
    else:
        session.ran += 1
    _add(session, key, outcome, message)


def _add_missing(session: Session, args: tuple[str, ...]) -> None:
    """Count files that pytest was to run and did not find, if the agent could remove them."""
    for arg in args:
        if not arg.startswith(TESTS_DIR + "/"):
            _add(session, arg, TestOutcome.ERROR, "pytest could not find it")


def combine(phases: Iterable[Result]) -> tuple[TestOutcome | None, str]:
    """The result of one test from its phases, and why it did not pass.

    A test that ran several times counts with its worst result. The result is None while the
    last run of the test is not over.
    """
    worst = TestOutcome.PASSED
    message = ""
    over = False
    for phase in phases:
        if phase.when == "setup":
            over = False
        outcome = _phase_outcome(phase)
        if _RANK[outcome] > _RANK[worst]:
            worst, message = outcome, phase.message
        if phase.when not in {"setup", "call"}:  # teardown, or a worker's crash
            over = True
    return (worst if over else None), message


def _phase_outcome(phase: Result) -> TestOutcome:
    match phase.outcome:
        case "failed":
            in_call = phase.when == "call"
            return TestOutcome.FAILED if in_call else TestOutcome.ERROR
        case "skipped":
            return TestOutcome.XFAILED if phase.xfail else TestOutcome.SKIPPED
        case "passed" if phase.xfail and phase.when == "call":
            return TestOutcome.XPASSED
        case _:  # "rerun" too: the run that counts comes after it
            return TestOutcome.PASSED


def _add(session: Session, key: str, outcome: TestOutcome, message: str) -> None:
    _worse(session.tests, session.messages, key, outcome, message)


def _worse(
    tests: dict[str, TestOutcome],
    messages: dict[str, str],
    key: str,
    outcome: TestOutcome,
    message: str,
) -> None:
    if key in tests and _RANK[tests[key]] >= _RANK[outcome]:
        return
    tests[key] = outcome
    messages.pop(key, None)
    if message and outcome is not TestOutcome.PASSED:
        messages[key] = message


def merge(
    sessions: Iterable[Session],
) -> tuple[dict[str, TestOutcome], dict[str, str]]:
    """The tests of all sessions, and the messages; of two results of one test the worse one.

    So a second report can add tests, but it can never make one pass that failed.
    """
    tests: dict[str, TestOutcome] = {}
    messages: dict[str, str] = {}
    for session in sessions:
        for key, outcome in session.tests.items():
            _worse(tests, messages, key, outcome, session.messages.get(key, ""))
    return dict(sorted(tests.items())), dict(sorted(messages.items()))


def count(tests: dict[str, TestOutcome]) -> TestCounts:
    """How many tests came out how; docs/scoring.md says what counts as passed."""
    passed = sum(outcome in _PASSED for outcome in tests.values())
    skipped = sum(outcome is TestOutcome.SKIPPED for outcome in tests.values())
    return TestCounts(
        passed=passed,
        skipped=skipped,
        failed=len(tests) - passed - skipped,
        total=len(tests),
    )


def solved_as_published(tests: dict[str, TestOutcome]) -> bool:
    """The verdict by terminal-bench 0.2.18's rule: skips count as passed too."""
    return all(outcome in _PASSED_AS_PUBLISHED for outcome in tests.values())
