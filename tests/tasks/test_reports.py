"""How reports are put together: rules that hold whatever pytest reported."""

import json
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tbeval.records.verdict import TestOutcome, VerifierStatus
from tbeval.tasks import report_plugin, reports
from tbeval.tasks.judge import judge
from tbeval.tasks.reports import (
    Result,
    Session,
    combine,
    count,
    merge,
    parse_report,
    read_session,
    solved_as_published,
)
from tbeval.tasks.reports import test_key as key_of

START = {
    "event": "start", "nonce": "n", "process": 1, "rootdir": "/tests", "cwd": "/app",
    "pytest": "8", "python": "3",
}  # fmt: skip
IDS = st.sampled_from(["test_a.py::test_x", "test_a.py::test_y", "test_b.py::test_x"])
PHASES = st.builds(
    Result,
    event=st.just("result"),
    id=IDS,
    path=st.sampled_from(["/tests/test_a.py", "/app/test_a.py"]),
    when=st.sampled_from(["setup", "call", "teardown"]),
    outcome=st.sampled_from(["passed", "failed", "skipped", "rerun"]),
    xfail=st.booleans(),
    message=st.sampled_from(["", "why"]),
)
OUTCOMES = st.dictionaries(IDS, st.sampled_from(TestOutcome))
SESSIONS = st.builds(
    lambda tests: Session(tests=tests, status=0, ended=True, ran=len(tests)), OUTCOMES
)


def lines(*events: dict[str, object]) -> bytes:
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


def result(node: str, when: str, outcome: str, *, xfail: bool = False) -> dict[str, object]:
    path = "/tests/" + node.partition("::")[0]
    return {
        "event": "result", "id": node, "path": path, "when": when, "outcome": outcome,
        "xfail": xfail, "message": "",
    }  # fmt: skip


def phases(*pairs: tuple[str, str], xfail: bool = False) -> list[Result]:
    return [
        Result.model_validate(result("t.py::t", when, outcome, xfail=xfail))
        for when, outcome in pairs
    ]


def test_both_sides_of_the_agreement_say_the_same() -> None:
    ours = (
        reports.PLUGIN, reports.REPORT_DIR, reports.REPORT_NONCE, reports.REPORT_OPTIONS,
        reports.REPORT_USER_SITE,
    )  # fmt: skip
    theirs = (
        report_plugin.MODULE, report_plugin.DIRECTORY, report_plugin.NONCE, report_plugin.OPTIONS,
        report_plugin.USER_SITE,
    )  # fmt: skip
    assert ours == theirs


@pytest.mark.parametrize(
    ("pairs", "xfail", "expected"),
    [
        ([("setup", "passed"), ("call", "passed"), ("teardown", "passed")], False, "passed"),
        ([("setup", "passed"), ("call", "failed"), ("teardown", "passed")], False, "failed"),
        ([("setup", "failed"), ("teardown", "passed")], False, "error"),
        ([("setup", "passed"), ("call", "passed"), ("teardown", "failed")], False, "error"),
        ([("setup", "skipped"), ("teardown", "passed")], False, "skipped"),
        ([("setup", "passed"), ("call", "skipped"), ("teardown", "passed")], True, "xfailed"),
        ([("setup", "passed"), ("call", "passed"), ("teardown", "passed")], True, "xpassed"),
        ([("setup", "passed"), ("call", "passed")], False, None),
        ([("setup", "passed")], False, None),
        ([], False, None),
        ([("???", "failed")], False, "error"),
    ],
)
def test_phases_make_a_result(
    pairs: list[tuple[str, str]], *, xfail: bool, expected: str | None
) -> None:
    outcome, _ = combine(phases(*pairs, xfail=xfail))
    assert outcome == (TestOutcome(expected) if expected else None)


def test_a_rerun_counts_by_its_last_run() -> None:
    once = [("setup", "passed"), ("call", "rerun"), ("teardown", "passed")]
    again = [("setup", "passed"), ("call", "passed"), ("teardown", "passed")]
    assert combine(phases(*once, *again))[0] is TestOutcome.PASSED
    assert combine(phases(*once, *again[:2]))[0] is None


