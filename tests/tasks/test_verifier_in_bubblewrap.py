"""The verifier in the embedded sandbox, with processes that the agent left there."""

from __future__ import annotations

import contextlib
import logging
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from harbor.models.task.task import Task
from harbor.models.trial.paths import TrialPaths

from tbeval.records.sandbox import RunsPrivately
from tbeval.records.verdict import TestOutcome, VerifierReport, VerifierStatus
from tbeval.sandboxes.bubblewrap import BubblewrapEnvironment
from tbeval.sandboxes.state import STATE_DIR_VARIABLE
from tbeval.tasks.verifier import ReportVerifier, VerifierError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

    Start = Callable[[str, str], Awaitable["Trial"]]

pytestmark = pytest.mark.sandbox

TOOLS = 'export PATH="/opt/tbeval/bin:$PATH"'
RUN = f"{TOOLS}\npytest /tests/test_it.py"
ONE_FAILS = "def test_a(): pass\ndef test_b(): assert 0\n"


@pytest.fixture(scope="module", autouse=True)
def state() -> Iterator[None]:
    path = Path(tempfile.mkdtemp(dir="/var/tmp", prefix="tbeval-test-"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(STATE_DIR_VARIABLE, str(path))
        yield
    shutil.rmtree(path)


class Trial:
    """A sandbox in which an agent has been, and the task that it was given."""

    def __init__(self, task: Path, trial: Path) -> None:
        self.path = task
        (task / "environment" / "setup.sh").write_text("true\n")
        self.task = Task(task)
        self.paths = TrialPaths(trial)
        self.environment = BubblewrapEnvironment(
            environment_dir=task / "environment",
            environment_name="task",
            session_id="tests",
            trial_paths=self.paths,
            task_env_config=self.task.config.environment,
            logger=logging.getLogger("bubblewrap-under-test"),
        )

    async def leave(self, command: str) -> None:
        """What the agent did."""
        result = await self.environment.exec(command)
        assert result.return_code == 0, result.stderr

    async def verify(self, time_limit_sec: float = 30.0) -> VerifierReport:
        verifier = ReportVerifier(
            task=self.task,
            trial_paths=self.paths,
            environment=self.environment,
            logger=logging.getLogger("verifier-under-test"),
            time_limit_sec=time_limit_sec,
        )
        with contextlib.suppress(VerifierError):
            await verifier.verify()
        report = (self.paths.verifier_dir / "tests.json").read_bytes()
        return VerifierReport.model_validate_json(report)

    @property
    def output(self) -> str:
        return Path(self.paths.test_stdout_path).read_text(errors="replace")


@pytest.fixture
async def start(make_task: Callable[..., Path], tmp_path: Path) -> AsyncIterator[Start]:
    started: list[Trial] = []

    async def begin(script: str, test: str) -> Trial:
        trial = Trial(make_task(script, **{"test_it.py": test}), tmp_path / "trial")
        started.append(trial)
        await trial.environment.start(force_build=False)
        return trial

    yield begin
    for trial in started:
        await trial.environment.stop(delete=True)


async def test_it_runs_out_of_the_agents_reach(start: Start) -> None:
    trial = await start(RUN, ONE_FAILS)
    assert isinstance(trial.environment, RunsPrivately)
    report = await trial.verify()
    assert report.status is VerifierStatus.OK
    assert (report.counts.passed, report.counts.total) == (1, 2)
    assert "1 failed, 1 passed" in trial.output


async def test_service_left_in_the_background(start: Start) -> None:
    test = """
import urllib.request
def test_it_serves():
    assert urllib.request.urlopen("http://127.0.0.1:8123/page", timeout=5).read() == b"hello"
"""
    trial = await start(RUN, test)
    await trial.leave("""
printf hello > page
setsid python3 -m http.server 8123 --bind 127.0.0.1 >/dev/null 2>&1 &
until exec 3<>/dev/tcp/127.0.0.1/8123; do sleep 0.05; done 2>/dev/null
""")
    report = await trial.verify()
    assert report.counts.solved, report


WATCHER = r"""
import glob, json, os, sys, time
tried = 0
while True:
    tried += 1
    for path in glob.glob("/run/tbeval-*") + glob.glob("/proc/[0-9]*/root/run/tbeval-*"):
        for name in ("forged.jsonl", "0.jsonl"):
            try:
                with open(f"{path}/{name}", "w") as file:
                    file.write('{"event": "start"}\n')
            except OSError:
                pass
    try:
        os.makedirs("/tests", exist_ok=True)
        for name in ("conftest.py", "pytest.ini", "test_it.py"):
            with open(f"/tests/{name}", "w") as file:
                file.write("def test_b(): pass\n")
    except OSError:
        pass
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            environment = open(f"/proc/{pid}/environ", "rb").read()
        except OSError:
            continue
        if b"TBEVAL" in environment:
            open("/app/saw-the-environment", "wb").write(environment)
    if tried == 3:
        open("/app/watching", "w").close()
"""


async def leave_watching(trial: Trial, program: str) -> None:
    (trial.path / "environment" / "watcher.py").write_text(program)
    await trial.environment.upload_dir(trial.path / "environment", "/app")
    await trial.leave(
        "setsid python3 /app/watcher.py >/app/watcher.log 2>&1 &\n"
        "until [ -e /app/watching ]; do sleep 0.05; done"
    )


async def test_watcher_that_plants_and_forges(start: Start) -> None:
    trial = await start(RUN, ONE_FAILS)
    await leave_watching(trial, WATCHER)
    report = await trial.verify()
    assert report.status is VerifierStatus.OK, report.message
    assert report.tests == {
        "test_it.py::test_a": TestOutcome.PASSED,
        "test_it.py::test_b": TestOutcome.FAILED,
    }
    await trial.leave("[ ! -e /app/saw-the-environment ]")


KILLER = r"""
import os, signal
open("/app/watching", "w").close()
while True:
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            line = open(f"/proc/{pid}/cmdline").read()
            if "pytest" in line:
                os.kill(int(pid), signal.SIGKILL)
        except OSError:
            pass
"""


@pytest.mark.parametrize(
    "script", [RUN, f"{TOOLS}\nif pytest /tests; then echo 1; else echo 0; fi"]
)
async def test_process_that_kills_pytest(start: Start, script: str) -> None:
    trial = await start(script, ONE_FAILS)
    await leave_watching(trial, KILLER)
    report = await trial.verify()
    assert report.status is VerifierStatus.KILLED, report
    assert not report.counts.solved


async def test_what_was_planted_in_advance(start: Start) -> None:
    trial = await start(f"{RUN}\ncd /\npytest /tests/test_it.py", ONE_FAILS)
    evil = (
        "import pytest\n"
        "@pytest.hookimpl(hookwrapper=True)\n"
        "def pytest_runtest_makereport(item, call):\n"
        "    outcome = yield\n"
        "    outcome.get_result().outcome = 'passed'\n"
    )
    await trial.leave(f"""
for place in / /app /tests /root /tmp; do
    [ -w $place ] || continue
    cat > $place/conftest.py <<'X'
{evil}
X
    cp $place/conftest.py $place/evil.py
    printf '[pytest]\\naddopts = -p evil\\n' > $place/pytest.ini
    touch $place/setup.py
done
site=$(python3 -m site --user-site)
mkdir -p $site/evil-1.dist-info
cp /app/evil.py $site/
printf '[pytest11]\\nevil = evil\\n' > $site/evil-1.dist-info/entry_points.txt
printf 'Metadata-Version: 2.1\\nName: evil\\nVersion: 1\\n' > $site/evil-1.dist-info/METADATA
cp /app/evil.py $site/usercustomize.py
""")
    report = await trial.verify()
    assert report.status is VerifierStatus.OK, (report.message, trial.output)
    assert report.tests["test_it.py::test_b"] is TestOutcome.FAILED


async def test_hanging_test_and_its_children_are_ended(start: Start) -> None:
    test = "import time\ndef test_a(): pass\ndef test_b(): time.sleep(600)\n"
    trial = await start(f"sleep 601 &\n{RUN}", test)
    report = await trial.verify(time_limit_sec=4.0)
    assert report.status is VerifierStatus.TIMEOUT
    assert (report.counts.passed, report.counts.total) == (1, 2)
    assert report.message == "the test script ran out of time; 1 of 2 tests ran"
    await trial.leave("! pgrep -f 'sleep 60[01]'")


async def test_full_storage_is_the_agents_own_doing(start: Start) -> None:
    trial = await start(RUN, ONE_FAILS)
    await trial.environment.exec("cat /dev/zero > /app/a; cat /dev/zero > /tmp/b; true")
    report = await trial.verify()
    assert report.status in {VerifierStatus.OK, VerifierStatus.KILLED}, report
    assert not report.counts.solved


FORKS = """
import os, time
try:
    while os.fork():
        pass
except OSError:
    os._exit(0)
os.setsid()
os.closerange(0, 3)
time.sleep(900)
"""
BROKEN = {
    "tmp is a file": "rm -rf /tmp; touch /tmp",
    "run is a file": "rm -rf /run; touch /run",
    "logs are a file": "rm -rf /logs; touch /logs",
    "home is a file": "rm -rf ~; touch ~",
    "tests are a link": "rm -rf /tests; ln -s /etc /tests",
    "no devices": "rm -rf /dev/null /dev/zero /dev/shm /dev/fd; true",
    "root is closed": "chmod 000 /",
    "as many processes as it may": f"python3 -c '{FORKS}'",
    "working directory is a file": "cd /; rm -rf /app; touch /app",
    "toolbox is another": (
        "mv /opt /opt2; mkdir -p /opt/tbeval/bin; echo 'echo 1 passed' > /opt/tbeval/bin/pytest;"
        " chmod +x /opt/tbeval/bin/pytest; true"
    ),
}


@pytest.mark.parametrize(
    "command",
    [pytest.param(command, id=what) for what, command in BROKEN.items()],
)
async def test_a_broken_sandbox_is_the_agents_own_doing(start: Start, command: str) -> None:
    trial = await start(f"{RUN} || true", ONE_FAILS)
    await trial.environment.exec(command)
    report = await trial.verify()
    assert report.status in {VerifierStatus.OK, VerifierStatus.KILLED}, report
    assert not report.counts.solved
    assert report.counts.total == 2 or report.status is VerifierStatus.KILLED


async def test_sandbox_that_is_gone(start: Start) -> None:
    trial = await start(RUN, ONE_FAILS)
    await trial.environment.stop(delete=True)
    report = await trial.verify()
    assert report.status is VerifierStatus.SANDBOX
    assert report.message


async def test_megabytes_of_binary_output(start: Start) -> None:
    trial = await start(f"head -c 30000000 /dev/urandom\n{RUN}", ONE_FAILS)
    report = await trial.verify()
    assert (report.counts.passed, report.counts.total) == (1, 2)
    assert trial.paths.test_stdout_path.stat().st_size < 4_000_000
