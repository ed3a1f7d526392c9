"""What an agent may leave behind to get a verdict that it did not earn."""

from __future__ import annotations

import asyncio
import json
import sys
import sysconfig
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING

import pytest

from tbeval.records.verdict import TestOutcome, VerifierStatus

if TYPE_CHECKING:
    from pathlib import Path

    from tests.tasks.conftest import OpenSandbox, Verified, Verify

Forge = tuple[Callable[[], Coroutine[None, None, None]], list[str]]

pytestmark = pytest.mark.sandbox

BOTH = pytest.mark.parametrize("sandbox", ["private", "open"], indirect=True)

TESTS = {"test_it.py": "def test_a(): pass\ndef test_b(): assert 0\n"}
RUN = "pytest /tests/test_it.py"

#: A conftest.py, or a plugin, that makes every test pass.
EVIL = """
import pytest
open("/tmp/evil-was-here", "w").close()
@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    report.outcome, report.longrepr = "passed", None
"""
INI = "addopts = -p evil\npython_functions = test_a\n"
CONFIGURATION = {
    "pytest.ini": f"[pytest]\n{INI}",
    ".pytest.ini": f"[pytest]\n{INI}",
    "tox.ini": f"[pytest]\n{INI}",
    "setup.cfg": f"[tool:pytest]\n{INI}",
    "pyproject.toml": (
        '[tool.pytest.ini_options]\naddopts = "-p evil"\npython_functions = "test_a"\n'
    ),
    "setup.py": "",
}


def plant(directory: Path, names: list[str]) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    for name in names:
        (directory / name).write_text(CONFIGURATION[name])
    (directory / "conftest.py").write_text(EVIL)
    (directory / "evil.py").write_text(EVIL)


def assert_nothing_gained(found: Verified, sandbox: OpenSandbox) -> None:
    assert found.report.status is VerifierStatus.OK
    assert found.rewards == {"reward": 0, "score": 0.5}
    assert not sandbox.host("/tmp/evil-was-here").exists()


async def test_the_attack_works_where_nothing_is_done_about_it(
    verify: Verify, sandbox: OpenSandbox
) -> None:
    """Else the tests below would prove nothing."""
    plant(sandbox.host("/app"), [])
    found = await verify("cp /tests/test_it.py /app; cd /app; pytest test_it.py", TESTS)
    assert found.rewards == {"reward": 1, "score": 1.0}
    assert sandbox.host("/tmp/evil-was-here").exists()


@BOTH
@pytest.mark.parametrize("script", [RUN, "cd /tests && pytest", "cd / && pytest tests/test_it.py"])
async def test_configuration_planted_in_tests(
    verify: Verify, sandbox: OpenSandbox, script: str
) -> None:
    plant(sandbox.host("/tests"), list(CONFIGURATION))
    sandbox.host("/tests/.hidden").mkdir()
    found = await verify(script, TESTS)
    assert_nothing_gained(found, sandbox)


@pytest.mark.parametrize("name", CONFIGURATION)
async def test_configuration_planted_above_and_beside_the_tests(
    verify: Verify, sandbox: OpenSandbox, name: str
) -> None:
    plant(sandbox.state, [name])  # that is /
    plant(sandbox.host("/app"), [name])
    scripts = [RUN, "cd /tests; pytest", "cd /; pytest tests/test_it.py", "pytest /tests"]
    found = await verify("\n".join(f"( {script} )" for script in scripts), TESTS)
    assert_nothing_gained(found, sandbox)


async def test_tests_that_have_a_configuration_keep_it(
    verify: Verify, sandbox: OpenSandbox
) -> None:
    plant(sandbox.state, ["pytest.ini"])
    own = '[tool.pytest.ini_options]\npython_functions = ["check_*"]\n'
    test = "def check_a(): pass\ndef test_b(): assert 0\n"
    found = await verify(RUN, {"test_it.py": test, "pyproject.toml": own})
    assert found.report.tests == {"test_it.py::check_a": TestOutcome.PASSED}


@BOTH
async def test_a_link_among_the_tests_is_not_followed(verify: Verify, sandbox: OpenSandbox) -> None:
    plant(sandbox.host("/app/elsewhere"), list(CONFIGURATION))
    sandbox.host("/tests/sub").symlink_to("/app/elsewhere")
    found = await verify("pytest /tests", TESTS)
    assert_nothing_gained(found, sandbox)
    assert sandbox.host("/app/elsewhere/evil.py").exists()


