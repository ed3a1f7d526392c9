"""A task directory of terminal-bench v0.1.x, read and checked."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from harbor.mappers.terminal_bench import TerminalBenchTaskConfig
from pydantic import ValidationError

from tbeval.settings.base import SettingsError
from tbeval.tasks.convert.variables import resolve

TASK_FILE = "task.yaml"
COMPOSE_FILES = ("docker-compose.yaml", "docker-compose.yml", "compose.yaml", "compose.yml")
TEST_SCRIPT = "run-tests.sh"
TESTS = "tests"
SOLUTIONS = ("solution.sh", "solution.yaml")
_MAIN = "client"
_READS_SCREEN = re.compile(r"""["'](?:[^"'\s]*/)?post-agent\.txt["']""")


class ConvertError(SettingsError):
    """A task cannot be converted; the sentence says what is wrong with it and where."""


@dataclass(frozen=True)
class Source:
    """What a task's files say.

    Attributes:
        path: Its directory.
        config: Its task.yaml, as harbor's model has it.
        raw: All of its task.yaml.
        compose: Its compose file, terminal-bench's variables resolved.
        main: The service that the agent works in.
    """

    path: Path
    config: TerminalBenchTaskConfig
    raw: Mapping[str, Any]
    compose: Mapping[str, Any]
    main: str

    @property
    def services(self) -> Mapping[str, Mapping[str, Any]]:
        """The services of the compose file, by name."""
        services: Mapping[str, Mapping[str, Any]] = self.compose["services"]
        return services

    @property
    def solution(self) -> Path | None:
        """Its solution script or steps."""
        found = (self.path / name for name in SOLUTIONS)
        return next((path for path in found if path.is_file()), None)

    @property
    def reads_screen(self) -> bool:
        """Whether a test opens the dump of the agent's last screen."""
        return any(
            _READS_SCREEN.search(path.read_text(encoding="utf-8", errors="replace"))
            for path in sorted((self.path / TESTS).rglob("*.py"))
        )


def read_source(path: Path) -> Source:
    """Read a task directory.

    Raises:
        ConvertError: A file is missing or cannot be understood.
    """
    for name in (TASK_FILE, TEST_SCRIPT):
        if not (path / name).is_file():
            raise ConvertError(
                f"task {path.name}: {path / name} is missing; is this a task of terminal-bench?"
            )
    _refuse_links_out(path)
    raw = load_yaml(path / TASK_FILE, dict)
    try:
        config = TerminalBenchTaskConfig.model_validate(raw)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise ConvertError(
            f"task {path.name}: {path / TASK_FILE}: {where}: {first['msg']}."
        ) from error
    compose = _read_compose(path)
    services = compose["services"]
    main = _MAIN if _MAIN in services else next(iter(services))
    return Source(path=path, config=config, raw=raw, compose=compose, main=main)


def load_yaml[T](path: Path, kind: type[T]) -> T:
    """The content of a YAML file.

    Raises:
        ConvertError: It cannot be read or is not of that kind.
    """
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        line = " ".join(str(error).split())
        raise ConvertError(f"task {path.parent.name}: {path}: {line}.") from error
    if not isinstance(content, kind):
        raise ConvertError(f"task {path.parent.name}: {path} holds no {kind.__name__}.")
    return content


def write_yaml(path: Path, content: Mapping[str, Any]) -> None:
    """Write a YAML file, keys in their order."""
    path.write_text(yaml.safe_dump(dict(content), sort_keys=False, width=100), encoding="utf-8")


def _read_compose(path: Path) -> Mapping[str, Any]:
    """The compose file; a task without one is a Dockerfile, as in terminal-bench."""
    found = [path / name for name in COMPOSE_FILES if (path / name).is_file()]
    if not found:
        return {"services": {_MAIN: {"build": {"context": "."}}}}
    compose = load_yaml(found[0], dict)
    services = compose.get("services")
    if not isinstance(services, dict) or not services:
        raise ConvertError(f"task {path.name}: {found[0]} has no services.")
    for name, service in services.items():
        if not isinstance(service, dict):
            raise ConvertError(f"task {path.name}: {found[0]}: service {name} is no table.")
    try:
        resolved = resolve(compose, path.name)
    except KeyError as error:
        raise ConvertError(
            f"task {path.name}: {found[0]}: ${{{error.args[0]}}} is no variable of terminal-bench "
            "and has no default; give it one."
        ) from error
    if not isinstance(resolved, dict):  # a table stays one
        raise TypeError(type(resolved).__name__)
    return resolved


def _refuse_links_out(path: Path) -> None:
    root = path.resolve()
    for directory, directories, files in os.walk(root):
        for name in (*directories, *files):
            entry = Path(directory, name)
            if entry.is_symlink() and not entry.resolve().is_relative_to(root):
                raise ConvertError(
                    f"task {path.name}: {entry} is a link that leads out of the task; put the "
                    "file itself there."
                )
