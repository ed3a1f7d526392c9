"""Some directories of a git repository at one commit, and nothing more of it: git itself."""

import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from tbeval.settings.base import SettingsError
from tbeval.settings.subset import TaskSource

#: Content is to come as it was committed, no hook of anybody runs, a dead connection ends.
_SETTINGS = (
    "core.autocrlf=false",
    "core.hooksPath=/dev/null",
    "gc.auto=0",
    "maintenance.auto=false",
    "http.lowSpeedLimit=1000",  # bytes a second
    "http.lowSpeedTime=60",  # seconds
)
_USER_INFO = re.compile(r"(?<=://)[^/@\s]*@")


class CheckoutError(SettingsError):
    """git could not give out what was asked for."""


def checkout(source: TaskSource, tasks: Sequence[str], target: Path) -> Path:
    """Fetch the directories of some tasks at the source's commit.

    Args:
        source: A source of kind `git`.
        tasks: Their ids, names of directories in `source.directory`.
        target: An empty directory; it becomes a repository.

    Returns:
        The directory in `target` that holds those of the tasks that the repository has.

    Raises:
        CheckoutError: The source says too little, git is missing, or it failed.
    """
    if not source.url or not source.commit:
        raise CheckoutError('a source of kind "git" needs url and commit; say both in the subset.')
    directory = PurePosixPath(source.directory or ".")
    if directory.is_absolute() or ".." in directory.parts:
        raise CheckoutError(f"source.directory is {directory}: it must lie in the repository.")
    _git(target, "init", "--quiet")
    _git(target, "remote", "add", "--", "origin", source.url)
    wanted = "".join(f"{directory / task}\n" for task in tasks)
    _git(target, "sparse-checkout", "set", "--cone", "--stdin", stdin=wanted)
    _fetch(target, source.url, source.commit, source.branch)
    _git(target, "checkout", "--quiet", "--detach", source.commit)
    return target / directory


def public_url(url: str) -> str:
    """The URL without the user's name or token in it."""
    return _USER_INFO.sub("", url)


def _fetch(target: Path, url: str, commit: str, branch: str | None) -> None:
    options = ("fetch", "--quiet", "--no-tags")
    try:
        _git(target, *options, "--filter=blob:none", "--depth=1", "origin", commit)
    except CheckoutError as error:
        # Some servers give out no commit (nor file) by its name: then the branch, all of it.
        if branch is not None and "unadvertised" in str(error):
            _git(target, *options, "--no-filter", "origin", f"refs/heads/{branch}")
            return
        raise CheckoutError(f"cannot fetch {commit} from {public_url(url)}: {error}") from error


def _git(directory: Path, *arguments: str, stdin: str = "") -> None:
    settings = [part for setting in _SETTINGS for part in ("-c", setting)]
    try:
        done = subprocess.run(
            ["git", *settings, *arguments],
            cwd=directory,
            env=_environment(),
            input=stdin,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    except FileNotFoundError as error:
        raise CheckoutError("git is not installed: install it, or use --from DIR.") from error
    if done.returncode != 0:
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        said = next((line for line in lines if line.startswith(("fatal:", "error:"))), "")
        raise CheckoutError(public_url(said or f"git {arguments[0]} ended with {done.returncode}"))


def _environment() -> dict[str, str]:
    """Ours, without what points git to another repository (in a hook, say), and unasking."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"}
    }
    return kept | {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