async def test_the_configuration_above_is_an_attack_where_there_is_no_fence(
    verify: Verify, sandbox: OpenSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tbeval.tasks.staging.has_pytest_config", lambda _: True)
    plant(sandbox.state, ["pytest.ini"])
    found = await verify("cd /; python3 -m pytest tests/test_it.py", TESTS)
    assert found.rewards == {"reward": 1, "score": 1.0}


def user_site(sandbox: OpenSandbox) -> Path:
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    return sandbox.host(f"/home/.local/lib/{version}/site-packages")


def with_user_site(command: str) -> str:
    """Run a command with a python that looks into the user's site directory."""
    return (
        "unset PYTEST_DISABLE_PLUGIN_AUTOLOAD; mkdir /tmp/packages\n"
        f"cd {sysconfig.get_path('purelib')}\n"
        "for name in pytest pytest-* _pytest py.py pluggy* iniconfig* packaging* pygments*; do\n"
        "    ln -s $PWD/$name /tmp/packages/\n"
        "done\n"
        f'export PATH={sys.base_prefix}/bin:$PATH PYTHONPATH="$PYTHONPATH:/tmp/packages"\n'
        f"cd /app\n{command}"
    )


@pytest.fixture
def planted_user_site(sandbox: OpenSandbox) -> Path:
    site = user_site(sandbox)
    site.mkdir(parents=True)
    (site / "evil.py").write_text(EVIL)
    (site / "usercustomize.py").write_text('open("/tmp/evil-was-here", "w").close()\n')
    (site / "evil.pth").write_text('import sys; open("/tmp/evil-was-here", "w").close()\n')
    info = site / "evil-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: evil\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[pytest11]\nevil = evil\n")
    (site / "installed.py").write_text("answer = 42\n")
    return site


async def test_code_in_the_users_site_directory(
    verify: Verify, sandbox: OpenSandbox, planted_user_site: Path
) -> None:
    test = """
import subprocess, sys
import installed
def test_a(): assert installed.answer == 42
def test_child_has_it_too():
    subprocess.run(["python3", "-c", "import installed"], check=True)
def test_b(): assert 0
"""
    found = await verify(
        with_user_site("python3 -m pytest /tests/test_it.py"), {"test_it.py": test}
    )
    assert found.report.counts.passed == 2
    assert found.report.tests["test_it.py::test_b"] is TestOutcome.FAILED


async def test_the_user_site_attack_is_real(
    verify: Verify, sandbox: OpenSandbox, planted_user_site: Path
) -> None:
    script = with_user_site("unset PYTHONNOUSERSITE; python3 -m pytest /tests/test_it.py")
    found = await verify(script, TESTS)
    assert found.report.counts.passed == 2


@pytest.fixture
def forge(sandbox: OpenSandbox) -> Forge:
    """Watch for report directories, as a process would that the agent left, and write into them."""
    stolen: list[str] = []

    def once() -> None:
        for report in sandbox.host("/run").glob("*/*.jsonl"):
            lines = report.read_bytes().splitlines()
            if len(lines) < 2 or report.name.startswith("0"):
                continue
            start, collected = json.loads(lines[0]), json.loads(lines[1])
            if collected["event"] != "collected":
                continue
            stolen.append(start["nonce"])
            phases = [
                {
                    "event": "result",
                    "id": node,
                    "path": path,
                    "when": when,
                    "outcome": "passed",
                    "xfail": False,
                    "message": "",
                }
                for node, path in [*collected["items"], ["x.py::test_x", "/tests/x.py"]]
                for when in ("setup", "call", "teardown")
            ]
            finish = {"event": "finish", "status": 0, "args": []}
            forged = [start, collected, *phases, finish, {"event": "end"}]
            text = "\n".join(json.dumps(event) for event in forged)
            (report.parent / "0-forged.jsonl").write_text(text)
            wrong = text.replace(start["nonce"], "0" * 32).replace("test_x", "test_y")
            (report.parent / "0-wrong.jsonl").write_text(wrong)
            (report.parent / "0-damaged.jsonl").write_bytes(b"\xff" * 1000 + b"[" * 100_000)

    async def watch() -> None:
        while True:
            once()
            await asyncio.sleep(0.01)

    return watch, stolen


@BOTH
async def test_a_watcher_cannot_make_a_failed_test_pass(
    verify: Verify, sandbox: OpenSandbox, forge: Forge
) -> None:
    watch, stolen = forge
    watcher: asyncio.Task[None] = asyncio.create_task(watch())
    found = await verify(RUN, TESTS)
    watcher.cancel()
    if hasattr(sandbox, "exec_private"):
        assert_nothing_gained(found, sandbox)
        assert not stolen
    else:
        assert stolen, "the watcher was too slow to prove anything"
        assert found.rewards is not None
        assert found.rewards["reward"] == 0
        assert found.report.tests["test_it.py::test_b"] is TestOutcome.FAILED
        assert "x.py::test_y" not in found.report.tests


async def test_what_stands_in_the_log_directory_is_replaced(
    verify: Verify, sandbox: OpenSandbox, tmp_path: Path
) -> None:
    target = tmp_path / "precious"
    target.write_text("keep")
    logs = tmp_path / "trial" / "verifier"
    logs.mkdir(parents=True)
    (logs / "tests.json").symlink_to(target)
    (logs / "test-stdout.txt").mkdir()
    (logs / "test-stdout.txt" / "link").symlink_to(tmp_path)
    found = await verify(RUN, TESTS)
    assert found.rewards == {"reward": 0, "score": 0.5}
    assert target.read_text() == "keep"
