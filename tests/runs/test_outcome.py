"""Infrastructure is never the model's, and breaking things never pays."""

from typing import Any

import pytest

from tbeval.records.agent_report import AgentReport
from tbeval.records.outcome import Outcome, StopReason
from tbeval.records.sandbox import SandboxDeath, SandboxReport
from tbeval.records.verdict import TestCounts, VerifierReport, VerifierStatus
from tbeval.runs.outcome import Evidence, Failure, decide

ALL_PASSED = VerifierReport(
    status=VerifierStatus.OK, counts=TestCounts(passed=4, total=4), solved_published=True
)
SOME_PASSED = VerifierReport(
    status=VerifierStatus.OK, counts=TestCounts(passed=3, failed=1, total=4)
)
FINISHED = AgentReport(stop_reason=StopReason.FINISHED, turns=3)
ALIVE = SandboxReport()


def outcome(**evidence: Any) -> Outcome:
    fields = {"agent": FINISHED, "verifier": ALL_PASSED, "sandbox": ALIVE} | evidence
    return decide(Evidence(**fields)).outcome


def test_a_verdict() -> None:
    assert outcome() is Outcome.SOLVED
    assert outcome(verifier=SOME_PASSED) is Outcome.UNSOLVED


@pytest.mark.parametrize(
    "reason",
    [reason for reason in StopReason if reason is not StopReason.CRASHED],
)
def test_why_the_agent_stopped_is_not_a_verdict(reason: StopReason) -> None:
    assert outcome(agent=AgentReport(stop_reason=reason)) is Outcome.SOLVED
    assert outcome(agent=AgentReport(stop_reason=reason), verifier=SOME_PASSED) is Outcome.UNSOLVED


def test_a_solved_trial_stays_solved_though_harbor_recorded_a_time_limit() -> None:
    failure = Failure("AgentTimeoutError", "timed out")
    assert outcome(failure=failure) is Outcome.SOLVED


def test_an_endpoint_that_failed_decides_whatever_the_verifier_says() -> None:
    assert outcome(endpoint_failure="503 for 300 s") is Outcome.MODEL_ENDPOINT
    assert outcome(endpoint_failure="x", verifier=None) is Outcome.MODEL_ENDPOINT


def test_a_cancelled_trial_is_cancelled_whatever_else_happened() -> None:
    assert outcome(cancelled=True) is Outcome.CANCELLED
    assert outcome(cancelled=True, endpoint_failure="x") is Outcome.CANCELLED


@pytest.mark.parametrize("status", [s for s in VerifierStatus if s is not VerifierStatus.OK])
def test_a_sandbox_that_the_trial_broke_is_unsolved(status: VerifierStatus) -> None:
    broken = SandboxReport(death=SandboxDeath.TRIAL, message="out of memory")
    verifier = VerifierReport(status=status)
    assert outcome(sandbox=broken, verifier=verifier) is Outcome.UNSOLVED
    assert outcome(sandbox=broken, verifier=None) is Outcome.UNSOLVED


def test_a_sandbox_that_the_host_lost_is_unscored() -> None:
    lost = SandboxReport(death=SandboxDeath.HOST, message="gone")
    died = VerifierReport(status=VerifierStatus.SANDBOX)
    assert outcome(sandbox=lost, verifier=died) is Outcome.SANDBOX
    assert outcome(sandbox=lost, verifier=None) is Outcome.SANDBOX
    assert outcome(verifier=died) is Outcome.SANDBOX


def test_tests_that_had_reported_before_the_sandbox_died_count() -> None:
    assert outcome(sandbox=SandboxReport(death=SandboxDeath.HOST)) is Outcome.SOLVED


@pytest.mark.parametrize(
    "status",
    [
        VerifierStatus.NO_REPORT,
        VerifierStatus.NO_TESTS,
        VerifierStatus.TOOLS,
        VerifierStatus.CRASHED,
        VerifierStatus.TIMEOUT,
    ],
)
def test_a_verifier_without_a_verdict_is_unscored(status: VerifierStatus) -> None:
    assert outcome(verifier=VerifierReport(status=status)) is Outcome.VERIFIER


def test_who_kills_or_stalls_the_verifier_does_not_gain() -> None:
    assert outcome(verifier=VerifierReport(status=VerifierStatus.KILLED)) is Outcome.UNSOLVED
    late = VerifierReport(status=VerifierStatus.TIMEOUT)
    assert outcome(verifier=late, verifies_in_time=True) is Outcome.UNSOLVED
    assert outcome(verifier=late, verifies_in_time=False) is Outcome.VERIFIER


def test_an_agent_of_ours_that_crashed_is_the_harness() -> None:
    crashed = AgentReport(stop_reason=StopReason.CRASHED, error_class="KeyError")
    assert outcome(agent=crashed) is Outcome.HARNESS


@pytest.mark.parametrize(
    ("error", "sandbox", "created", "expected"),
    [
        ("TaskSetupError", None, True, Outcome.TASK),
        ("TaskSetupError", ALIVE, True, Outcome.TASK),
        ("UnsupportedTaskError", None, False, Outcome.TASK),
        ("ValidationError", None, False, Outcome.TASK),
        ("OSError", None, False, Outcome.HARNESS),
        ("SandboxStartError", None, True, Outcome.SANDBOX),
        ("EnvironmentStartTimeoutError", ALIVE, True, Outcome.SANDBOX),
        ("AgentSetupError", ALIVE, True, Outcome.AGENT_SETUP),
        ("AgentSetupTimeoutError", ALIVE, True, Outcome.AGENT_SETUP),
    ],
)
def test_what_fails_before_the_agent_is_never_a_verdict(
    error: str, sandbox: SandboxReport | None, *, created: bool, expected: Outcome
) -> None:
    failure = Failure(error, "why")
    got = outcome(agent=None, verifier=None, failure=failure, sandbox=sandbox, created=created)
    assert got is expected


def test_a_verifier_that_never_reported_is_the_harness() -> None:
    assert outcome(verifier=None, failure=Failure("KeyError", "x")) is Outcome.HARNESS
