"""From what a test script left behind to the verifier's answer; docs/scoring.md has the rules."""

import re
import signal
from collections.abc import Sequence

from tbeval.records.verdict import VerifierReport, VerifierStatus
from tbeval.tasks.reports import PLUGIN, Session, count, merge, solved_as_published
from tbeval.tasks.tool_errors import missing_tool

#: Signals that somebody sends; faults such as SIGSEGV are the program's own.
_SENT = ("SIGHUP", "SIGINT", "SIGQUIT", "SIGKILL", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGTERM")
_KILLED = {128 + signal.Signals[name]: name for name in _SENT}
#: What bash says of a pytest that a signal ended, where the script goes on after it.
_SAID_KILLED = re.compile(
    r"line \d+:\s+\d+ (Hangup|Quit|Killed|User defined signal [12]|Alarm clock|Terminated)\b"
    r".*\bpytest\b.*"
)
_HIDDEN_PLUGIN = (
    "the test script replaces PYTHONPATH, which hides the reporting plugin;"
    " let it add to PYTHONPATH instead"
)
_MESSAGES_LIMIT = 256 * 1024  # characters, all messages of a trial together


def judge(
    sessions: Sequence[Session],
    *,
    damaged: int = 0,
    exit_code: int | None,
    timed_out: bool,
    output: str,
    seconds: float = 0.0,
) -> VerifierReport:
    """The verifier's answer.

    Args:
        sessions: What pytest reported, one for each of its processes.
        damaged: Number of report files that are not, or no longer, ours.
        exit_code: Of the test script; 128 + signal if a signal ended it.
        timed_out: Whether the verifier's time limit ended it.
        output: What the script printed, for the sentence that tells why there is no verdict.
        seconds: How long the script ran.
    """
    tests, messages = merge(sessions)
    status, message = _status(sessions, damaged, exit_code, timed_out=timed_out, output=output)
    return VerifierReport(
        status=status,
        message=message,
        counts=count(tests),
        solved_published=solved_as_published(tests) if status is VerifierStatus.OK else None,
        exit_code=exit_code,
        seconds=seconds,
        tests=tests,
        messages=_within_limit(messages),
    )


def _status(
    sessions: Sequence[Session],
    damaged: int,
    exit_code: int | None,
    *,
    timed_out: bool,
    output: str,
) -> tuple[VerifierStatus, str]:
    if timed_out:
        tool = None if sessions else missing_tool(output)
        if tool:
            return VerifierStatus.TOOLS, tool
        return VerifierStatus.TIMEOUT, f"the test script ran out of time; {_progress(sessions)}"
    if not sessions:
        return _without_report(damaged, exit_code, output)
    return _with_reports(sessions, output)


def _without_report(damaged: int, exit_code: int | None, output: str) -> tuple[VerifierStatus, str]:
    if exit_code in _KILLED:
        what = f"{_KILLED[exit_code]} ended the test script before a report"
        return VerifierStatus.KILLED, f"{what}: {_last_line(output)}"
    if damaged:
        return VerifierStatus.KILLED, "the report was damaged while the tests ran"
    if f'Error importing plugin "{PLUGIN}"' in output:
        return VerifierStatus.CRASHED, _HIDDEN_PLUGIN
    tool = missing_tool(output)
    if tool:
        return VerifierStatus.TOOLS, tool
    said = _SAID_KILLED.search(output)
    if said:
        return VerifierStatus.KILLED, f"a signal ended pytest before its report: {said[0][:200]}"
    return (
        VerifierStatus.NO_REPORT,
        f"the test script ended with {exit_code} and no pytest report: {_last_line(output)}",
    )


def _with_reports(sessions: Sequence[Session], output: str) -> tuple[VerifierStatus, str]:
    if any(session.killed for session in sessions):
        return VerifierStatus.KILLED, f"pytest was ended halfway; {_progress(sessions)}"
    if not all(session.started for session in sessions):
        tool = missing_tool(output)
        if tool:
            return VerifierStatus.TOOLS, tool
        why = next((session.stopped for session in sessions if session.internal), "")
        return VerifierStatus.CRASHED, f"pytest could not start: {why or _last_line(output)}"
    if not any(session.tests for session in sessions):
        return VerifierStatus.NO_TESTS, "pytest collected no test"
    unrun = any(session.ran < len(session.tests) for session in sessions)
    return VerifierStatus.OK, _progress(sessions) if unrun else ""


def _progress(sessions: Sequence[Session]) -> str:
    collected = sum(len(session.tests) for session in sessions)
    ran = sum(session.ran for session in sessions)
    return f"{ran} of {collected} tests ran"


def _last_line(output: str) -> str:
    lines = output.strip().splitlines()
    return lines[-1].strip()[:300] if lines else "it printed nothing"


def _within_limit(messages: dict[str, str]) -> dict[str, str]:
    kept: dict[str, str] = {}
    room = _MESSAGES_LIMIT
    for key, message in messages.items():
        kept[key] = message[:room]
        room -= len(kept[key])
        if room <= 0:
            break
    return kept
