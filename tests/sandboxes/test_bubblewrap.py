"""The environment as harbor drives it: whole trials, files in and out, refusals."""

import logging
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from harbor.models.task.config import EnvironmentConfig as TaskEnvironment
from harbor.models.trial.config import AgentConfig, EnvironmentConfig, TaskConfig, TrialConfig
from harbor.models.trial.paths import TrialPaths
from harbor.trial.trial import Trial

from tbeval.records.sandbox import (
    Enterable,
    ReportsSandbox,
    RunsPrivately,
    SandboxDiedError,
)
from tbeval.sandboxes.bubblewrap import BubblewrapEnvironment
from tbeval.sandboxes.errors import (
    CommandTimeoutError,
    TaskSetupError,
    TransferError,
    UnsupportedTaskError,
)

pytestmark = pytest.mark.sandbox

IMPORT_PATH = "tbeval.sandboxes.bubblewrap:BubblewrapEnvironment"


@pytest.fixture
def task(tmp_path: Path, state: Path) -> Path:
    path = tmp_path / "task"
    for name in ("environment", "tests", "solution"):
        (path / name).mkdir(parents=True)
    (path / "task.toml").write_text('version = "1.0"\n[environment]\nbuild_timeout_sec = 60.0\n')
    (path / "instruction.md").write_text("Say hello in /app/hello.txt.\n")
    (path / "environment" / "setup.sh").write_text("set -e\nls > seen.txt\npwd > where.txt\n")
    (path / "environment" / "Dockerfile").write_text("FROM nothing\n")
    (path / "environment" / "data.txt").write_text("data\n")
    (path / "tests" / "test.sh").write_text(
        "test -e /app/hello.txt && test ! -e /app/setup.sh && test ! -e /app/Dockerfile\n"
        "echo $((1 - $?)) > /logs/verifier/reward.txt\n"
    )
    (path / "solution" / "solve.sh").write_text("#!/bin/bash\necho hello > /app/hello.txt\n")
    return path


def make(task: Path, **settings: object) -> BubblewrapEnvironment:
    trial = task.parent / "trial"
    paths = TrialPaths(trial)
    paths.mkdir()
    return BubblewrapEnvironment(
        environment_dir=task / "environment",
        environment_name="task",
        session_id="s",
        trial_paths=paths,
        task_env_config=TaskEnvironment(**settings),
        logger=logging.getLogger("tests"),
        run_id="tests",
    )


@pytest.fixture
async def environment(task: Path) -> AsyncIterator[BubblewrapEnvironment]:
    made = make(task)
    await made.start(force_build=False)
    yield made
    await made.stop(delete=True)


@pytest.mark.filterwarnings("ignore:Task.checksum will be deprecated:DeprecationWarning")
@pytest.mark.parametrize(("agent", "reward"), [("oracle", 1.0), ("nop", 0.0)])
async def test_a_whole_trial(task: Path, agent: str, reward: float) -> None:
    config = TrialConfig(
        task=TaskConfig(path=task),
        trial_name="task.1.1-x",
        trials_dir=task.parent / "trials",
        agent=AgentConfig(name=agent),
        environment=EnvironmentConfig(import_path=IMPORT_PATH, kwargs={"run_id": "x"}),
    )
    trial = await Trial.create(config)
    result = await trial.run()
    assert result.exception_info is None
    assert result.verifier_result is not None
    assert result.verifier_result.rewards == {"reward": reward}
    report = trial.agent_environment.sandbox_report()
    assert (report.death, report.limits_hit) == (None, ())


async def test_set_up(environment: BubblewrapEnvironment) -> None:
    result = await environment.exec("cat seen.txt where.txt data.txt; ls -A")
    assert (
        result.stdout == "data.txt\nseen.txt\nsetup.sh\n/app\ndata\ndata.txt\nseen.txt\nwhere.txt\n"
    )


def test_it_is_what_the_other_parts_ask_for(task: Path) -> None:
    environment = make(task)
    assert isinstance(environment, ReportsSandbox)
    assert isinstance(environment, RunsPrivately)
    assert isinstance(environment, Enterable)
    assert {limit.name for limit in environment.sandbox_report().limits} == {
        "memory", "processes", "cpu", "storage", "file-size", "output", "network",
    }  # fmt: skip


async def test_another_working_directory(task: Path) -> None:
    environment = make(task, workdir="/srv/work")
    await environment.start(force_build=False)
    try:
        assert (await environment.exec("cat where.txt")).stdout == "/srv/work\n"
    finally:
        await environment.stop(delete=True)


async def test_a_failing_setup_is_the_tasks_fault(task: Path) -> None:
    (task / "environment" / "setup.sh").write_text("echo one; echo 'what is wrong' >&2; exit 3")
    environment = make(task)
    with pytest.raises(TaskSetupError, match=r"setup\.sh ended with code 3: one\nwhat is wrong"):
        await environment.start(force_build=False)
    await environment.stop(delete=True)


@pytest.mark.parametrize("name", ["Dockerfile", "docker-compose.yaml"])
def test_a_task_that_is_an_image_is_refused(task: Path, name: str) -> None:
    (task / "environment" / "setup.sh").unlink()
    (task / "environment" / "Dockerfile").rename(task / "environment" / name)
    with pytest.raises(UnsupportedTaskError, match=f"only {name}.*--sandbox docker"):
        make(task)


