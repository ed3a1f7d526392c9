"""Test scripts of every shape, run for real."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tbeval.records.sandbox import SandboxDiedError
from tbeval.records.verdict import TestOutcome, VerifierStatus
from tbeval.tasks.verifier import (
    ERROR_POLICY,
    ERRORS,
    VerifierKilledError,
    VerifierNoReportError,
    VerifierNoTestsError,
    VerifierTimeLimitError,
    VerifierToolsError,
)

if TYPE_CHECKING:
    from tests.tasks.conftest import OpenSandbox, Verify

pytestmark = pytest.mark.sandbox

BOTH = pytest.mark.parametrize("sandbox", ["private", "open"], indirect=True)
RUN = "pytest /tests/test_it.py -rA"
TWO_PASS = "def test_a(): pass\ndef test_b(): pass\n"
ONE_FAILS = "def test_a(): pass\ndef test_b(): assert 1 == 2, 'no'\n"


async def test_all_pass(verify: Verify) -> None:
    found = await verify(RUN, {"test_it.py": TWO_PASS})
    assert found.rewards == {"reward": 1, "score": 1.0}
    assert found.report.tests == {
        "test_it.py::test_a": TestOutcome.PASSED,
        "test_it.py::test_b": TestOutcome.PASSED,
    }
    assert found.report.solved_published
    assert found.report.exit_code == 0
    assert b"2 passed" in found.output


@BOTH
async def test_partial_credit(verify: Verify) -> None:
    found = await verify(RUN, {"test_it.py": ONE_FAILS})
    assert found.rewards == {"reward": 0, "score": 0.5}
    assert found.report.solved_published is False
    assert "assert 1 == 2" in found.report.messages["test_it.py::test_b"]


@pytest.mark.parametrize(
    "script",
    [f"{RUN} || true", f"set -e\n{RUN}\necho never", f"{RUN}; exit 0", f"{RUN}; exit 77"],
)
async def test_a_complete_report_outweighs_the_exit_code(verify: Verify, script: str) -> None:
    found = await verify(script, {"test_it.py": ONE_FAILS})
    assert found.rewards == {"reward": 0, "score": 0.5}


async def test_script_without_shebang_or_mode(verify: Verify) -> None:
    found = await verify(RUN, {"test_it.py": TWO_PASS, "test.sh": RUN})
    assert found.report.counts.solved


@pytest.mark.parametrize(
    "script",
    [
        "uvx -p 3.13 -w pytest==8.4.1 pytest /tests/test_it.py",
        "set -e\nuv-not-there 2>/dev/null || true\nuv init; uv run pytest",
        "echo 'curl: (6) Could not resolve host: astral.sh' >&2; exit 6",
        "python3 -S -m pytest /tests/test_it.py",
    ],
)
async def test_missing_tools(verify: Verify, script: str) -> None:
    found = await verify(f"export PATH=/usr/bin:/bin\n{script}", {"test_it.py": TWO_PASS})
    assert found.report.status is VerifierStatus.TOOLS
    assert isinstance(found.error, VerifierToolsError)
    assert found.rewards is None


async def test_tool_errors_before_a_report_do_not_matter(verify: Verify) -> None:
    script = f"nosuchtool; uv-x; curl -s http://127.0.0.1:9/ ; apt-get install x; {RUN}"
    found = await verify(script, {"test_it.py": TWO_PASS})
    assert found.rewards == {"reward": 1, "score": 1.0}


@BOTH
async def test_no_report(verify: Verify) -> None:
    found = await verify("echo all is well; exit 3", {})
    assert found.report.status is VerifierStatus.NO_REPORT
    assert isinstance(found.error, VerifierNoReportError)
    assert "all is well" in found.report.message
    assert found.report.exit_code == 3


async def test_no_tests(verify: Verify) -> None:
    found = await verify(RUN, {"test_it.py": "x = 1\n"})
    assert found.report.status is VerifierStatus.NO_TESTS
    assert isinstance(found.error, VerifierNoTestsError)
    assert found.report.solved_published is None


@BOTH
async def test_equal_names_in_two_files(verify: Verify) -> None:
    found = await verify(
        "pytest /tests/a/test_it.py; pytest /tests/b/test_it.py; cd /tests/a; pytest test_it.py",
        {"a/test_it.py": ONE_FAILS, "b/test_it.py": TWO_PASS},
    )
    assert found.report.counts.total == 4
    assert found.report.counts.passed == 3
    assert found.report.tests["a/test_it.py::test_b"] is TestOutcome.FAILED
    assert found.report.tests["b/test_it.py::test_b"] is TestOutcome.PASSED


async def test_the_worse_of_two_runs_of_one_test_counts(verify: Verify) -> None:
    test = "import os\ndef test_a(): assert not os.path.exists('/tmp/ran')\n"
    script = f"{RUN}; touch /tmp/ran; {RUN}; rm /tmp/ran; {RUN}"
    found = await verify(script, {"test_it.py": test})
    assert found.report.counts.total == 1
    assert found.rewards == {"reward": 0, "score": 0.0}


async def test_every_result_there_is(verify: Verify) -> None:
    found = await verify(
        RUN,
        {
            "test_it.py": """
