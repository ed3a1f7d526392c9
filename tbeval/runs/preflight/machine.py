"""Checks of this machine: packages, disk, memory, clocks. All of them are quick."""

import asyncio
import importlib.metadata
import os
import platform
import re
import shutil
import time
import tomllib
from collections.abc import Iterable

from tbeval.runs.concurrency import TRIAL_MB, free_memory_mb
from tbeval.runs.preflight.finding import Check, Finding, Subject
from tbeval.runs.store import check_writable
from tbeval.tasks.load import TaskInfo

_PINNED = re.compile(r"^([A-Za-z0-9._-]+)==([A-Za-z0-9.]+)")
_LEAST_MB, _ENOUGH_MB = 200, 2048
_LEAST_INODES = 10_000
_CLOCK_SEC = 0.05
_DRIFT_SEC = 0.5
_RELEASED = 1_764_547_200  # 2025-12-01: no clock that is right tells an earlier time


async def packages(_subject: Subject) -> Finding:
    """Whether the packages that tbeval pins are installed in just those versions."""
    wanted = [
        (match[1], match[2])
        for text in importlib.metadata.requires("tbeval") or ()
        if (match := _PINNED.match(text))
    ]
    wrong, right = [], [f"Python {platform.python_version()}"]
    for name, version in wanted:
        try:
            here = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            here = "absent"
        text = f"{name} {here}"
        if here == version:
            right.append(text)
        else:
            wrong.append(f"{text} where {version} is pinned")
    if wrong:
        return Finding("packages", "failure", ", ".join(wrong), "run `make setup`")
    return Finding("packages", "ok", ", ".join(right))


async def results_directory(subject: Subject) -> Finding:
    """Whether results can be written, and the disk has room."""
    directory = subject.results_dir
    check_writable(directory, "--results-dir")
    free_mb = shutil.disk_usage(directory).free // 2**20
    disk = os.statvfs(directory)
    what = f"{directory} can be written; {free_mb} MB are free"
    advice = "free space, or choose another directory with --results-dir"
    if free_mb < _LEAST_MB:
        return Finding("results", "failure", what, advice)
    if free_mb < _ENOUGH_MB:
        return Finding("results", "warning", what, advice)
    if disk.f_files and disk.f_favail < _LEAST_INODES:
        return Finding("results", "warning", f"{what}, but for {disk.f_favail} files only", advice)
    return Finding("results", "ok", what)


async def memory(subject: Subject) -> Finding:
    """Whether all trials at once have the memory that their tasks allow them."""
    return memory_finding(
        subject.options.concurrency, most_memory_mb(subject.tasks), free_memory_mb()
    )


def memory_finding(trials: int, each_mb: int, free_mb: int) -> Finding:
    """What free memory means for so many trials at once."""
    what = f"{free_mb} MB free; {trials} trials at once may take {each_mb} MB each"
    if trials * each_mb <= free_mb:
        return Finding("memory", "ok", what)
    fitting = max(1, free_mb // each_mb)
    return Finding("memory", "warning", what, f"-j {fitting} fits, or free memory")


def most_memory_mb(tasks: Iterable[TaskInfo]) -> int:
    """The most memory that one of the tasks may take, MB; the sandbox's own limit if none says."""
    return max((_memory_mb(task) for task in tasks), default=TRIAL_MB)


def _memory_mb(task: TaskInfo) -> int:
    settings = tomllib.loads((task.path / "task.toml").read_text(encoding="utf-8"))
    said = settings.get("environment", {}).get("memory_mb")
    return said if isinstance(said, int) and said > 0 else TRIAL_MB


async def clocks(_subject: Subject) -> Finding:
    """Whether the wall clock is plausible and goes as fast as the monotonic one."""
    wall, monotonic = time.time(), time.monotonic()
    await asyncio.sleep(_CLOCK_SEC)
    drift = (time.time() - wall) - (time.monotonic() - monotonic)
    advice = "set the clock and let NTP keep it: the times in the ledger come from it"
    if wall < _RELEASED:
        return Finding("clocks", "failure", f"the clock says {time.ctime(wall)}", advice)
    if abs(drift) > _DRIFT_SEC:
        what = f"the clock jumped by {drift:+.1f} s while it was looked at"
        return Finding("clocks", "warning", what, advice)
    return Finding("clocks", "ok", "wall and monotonic clock agree")


MACHINE_CHECKS = (
    Check("packages", packages),
    Check("results", results_directory),
    Check("memory", memory),
    Check("clocks", clocks),
)
