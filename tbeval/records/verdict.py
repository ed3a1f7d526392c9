"""What the verifier found: written to `verifier/tests.json`, read for the ledger."""

from enum import StrEnum

from pydantic import Field

from tbeval.records.base import Record


class TestOutcome(StrEnum):
    """The result of one test, as pytest itself reported it."""

    __test__ = False  # not a test class, whatever its name

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    SKIPPED = "skipped"
    XFAILED = "xfailed"
    XPASSED = "xpassed"


class TestCounts(Record):
    """Numbers of tests by result.

    `passed` counts passed and xfailed tests (an expected failure is what its author asked for);
    a test skipped at run time is not passed. `total` is the number of collected tests.
    """

    __test__ = False

    passed: int = Field(0, ge=0)
    failed: int = Field(0, ge=0)
    skipped: int = Field(0, ge=0)
    total: int = Field(0, ge=0)

    @property
    def score(self) -> float:
        """Passed over collected tests, 0 to 1; 0 if there are none."""
        return self.passed / self.total if self.total else 0.0

    @property
    def solved(self) -> bool:
        """Whether every collected test passed (at least one)."""
        return self.total > 0 and self.passed == self.total


class VerifierStatus(StrEnum):
    """Whether the verifier reached a verdict, and if not, why."""

    OK = "ok"
    TIMEOUT = "timeout"  # the test script ran out of the verifier's time
    NO_REPORT = "no report"  # the test script ended without a pytest report
    NO_TESTS = "no tests"  # pytest collected nothing
    TOOLS = "tools missing"  # the script could not install or find what it needs
    KILLED = "killed"  # the tests were killed from inside the sandbox
    SANDBOX = "sandbox died"  # the sandbox was gone before or while verifying
    CRASHED = "crashed"  # anything else; see `message`


class VerifierReport(Record):
    """The verifier's whole answer about one trial."""

    status: VerifierStatus
    message: str = ""
    counts: TestCounts = TestCounts()
    solved_published: bool | None = None  # by terminal-bench 0.2.18's rule: skips count as passed
    exit_code: int | None = None  # of the test script
    seconds: float = 0.0
    tests: dict[str, TestOutcome] = Field(default_factory=dict)  # node id -> result
    messages: dict[str, str] = Field(default_factory=dict)  # node id -> why it did not pass