import pytest
def test_passes(): pass
def test_fails(): assert False
def test_skips(): pytest.skip("not here")
@pytest.mark.skip(reason="never")
def test_marked(): pass
@pytest.mark.xfail
def test_xfails(): assert False
@pytest.mark.xfail(run=False)
def test_xfails_unrun(): assert False
@pytest.mark.xfail
def test_xpasses(): pass
@pytest.mark.xfail(strict=True)
def test_xpasses_strictly(): pass
@pytest.fixture
def broken(): raise OSError("setup")
def test_setup(broken): pass
@pytest.fixture
def leaks():
    yield
    raise OSError("teardown")
def test_teardown(leaks): pass
@pytest.mark.parametrize("x", [1, 2, "a b::c/[d]"])
def test_each(x): assert x != 2
class TestClass:
    def test_method(self): pass
"""
        },
    )
    of = {key.partition("::")[2]: outcome.value for key, outcome in found.report.tests.items()}
    assert of == {
        "test_passes": "passed",
        "test_fails": "failed",
        "test_skips": "skipped",
        "test_marked": "skipped",
        "test_xfails": "xfailed",
        "test_xfails_unrun": "xfailed",
        "test_xpasses": "xpassed",
        "test_xpasses_strictly": "failed",
        "test_setup": "error",
        "test_teardown": "error",
        "test_each[1]": "passed",
        "test_each[2]": "failed",
        "test_each[a b::c/[d]]": "passed",
        "TestClass::test_method": "passed",
    }
    counts = found.report.counts
    assert (counts.passed, counts.failed, counts.skipped, counts.total) == (6, 6, 2, 14)
    assert found.report.messages["test_it.py::test_skips"] == "Skipped: not here"
    assert "OSError: teardown" in found.report.messages["test_it.py::test_teardown"]


async def test_a_skip_is_not_solved_but_was_as_published(verify: Verify) -> None:
    test = "import pytest\ndef test_a(): pass\ndef test_b(): pytest.skip('x')\n"
    found = await verify(RUN, {"test_it.py": test})
    assert found.rewards == {"reward": 0, "score": 0.5}
    assert found.report.solved_published is True


async def test_deselected_tests_do_not_count(verify: Verify) -> None:
    found = await verify(f"{RUN} -k test_a", {"test_it.py": ONE_FAILS})
    assert found.rewards == {"reward": 1, "score": 1.0}


async def test_tests_that_did_not_run_have_not_passed(verify: Verify) -> None:
    test = "def test_a(): pass\ndef test_b(): assert 0\ndef test_c(): pass\ndef test_d(): pass\n"
    found = await verify(f"{RUN} -x", {"test_it.py": test})
    assert found.rewards == {"reward": 0, "score": 0.25}
    assert found.report.message == "2 of 4 tests ran"
    assert found.report.tests["test_it.py::test_d"] is TestOutcome.ERROR


@BOTH
async def test_hanging_test(verify: Verify) -> None:
    test = "import time\ndef test_a(): pass\ndef test_b(): time.sleep(600)\ndef test_c(): pass\n"
    found = await verify(RUN, {"test_it.py": test}, time_limit_sec=4.0)
    assert found.report.status is VerifierStatus.TIMEOUT
    assert isinstance(found.error, VerifierTimeLimitError)
    assert found.report.counts.total == 3
    assert found.report.counts.passed == 1
    assert "1 of 3 tests ran" in found.report.message


@pytest.mark.parametrize(
    "death", ["os._exit(0)", "os.kill(os.getpid(), 9)", "os.kill(os.getppid(), 9); os._exit(0)"]
)
async def test_pytest_that_dies_halfway(verify: Verify, death: str) -> None:
    test = f"import os\ndef test_a(): pass\ndef test_b(): {death}\ndef test_c(): pass\n"
    found = await verify(f"{RUN} || true", {"test_it.py": test})
    assert found.report.status is VerifierStatus.KILLED
    assert isinstance(found.error, VerifierKilledError)
    assert found.report.counts.total == 3
    assert found.report.counts.passed == 1


@BOTH
async def test_script_killed_before_any_report(verify: Verify) -> None:
    found = await verify("kill -9 $$", {})
    assert found.report.status is VerifierStatus.KILLED
    assert "SIGKILL" in found.report.message


async def test_module_that_the_agent_did_not_write(verify: Verify) -> None:
    found = await verify(RUN, {"test_it.py": "import answer\ndef test_a(): pass\n"})
    assert found.rewards == {"reward": 0, "score": 0.0}
    assert found.report.counts.total == 1
    assert "No module named 'answer'" in found.report.messages["test_it.py"]


async def test_one_broken_file_among_two(verify: Verify) -> None:
    files = {"test_it.py": "import answer\ndef test_a(): pass\n", "test_more.py": TWO_PASS}
    found = await verify("pytest /tests -rA --continue-on-collection-errors", files)
    assert found.report.counts.total == 3
    assert found.report.counts.passed == 2
    assert found.report.tests["test_it.py"] is TestOutcome.ERROR


async def test_a_broken_file_stops_the_others(verify: Verify) -> None:
    files = {"test_it.py": "import answer\ndef test_a(): pass\n", "test_more.py": TWO_PASS}
    found = await verify("pytest /tests -rA", files)
    assert found.rewards == {"reward": 0, "score": 0.0}
    assert found.report.message == "0 of 3 tests ran"


async def test_conftest_that_imports_what_the_agent_did_not_write(verify: Verify) -> None:
    files = {"conftest.py": "import answer\n", "test_it.py": TWO_PASS}
    found = await verify(RUN, files)
    assert found.report.status is VerifierStatus.OK
    assert found.rewards == {"reward": 0, "score": 0.0}
    assert list(found.report.tests) == ["conftest.py"]


@pytest.mark.parametrize(
    "answer",
    [
        "import sys; sys.exit(0)",
        "import pytest; pytest.exit('done', returncode=0)",
        "import pytest; pytest.exit('done', returncode=5)",
        "import pytest; pytest.skip('no', allow_module_level=True)",
        "raise KeyboardInterrupt",
        "import os; os._exit(0)",
        "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
    ],
)
async def test_an_answer_that_stops_pytest_is_never_solved_nor_a_fault_of_ours(
    verify: Verify, sandbox: OpenSandbox, answer: str
) -> None:
    sandbox.host("/app/answer.py").write_text(answer)
    files = {"test_it.py": "import sys; sys.path.insert(0, '/app')\nimport answer\n" + TWO_PASS}
    found = await verify(RUN, files)
    assert found.report.status in {VerifierStatus.OK, VerifierStatus.KILLED}
    assert not found.report.counts.solved
    assert found.report.counts.passed == 0


async def test_pytest_that_is_asked_for_what_it_cannot_do(verify: Verify) -> None:
    found = await verify("pytest /tests/test_it.py --no-such-option", {"test_it.py": TWO_PASS})
    assert found.report.status is VerifierStatus.CRASHED
    assert "pytest could not start" in found.report.message


async def test_a_pytest_that_breaks_is_not_the_agents_fault(verify: Verify) -> None:
    broken = "def pytest_collection(session): raise OSError('no space')\n"
    found = await verify(RUN, {"test_it.py": TWO_PASS, "conftest.py": broken})
    assert found.report.status is VerifierStatus.CRASHED
    assert "no space" in found.report.message


async def test_pytest_that_is_asked_to_tell_something_runs_nothing(verify: Verify) -> None:
    script = f"pytest --version\npytest --collect-only /tests\n{RUN}\npytest --fixtures"
    found = await verify(script, {"test_it.py": ONE_FAILS})
    assert found.rewards == {"reward": 0, "score": 0.5}
    assert found.report.message == ""


async def test_missing_file_of_the_task(verify: Verify) -> None:
    found = await verify("pytest /tests/test_gone.py", {"test_it.py": TWO_PASS})
    assert found.report.status is VerifierStatus.CRASHED
    assert "could not start" in found.report.message


async def test_file_that_the_agent_removed(verify: Verify) -> None:
    found = await verify("cd /app && pytest tests/test_repo.py", {})
    assert found.report.status is VerifierStatus.OK
    assert found.rewards == {"reward": 0, "score": 0.0}


async def test_script_that_replaces_pythonpath(verify: Verify) -> None:
    found = await verify(f"export PYTHONPATH=/app\n{RUN}", {"test_it.py": TWO_PASS})
    assert found.report.status is VerifierStatus.CRASHED
    assert "PYTHONPATH" in found.report.message


async def test_environment_that_tests_see_is_the_tasks_own(verify: Verify) -> None:
    test = """
