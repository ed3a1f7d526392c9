"""The verifier: runs a task's test script in its sandbox and reads the reports that pytest wrote.

The screen is never read for a verdict. docs/scoring.md says what counts as what.
"""

import asyncio
import secrets
import shlex
import shutil
import time
from pathlib import Path
from typing import Any, Protocol

from harbor.models.verifier.result import VerifierResult
from harbor.utils.env import resolve_env_vars
from harbor.verifier.verifier import Verifier

from tbeval.records.sandbox import (
    ReportsSandbox,
    RunsPrivately,
    SandboxDiedError,
)
from tbeval.records.scratch import scratch_directory
from tbeval.records.verdict import VerifierReport, VerifierStatus
from tbeval.tasks.judge import judge
from tbeval.tasks.reports import (
    PLUGIN,
    REPORT_DIR,
    REPORT_NONCE,
    REPORT_OPTIONS,
    REPORT_USER_SITE,
    TESTS_DIR,
    parse_report,
    read_session,
)
from tbeval.tasks.runners import Execution, run_in_the_open, run_privately
from tbeval.tasks.staging import stage_plugin, stage_tests

REPORT_FILE = "tests.json"
OUTPUT_LIMIT = 1024 * 1024  # bytes of the script's output that are kept, half from either end


class VerifierError(Exception):
    """The verifier reached no verdict. The name of the class says why; harbor goes by it."""


class VerifierTimeLimitError(VerifierError):
    """The test script ran out of the verifier's time."""


class VerifierNoReportError(VerifierError):
    """The test script ended without a report of pytest."""


class VerifierNoTestsError(VerifierError):
    """pytest collected nothing."""


class VerifierToolsError(VerifierError):
    """The test script could not install or find its tools."""


class VerifierKilledError(VerifierError):
    """The tests were killed from inside the sandbox."""


class VerifierSandboxError(VerifierError):
    """The sandbox was gone before or while verifying."""


class VerifierCrashedError(VerifierError):
    """Anything else; the message says what."""


ERRORS: dict[VerifierStatus, type[VerifierError]] = {
    VerifierStatus.TIMEOUT: VerifierTimeLimitError,
    VerifierStatus.NO_REPORT: VerifierNoReportError,
    VerifierStatus.NO_TESTS: VerifierNoTestsError,
    VerifierStatus.TOOLS: VerifierToolsError,
    VerifierStatus.KILLED: VerifierKilledError,
    VerifierStatus.SANDBOX: VerifierSandboxError,
    VerifierStatus.CRASHED: VerifierCrashedError,
}

#: For harbor's `TrialConfig.override_error_policy`: graded, but there is no reward.
ERROR_POLICY: dict[str, dict[str, bool]] = {
    error.__name__: {"should_retry": False, "should_grade": True, "has_valid_reward": False}
    for error in ERRORS.values()
}


class _Runner(Protocol):
    async def __call__(
        self,
        environment: Any,
        command: str,
        *,
        uploads: dict[str, str],
        private_dir: str,
        env: dict[str, str],
        time_limit_sec: float,
    ) -> Execution: ...


class ReportVerifier(Verifier):
    """harbor's verifier, but for how it runs the tests and where the verdict comes from.

    Name it with `VerifierConfig(import_path="tbeval.tasks.verifier:ReportVerifier",
    kwargs={"time_limit_sec": …})`.
    """

    def __init__(self, *args: Any, time_limit_sec: float | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._time_limit_sec = time_limit_sec or float(self.task.config.verifier.timeout_sec)

    async def verify(self) -> VerifierResult:
        """Run the test script and write `verifier/tests.json`, whatever comes of it.

        Returns:
            Rewards: `reward` is 1 if every test passed, else 0; `score` is the share that passed.

        Raises:
            VerifierError: There is no verdict; see the subclasses.
        """
        self._clear(REPORT_FILE)  # so that nothing planted can stand where ours fails to come
        report = await self._report()
        self._write(REPORT_FILE, report.model_dump_json(indent=1).encode())
        if report.status is not VerifierStatus.OK:
            raise ERRORS[report.status](report.message)
        counts = report.counts
        return VerifierResult(rewards={"reward": int(counts.solved), "score": counts.score})

    async def _report(self) -> VerifierReport:
        began = time.monotonic()
        try:
            with scratch_directory() as temporary:
                return await self._run(temporary)
        except Exception as error:
            status = self._blame(error)
            message = f"{type(error).__name__}: {error}"[:1000]
            message = message.encode(errors="backslashreplace").decode()
            self.logger.warning("No verdict: %s", status, exc_info=True)
        return VerifierReport(status=status, message=message, seconds=time.monotonic() - began)

    def _blame(self, error: Exception) -> VerifierStatus:
        environment = self.environment
        died = isinstance(error, SandboxDiedError) or (
            isinstance(environment, ReportsSandbox)
            and environment.sandbox_report().death is not None
        )
        return VerifierStatus.SANDBOX if died else VerifierStatus.CRASHED

    async def _run(self, staging: Path) -> VerifierReport:
        script = await asyncio.to_thread(stage_tests, self.task, staging / "tests")
        await asyncio.to_thread(stage_plugin, staging / "plugin")
        # Chosen now, after the agent has stopped: nobody can have planted anything there.
        nonce = secrets.token_hex(16)
        plugin_dir = f"/run/tbeval-{secrets.token_hex(8)}"
        report_dir = f"/run/tbeval-{secrets.token_hex(8)}"
        private = isinstance(self.environment, RunsPrivately)
        runner: _Runner = run_privately if private else run_in_the_open
        began = time.monotonic()
        execution = await runner(
            self.environment,
            _command(f"{TESTS_DIR}/{script}", plugin_dir),
            uploads={TESTS_DIR: str(staging / "tests"), plugin_dir: str(staging / "plugin")},
            private_dir=report_dir,
            env={
                "TEST_DIR": TESTS_DIR,
                **self._task_env(),
                REPORT_DIR: report_dir,
                REPORT_NONCE: nonce,
            },
            time_limit_sec=self._time_limit_sec,
        )
        seconds = time.monotonic() - began
        output = _capped(execution.output, OUTPUT_LIMIT)
        self._write(Path(self.trial_paths.test_stdout_path).name, output)
        reports = [parse_report(data, nonce) for data in execution.reports]
        return judge(
            [read_session(events) for events in reports if events is not None],
            damaged=reports.count(None),
            exit_code=execution.exit_code,
            timed_out=execution.timed_out,
            output=output.decode(errors="backslashreplace"),
            seconds=seconds,
        )

    def _write(self, name: str, content: bytes) -> None:
        """Write a file of the verifier directory.

        The sandbox may have that directory mounted: what stands there may be a link or a directory
        of the agent's, or become one. So the file is made beside it, and moved in.
        """
        directory = Path(self.trial_paths.verifier_dir)
        directory.mkdir(parents=True, exist_ok=True)
        self._clear(name)
        path = directory / name
        temporary = directory.parent / f".{name}.new"
        temporary.write_bytes(content)
        temporary.replace(path)

    def _clear(self, name: str) -> None:
        path = Path(self.trial_paths.verifier_dir) / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)

    def _task_env(self) -> dict[str, str]:
        merged = {
            **self.task.config.verifier.env,
            **(self.verifier_env or {}),
            **self.override_env,
        }
        return dict(resolve_env_vars(merged)) if merged else {}


def _command(script: str, plugin_dir: str) -> str:
    """The shell command that runs the test script with our plugin.

    What the task itself sets is kept behind ours, and the plugin takes ours out again before a
    test can see it. PYTHONNOUSERSITE keeps code that the agent left in its user's site directory
    (`usercustomize`, `.pth` files, pytest plugins) from running in pytest's process.
    """
    options = f"-p {PLUGIN} -p no:cacheprovider"
    return "\n".join(
        (
            f'export {REPORT_OPTIONS}="{options}"',
            f'export {REPORT_USER_SITE}="${{PYTHONNOUSERSITE-}}"',
            f"export PYTHONNOUSERSITE={PLUGIN}",
            f'export PYTEST_ADDOPTS="{options}${{PYTEST_ADDOPTS:+ $PYTEST_ADDOPTS}}"',
            f'export PYTHONPATH="{plugin_dir}${{PYTHONPATH:+:$PYTHONPATH}}"',
            f"( {shlex.quote(script)} ) 2>&1",
        )
    )


def _capped(data: bytes, limit: int) -> bytes:
    if len(data) <= limit:
        return data
    cut = f"\n[… {len(data) - limit} bytes cut …]\n".encode()
    return data[: limit // 2] + cut + data[-limit // 2 :]