@pytest.mark.parametrize(
    ("said", "network"),
    [("", False), ('network_mode = "public"', True), ('network_mode = "no-network"', False)],
)
def test_network_only_where_the_task_says_so(task: Path, said: str, network: bool) -> None:
    (task / "task.toml").write_text(f"[environment]\n{said}\n")
    assert make(task).limits.network is network


def test_an_allowlist_is_refused(task: Path) -> None:
    (task / "task.toml").write_text('[environment]\nnetwork_mode = "allowlist"\n')
    with pytest.raises(UnsupportedTaskError, match="--sandbox docker"):
        make(task)


def test_limits_of_the_task(task: Path) -> None:
    limits = make(task, memory_mb=300, storage_mb=200, cpus=0.5).limits
    assert (limits.memory_mb, limits.storage_mb, limits.cpus) == (300, 200, 0.5)
    limits = make(task).limits
    assert (limits.memory_mb, limits.storage_mb, limits.cpus) == (2048, 1024, None)


async def test_exec(environment: BubblewrapEnvironment) -> None:
    result = await environment.exec("echo $A; pwd; exit 2", cwd="/tmp", env={"A": "b"}, user="root")
    assert (result.stdout, result.stderr, result.return_code) == ("b\n/tmp\n", "", 2)
    with pytest.raises(CommandTimeoutError, match="Command timed out after 1 seconds"):
        await environment.exec("sleep 60", timeout_sec=1)
    with pytest.raises(UnsupportedTaskError, match="agent"):
        await environment.exec("true", user="agent")
    assert (await environment.exec("true", cwd="/nowhere")).return_code != 0
    await environment.exec("rm -r /app")
    assert (await environment.exec("pwd")).stdout == "/\n"


async def test_after_its_end_nothing_answers(environment: BubblewrapEnvironment) -> None:
    await environment.stop(delete=True)
    with pytest.raises(SandboxDiedError):
        await environment.exec("true")
    with pytest.raises(SandboxDiedError):
        await environment.download_dir("/logs", "/nowhere")
    assert environment.sandbox_report().death is None
    await environment.stop(delete=True)


async def test_files_in_and_out(environment: BubblewrapEnvironment, tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "d").mkdir(parents=True)
    (source / "d" / "run.sh").write_text("#!/bin/sh\necho ran\n")
    (source / "d" / "run.sh").chmod(0o755)
    (source / "link").symlink_to("d/run.sh")
    await environment.upload_dir(source_dir=source, target_dir="/opt/new place")
    await environment.upload_file(source_path=source / "d" / "run.sh", target_path="/new/x y.sh")
    ran = await environment.exec("'/opt/new place/link'; '/new/x y.sh'; ls -ln /new | tail -1")
    assert ran.stdout is not None
    assert ran.stdout.startswith("ran\nran\n-rwxr-xr-x 1 0 0 ")
    await environment.download_file(source_path="/new/x y.sh", target_path=tmp_path / "out" / "f")
    assert (tmp_path / "out" / "f").read_text() == "#!/bin/sh\necho ran\n"
    await environment.download_dir(source_dir="/opt/new place", target_dir=tmp_path / "back")
    assert sorted(p.name for p in (tmp_path / "back").rglob("*")) == ["d", "run.sh"]
    assert os.access(tmp_path / "back" / "d" / "run.sh", os.X_OK)
    with pytest.raises(TransferError, match="no such file"):
        await environment.download_file(source_path="/none", target_path=tmp_path / "none")
    with pytest.raises(TransferError, match="no such directory"):
        await environment.download_dir(source_dir="/none", target_dir=tmp_path / "none")
    with pytest.raises(TransferError):
        await environment.upload_dir(source_dir=source, target_dir="/etc/passwd")


async def test_hostile_logs(environment: BubblewrapEnvironment, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("as it was")
    script = f"""cd /logs/agent; echo good > a-good; ln -s {outside} link; ln -s / root
mkfifo fifo; truncate -s 900M sparse; mkdir -p {"/".join("d" * 100)}; echo z > z-good
ln a-good hard; echo x > 'name with
newline'; echo x > $'\\377'; printf x > -rf; mkdir locked; echo x > locked/f; chmod 0 locked
ln -s {tmp_path} planted; python3 - <<'EOF'
import socket; socket.socket(socket.AF_UNIX).bind('socket')
EOF"""
    await environment.exec(script)
    target = tmp_path / "trial-logs"
    await environment.download_dir(source_dir="/logs/agent", target_dir=target)
    assert (target / "a-good").read_text() == "good\n"
    assert (target / "z-good").read_text() == "z\n"
    assert not any(path.is_symlink() or path.is_fifo() for path in target.rglob("*"))
    assert not (target / "sparse").exists()
    assert outside.read_text() == "as it was"


async def test_a_log_directory_without_end(
    environment: BubblewrapEnvironment, tmp_path: Path
) -> None:
    await environment.exec("for i in 1 2 3 4; do head -c 100M /dev/zero > /logs/agent/$i; done")
    await environment.download_dir(source_dir="/logs/agent", target_dir=tmp_path / "logs")
    assert sum(path.stat().st_size for path in (tmp_path / "logs").iterdir()) <= 256 << 20
    assert environment.sandbox_report().limits_hit == ("output",)