import os, subprocess, sys
def test_clean():
    names = [n for n in os.environ if "TBEVAL" in n]
    assert not names
    assert "tbeval" not in os.environ.get("PYTHONPATH", "")
    assert os.environ["PYTEST_ADDOPTS"] == "-v"
    assert "PYTHONNOUSERSITE" not in os.environ
    assert os.environ["TEST_DIR"] == "/tests"
def test_pytest_in_a_test(tmp_path):
    inner = tmp_path / "test_inner.py"
    inner.write_text("def test_one(): pass\\ndef test_two(): assert 0\\n")
    assert subprocess.run([sys.executable, "-m", "pytest", str(inner)]).returncode == 1
"""
    found = await verify(f'export PYTEST_ADDOPTS="$PYTEST_ADDOPTS -v"\n{RUN}', {"test_it.py": test})
    assert found.report.messages == {}
    assert found.report.counts.total == 2


async def test_sessions_in_one_process(verify: Verify) -> None:
    script = (
        "import pytest\npytest.main(['/tests/test_one.py'])\npytest.main(['/tests/test_two.py'])"
    )
    found = await verify(
        "python /tests/run.py",
        {"run.py": script, "test_one.py": TWO_PASS, "test_two.py": ONE_FAILS},
    )
    assert found.report.counts.total == 4
    assert found.report.counts.passed == 3


async def test_forked_children_write_nothing(verify: Verify) -> None:
    test = """
