"""The files that images are built of: `environment/`, without what an agent must not see."""

import re
import shlex
import shutil
from collections.abc import Iterable
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath

from tbeval.tasks.convert.service import Build
from tbeval.tasks.convert.source import (
    COMPOSE_FILES,
    SOLUTIONS,
    TASK_FILE,
    TEST_SCRIPT,
    TESTS,
    ConvertError,
)
from tbeval.tasks.digest import IGNORED

DOCKERFILE = "Dockerfile"
#: What stands in a task's own directory and belongs into no image, unless its Dockerfile says so.
_OWN_FILES = (TASK_FILE, TEST_SCRIPT, TESTS, *SOLUTIONS, *COMPOSE_FILES)
_COPY = re.compile(r"^\s*(?:COPY|ADD)\s+(?P<rest>.+)$", re.IGNORECASE | re.MULTILINE)


def copy_context(task: Path, build: Build, target: Path) -> tuple[str, ...]:
    """Copy the files of a build.

    Args:
        task: The task's directory.
        build: Of one of its services.
        target: A directory, which may be there.

    Returns:
        What is worth knowing, one sentence each.

    Raises:
        ConvertError: The directory or the Dockerfile is not there.
    """
    context = inside(task, task / build.context)
    if not context.is_dir():
        raise ConvertError(f"task {task.name}: there is no directory {context} to build from.")
    dockerfile = inside(task, context / build.dockerfile)
    if not dockerfile.is_file():
        raise ConvertError(f"task {task.name}: there is no {dockerfile}.")
    if context != task.resolve():
        _copy(context, target, leave_out=())
        return ()
    sources = copied(dockerfile.read_text(encoding="utf-8"))
    named = {name for name in _OWN_FILES if any(_names(source, name) for source in sources)}
    _copy(context, target, leave_out=set(_OWN_FILES) - named)
    warnings = []
    if "." in sources:
        left = [name for name in _OWN_FILES if (context / name).exists() and name not in named]
        warnings.append(
            f"{build.dockerfile} copies the whole task directory into the image; left out there: "
            + ", ".join(left)
        )
    warnings += [
        f"{build.dockerfile} copies {name} into the image, where the agent can read it"
        for name in (*SOLUTIONS, TESTS, TEST_SCRIPT)
        if name in named
    ]
    return tuple(warnings)


def main_dockerfile(task: Path, build: Build, target: Path) -> Path:
    """See that the Dockerfile is called `Dockerfile`, the only name that sandboxes look for."""
    source = inside(task, task / build.context / build.dockerfile)
    dockerfile = target / DOCKERFILE
    if build.dockerfile != DOCKERFILE:
        shutil.copyfile(source, dockerfile)
        ignore = source.with_name(f"{source.name}.dockerignore")
        if ignore.is_file():
            shutil.copyfile(ignore, target / f"{DOCKERFILE}.dockerignore")
    return dockerfile


def ignore_in_builds(target: Path, names: Iterable[str]) -> None:
    """Keep what was not in the original's build context out of this one's."""
    for file in (target / ".dockerignore", target / f"{DOCKERFILE}.dockerignore"):
        there = file.is_file()
        if not there and file.name != ".dockerignore":
            continue
        before = file.read_text(encoding="utf-8") if there else ""
        lines = [*before.splitlines(), *names, *([] if there else [file.name])]
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def inside(task: Path, path: Path) -> Path:
    """A path of a task, in full.

    Raises:
        ConvertError: It leads out of the task's directory.
    """
    resolved = path.resolve()
    if not resolved.is_relative_to(task.resolve()):
        raise ConvertError(
            f"task {task.name}: {path} lies outside the task; put it into its directory."
        )
    return resolved


def copied(dockerfile: str) -> list[str]:
    """The paths of the context that COPY and ADD name; `.` is the whole of it."""
    found: list[str] = []
    for match in _COPY.finditer(dockerfile.replace("\\\n", " ")):
        rest = match["rest"].strip()
        try:
            words = shlex.split(rest.strip("[]").replace(",", " ") if rest[0] == "[" else rest)
        except ValueError:
            words = rest.split()
        if any(word.startswith("--from=") for word in words):
            continue
        words = [word for word in words if not word.startswith("--")][:-1]
        found += [
            str(PurePosixPath("/", word).relative_to("/"))
            for word in words
            if not word.startswith("<<") and "://" not in word
        ]
    return found


def _names(source: str, name: str) -> bool:
    first = PurePosixPath(source).parts[:1]
    return bool(first) and first[0] not in {"*", "**"} and fnmatch(name, first[0])


def _copy(source: Path, target: Path, *, leave_out: Iterable[str]) -> None:
    names = frozenset(leave_out)

    def ignored(directory: str, entries: list[str]) -> set[str]:
        top = names if Path(directory) == source else frozenset[str]()
        return {entry for entry in entries if entry in IGNORED or entry in top}

    shutil.copytree(source, target, symlinks=True, ignore=ignored, dirs_exist_ok=True)
