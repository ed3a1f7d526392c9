"""Two ways to run a test script in a sandbox: out of the agent's reach, and in the open."""

import asyncio
import shlex
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tbeval.records.sandbox import RunsPrivately
from tbeval.records.scratch import scratch_directory

_KEPT = 512 * 1024  # bytes of output kept from either end, where it is written to a file

_GRACE_SEC = 10.0
_KILLED = 128 + 9


@dataclass(frozen=True)
class Execution:
    """What came of a test script.

    Attributes:
        exit_code: 128 + signal if a signal ended it; None if that is not known.
        output: What it printed.
        timed_out: Whether the time limit ended it.
        reports: The contents of the report files.
    """

    exit_code: int | None
    output: bytes
    timed_out: bool
    reports: tuple[bytes, ...]


async def run_privately(
    environment: RunsPrivately,
    command: str,
    *,
    uploads: dict[str, str],
    private_dir: str,
    env: dict[str, str],
    time_limit_sec: float,
) -> Execution:
    """Run where processes that the agent left can neither see nor touch the tests and reports.

    The limit is kept inside, so that what pytest reported until then comes back; the sandbox's
    own limit comes a little later, should somebody kill `timeout`.
    """
    began = time.monotonic()
    result = await environment.exec_private(
        f"exec timeout -s KILL {time_limit_sec:g} bash -c {shlex.quote(command)}",
        private_dir=private_dir,
        uploads=uploads,
        env=env,
        cwd=None,
        timeout_sec=time_limit_sec + _GRACE_SEC,
    )
    limit_reached = time.monotonic() - began >= time_limit_sec
    text = result.stdout + result.stderr
    return Execution(
        exit_code=result.return_code,
        output=text.encode(errors="backslashreplace"),
        timed_out=result.timed_out or (limit_reached and result.return_code == _KILLED),
        reports=tuple(data for name, data in sorted(result.files.items()) if _is_report(name)),
    )


async def run_in_the_open(
    environment: Any,
    command: str,
    *,
    uploads: dict[str, str],
    private_dir: str,
    env: dict[str, str],
    time_limit_sec: float,
) -> Execution:
    """Run with harbor's own means: in a sandbox whose processes see one another.

    Whatever stands where the uploads go is removed first. The names of the other directories are
    random, and a report carries a number made for this one run, so that nothing written in
    advance counts.

    Raises:
        RuntimeError: The sandbox could not be prepared, or the output not be fetched.
    """
    await _prepare(environment, [*uploads, private_dir])
    for target, source in uploads.items():
        await environment.upload_dir(source_dir=source, target_dir=target)
    output = f"{private_dir}/output"
    exit_code: int | None = None
    timed_out = False
    try:
        async with asyncio.timeout(time_limit_sec):
            result = await environment.exec(
                command=f"{{ {command}\n}} > {output}", env=env, user="root"
            )
            exit_code = result.return_code
    except TimeoutError:
        timed_out = True
    both_ends = (
        f"cd {private_dir} && if [ $(wc -c < output) -gt {2 * _KEPT} ]; then"
        f" {{ head -c {_KEPT} output; printf '\\n[…]\\n'; tail -c {_KEPT} output; }} > both;"
        " mv -f both output; fi"
    )
    await _root(environment, both_ends)
    with scratch_directory() as temporary:
        await environment.download_dir(source_dir=private_dir, target_dir=temporary)
        files = await asyncio.to_thread(_read_files, temporary)
    return Execution(
        exit_code=exit_code,
        output=files.get("output", b""),
        timed_out=timed_out,
        reports=tuple(data for name, data in sorted(files.items()) if _is_report(name)),
    )


def _read_files(directory: Path) -> dict[str, bytes]:
    return {
        path.name: path.read_bytes()
        for path in directory.iterdir()
        if path.is_file() and not path.is_symlink()
    }


async def _prepare(environment: Any, directories: list[str]) -> None:
    for directory in map(shlex.quote, directories):
        # A link must not lead us elsewhere, and a mount point can only be emptied.
        await _root(
            environment,
            f"if [ -L {directory} ] || [ ! -d {directory} ]; then rm -rf {directory}; fi;"
            f" mkdir -p {directory} && find {directory} -mindepth 1 -delete"
            f" && chmod 755 {directory}",
        )


async def _root(environment: Any, command: str) -> None:
    result = await environment.exec(command=command, user="root")
    if result.return_code != 0:
        raise RuntimeError(
            f"could not prepare the verifier's directories: {result.stderr or result.stdout}"
        )


def _is_report(name: str) -> bool:
    return name.endswith(".jsonl") and "/" not in name