import os, sys
def test_fork():
    pid = os.fork()
    if pid == 0:
        sys.exit(0)
    os.waitpid(pid, 0)
def test_more(): pass
"""
    found = await verify(RUN, {"test_it.py": test})
    assert found.report.counts.passed == 2
    assert found.report.counts.total == 2


@BOTH
async def test_huge_and_binary_output(verify: Verify) -> None:
    test = "def test_a(): pass\n"
    script = f"head -c 3000000 /dev/urandom\nyes | head -c 3000000 >&2\n{RUN}\nprintf 'the end'"
    found = await verify(script, {"test_it.py": test})
    assert found.report.counts.solved
    assert len(found.output) < 8_000_000
    assert found.output.endswith(b"the end")


async def test_ids_and_messages_that_are_not_utf8(verify: Verify) -> None:
    test = r"""
import pytest
@pytest.mark.parametrize("x", ["\udc80\udcff", b"\xff\xfe", "\0", "ü"])
def test_a(x): assert 0, "\udcff" + "m" * 100_000
"""
    found = await verify(RUN, {"test_it.py": test})
    assert found.report.counts.total == 4
    assert all(len(message) < 10_000 for message in found.report.messages.values())


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (SandboxDiedError("gone"), VerifierStatus.SANDBOX),
        (OSError("no space on the host"), VerifierStatus.CRASHED),
    ],
)
async def test_who_is_to_blame_where_the_tests_cannot_run(
    verify: Verify,
    sandbox: OpenSandbox,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
    status: VerifierStatus,
) -> None:
    async def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(sandbox, "exec_private", fail)
    found = await verify(RUN, {"test_it.py": TWO_PASS})
    assert found.report.status is status
    assert str(error) in found.report.message
    assert isinstance(found.error, ERRORS[status])


def test_harbor_knows_no_error_of_ours_as_its_own() -> None:
    from harbor.models.trial.error_policy import ERROR_POLICIES

    names = {error.__name__ for error in ERRORS.values()}
    assert not names & set(ERROR_POLICIES)
    assert names == set(ERROR_POLICY)
    assert set(ERRORS) == set(VerifierStatus) - {VerifierStatus.OK}