@given(st.lists(PHASES), PHASES)
def test_one_more_phase_never_turns_a_failure_into_a_pass(
    before: list[Result], more: Result
) -> None:
    first, second = combine(before)[0], combine([*before, more])[0]
    if first in {TestOutcome.FAILED, TestOutcome.ERROR}:
        assert second in {TestOutcome.FAILED, TestOutcome.ERROR, None}


@given(st.lists(SESSIONS, max_size=4), st.randoms())
def test_the_order_of_sessions_does_not_matter(sessions: list[Session], random: object) -> None:
    shuffled = list(sessions)
    random.shuffle(shuffled)  # type: ignore[attr-defined] # hypothesis's Random
    assert merge(sessions)[0] == merge(shuffled)[0]


@settings(max_examples=1000)
@given(st.lists(SESSIONS, min_size=1, max_size=3), SESSIONS)
def test_one_more_report_never_solves_what_was_not_solved(
    sessions: list[Session], forged: Session
) -> None:
    before, after = merge(sessions)[0], merge([*sessions, forged])[0]
    if before:
        assert count(after).solved <= count(before).solved
        assert solved_as_published(after) <= solved_as_published(before)
    assert set(after) == set(before) | set(forged.tests)


@given(OUTCOMES)
def test_counts_add_up(tests: dict[str, TestOutcome]) -> None:
    counts = count(tests)
    assert counts.passed + counts.failed + counts.skipped == counts.total == len(tests)
    assert 0 <= counts.score <= 1
    assert counts.solved == (counts.total > 0 and counts.score == 1)
    if counts.solved:
        assert solved_as_published(tests)


def whole_report() -> bytes:
    items = [["test_a.py::x", "/tests/test_a.py"], ["test_a.py::y", "/tests/test_a.py"]]
    return lines(
        START,
        {"event": "collected", "items": items},
        *(result(node, when, "passed") for node, _ in items
          for when in ("setup", "call", "teardown")),
        {"event": "finish", "status": 0, "args": ["/tests"]},
        {"event": "end"},
    )  # fmt: skip


@given(st.integers(min_value=0, max_value=len(whole_report())))
def test_a_report_cut_off_anywhere_is_never_solved(length: int) -> None:
    data = whole_report()[:length]
    events = parse_report(data, "n")
    sessions = [] if events is None else [read_session(events)]
    report = judge(sessions, damaged=events is None, exit_code=137, timed_out=False, output="")
    finished = data.count(b'"finish"') and data.rstrip(b"\n").endswith(b"}")
    if report.status is VerifierStatus.OK:
        assert finished
    else:
        assert report.status is VerifierStatus.KILLED


@settings(max_examples=30)
@given(st.binary(), st.lists(st.recursive(st.none() | st.integers() | st.text(), st.lists)))
def test_whatever_stands_in_a_report_file_is_no_reason_to_fail(
    noise: bytes, values: Iterable[object]
) -> None:
    assert parse_report(noise, "n") is None
    text = b"\n".join(json.dumps(value).encode() for value in values)
    assert parse_report(text, "n") is None
    events = parse_report(lines(START) + noise + b"\n" + text, "n")
    assert events is not None
    assert read_session(events).killed


def test_reports_that_are_not_ours_or_are_meant_to_break_us() -> None:
    assert parse_report(whole_report(), "another") is None
    assert parse_report(lines(START) + b"[" * 200_000, "n") is not None
    assert parse_report(lines(START) + b'{"event": ' * 200_000, "n") is not None
    assert parse_report(lines(START) + b"9" * 10_000, "n") is not None


@pytest.mark.parametrize(
    ("node", "path", "expected"),
    [
        ("test_a.py::T::test_x[a::b]", "/tests/test_a.py", "test_a.py::T::test_x[a::b]"),
        ("test_a.py::test_x", "/tests/sub/test_a.py", "sub/test_a.py::test_x"),
        ("../tests/test_a.py::test_x", "/tests/test_a.py", "test_a.py::test_x"),
        ("test_a.py::test_x", "/app/tests/test_a.py", "/app/tests/test_a.py::test_x"),
        ("test_a.py", "/tests/test_a.py", "test_a.py"),
    ],
)
def test_keys(node: str, path: str, expected: str) -> None:
    assert key_of(node, path) == expected
