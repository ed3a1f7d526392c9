"""Small tasks in the form of terminal-bench v0.1.x, a repository of them, and a converter."""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tbeval.settings.subset import Subset, TaskSource
from tbeval.tasks.fetch import Converter

COMPOSE = """\
services:
  client:
    build: .
    image: ${T_BENCH_TASK_DOCKER_CLIENT_IMAGE_NAME}
    container_name: ${T_BENCH_TASK_DOCKER_CLIENT_CONTAINER_NAME}
    command: ["sh", "-c", "sleep infinity"]
    environment:
      - TEST_DIR=${T_BENCH_TEST_DIR}
"""
IDS = ("first", "second", "third")


@dataclass(frozen=True)
class Warned:
    """What a converter returns."""

    warnings: tuple[str, ...]


class Counting:
    """A converter that copies what it needs, counts, and fails on request."""

    def __init__(self) -> None:
        self.made: list[str] = []
        self.failing: set[str] = set()
        self.killed_at: str | None = None

    def __call__(self, source: Path, target: Path) -> "Warned":
        self.made.append(source.name)
        target.mkdir()
        (target / "instruction.md").write_text((source / "task.yaml").read_text())
        if source.name in self.failing:
            raise ValueError("made up")
        if source.name == self.killed_at:
            raise KeyboardInterrupt
        (target / "task.toml").write_text('version = "1.0"\n[environment]\n')
        (target / "environment").mkdir()
        (target / "environment" / "Dockerfile").write_text("FROM scratch\n")
        (target / "tests").mkdir()
        shutil.copy2(source / "run-tests.sh", target / "tests" / "test.sh")
        return Warned((f"{source.name} was simplified.",))

    def version(self, name: str = "1") -> Converter:
        return Converter(name, self)


def write_old_tasks(directory: Path, ids: tuple[str, ...] = IDS) -> Path:
    """Task directories as terminal-bench v0.1.x has them."""
    for name in ids:
        task = directory / name
        (task / "tests").mkdir(parents=True)
        (task / "task.yaml").write_text(f"instruction: |-\n  Do what {name} asks.\n")
        (task / "Dockerfile").write_text("FROM scratch\n")
        (task / "docker-compose.yaml").write_text(COMPOSE)
        (task / "solution.sh").write_text("#!/bin/bash\ntrue\n")
        (task / "run-tests.sh").write_text("#!/bin/bash\npytest $TEST_DIR\n")
        (task / "run-tests.sh").chmod(0o755)
        (task / "tests" / "test_outputs.py").write_text("def test_it():\n    pass\n")
    return directory


class Repository:
    """A bare repository with two commits, of which the first has the tasks as they are wanted."""

    def __init__(self, directory: Path) -> None:
        work = directory / "work"
        write_old_tasks(work / "tasks")
        (work / "large").mkdir()
        (work / "large" / "not-wanted.bin").write_bytes(os.urandom(1000))
        self.bare = directory / "bare.git"
        self._git(directory, "init", "-q", "-b", "main", "work")
        self.commit = self._commit(work, "first")
        (work / "tasks" / "first" / "task.yaml").write_text("instruction: |-\n  Changed.\n")
        self._commit(work, "second")
        self._git(directory, "clone", "-q", "--bare", "work", "bare.git")
        self._git(self.bare, "config", "uploadpack.allowFilter", "true")

    @property
    def source(self) -> TaskSource:
        return TaskSource(
            kind="git",
            url=self.bare.as_uri(),
            branch="main",
            commit=self.commit,
            directory="tasks",
        )

    def subset(self, *tasks: str, **other: object) -> Subset:
        return Subset.model_validate(
            {"name": "mine", "tasks": tasks or IDS, "source": self.source, **other}
        )

    def go_away(self) -> None:
        self.bare.rename(self.bare.with_name("away.git"))

    def _commit(self, work: Path, message: str) -> str:
        self._git(work, "add", "-A")
        self._git(work, "commit", "-q", "-m", message)
        return self._git(work, "rev-parse", "HEAD").strip()

    def _git(self, where: Path, *arguments: str) -> str:
        who = ("-c", "user.name=Somebody", "-c", "user.email=somebody@example.invalid")
        environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
        done = subprocess.run(
            ["git", *who, *arguments],
            cwd=where,
            env=environment | {"GIT_CONFIG_GLOBAL": os.devnull},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout
