"""In CI nothing is skipped in silence; tests of sandboxes are marked as such.

On a user's machine a test whose service is missing skips and says why. CI installs every service,
so there a skip hides a test that should have run: with `CI=true` it fails the session, unless its
reason is one of those that no set-up can remove.
"""

import os
from collections.abc import Generator
from pathlib import Path

import pytest

import tbeval  # noqa: F401 - turns off what harbor and litellm send, before a test imports them

#: How the reasons begin that are in order in CI. The first two meet there: it runs as both.
ALLOWED_IN_CI = ("needs root", "needs an ordinary user", "../shared is missing")

#: Whose tests all start sandboxes.
SANDBOXES = Path(__file__).parent / "sandboxes"

_SKIPS = pytest.StashKey[list[str]]()


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    where = report.longrepr
    reason = where[2] if isinstance(where, tuple) else str(where)
    return reason.removeprefix("Skipped: ")


class NoSilentSkips:
    """Collects the skips of a session and fails it if one of them is not in order."""

    def __init__(self, config: pytest.Config) -> None:
        config.stash[_SKIPS] = []
        self._skips = config.stash[_SKIPS]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.skipped and not hasattr(report, "wasxfail"):
            self._take(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.skipped:
            self._take(report)

    def _take(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        reason = _reason(report)
        if not reason.startswith(ALLOWED_IN_CI):
            self._skips.append(f"{report.nodeid}: {reason}")

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None]:
        if self._skips and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        yield

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._skips:
            terminalreporter.section("skipped, which CI does not allow", red=True)
            for skip in self._skips:
                terminalreporter.line(skip)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Escapes lone surrogates in what a test printed or logged: xdist cannot send them on."""
    report = yield
    report.sections = [
        (name, text.encode(errors="backslashreplace").decode()) for name, text in report.sections
    ]
    return report


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(SANDBOXES):
            item.add_marker(pytest.mark.sandbox)


def pytest_configure(config: pytest.Config) -> None:
    if os.environ.get("CI") == "true":
        config.pluginmanager.register(NoSilentSkips(config), "no-silent-skips")
