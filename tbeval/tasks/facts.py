"""What a task is, read from its files for somebody who wonders about it."""

import ast
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

_FROM = re.compile(r"^\s*FROM\s+(?:--\S+\s+)*(\S+)", re.IGNORECASE | re.MULTILINE)
_COMPOSE = ("docker-compose.yaml", "docker-compose.yml")


@dataclass(frozen=True)
class TaskFacts:
    """What its files say of a task's sandbox and tests.

    Attributes:
        images: What it starts from: the image that it names, or those its Dockerfiles build on.
        services: Its containers; `main` alone for most.
        limits: Name -> value, of the sandbox: `cpus`, `memory_mb`, `network_mode`, …
        tests: The test functions in its sources, as pytest names them. One that is parametrised
            stands here once.
        marks: What tbeval's converter noted, name -> value.
    """

    images: tuple[str, ...]
    services: tuple[str, ...]
    limits: tuple[tuple[str, str], ...]
    tests: tuple[str, ...]
    marks: tuple[tuple[str, str], ...]


def task_facts(path: Path) -> TaskFacts:
    """Read the facts of a task directory in harbor's format that `load_task` accepts."""
    config = tomllib.loads((path / "task.toml").read_text(encoding="utf-8"))
    environment = _table(config.get("environment"))
    marks = _table(_table(config.get("metadata")).get("tbeval"))
    return TaskFacts(
        images=_images(path / "environment", environment.get("docker_image")),
        services=_services(path / "environment"),
        limits=_texts({k: v for k, v in environment.items() if not isinstance(v, dict | list)}),
        tests=tuple(_tests(path / "tests")),
        marks=_texts(marks),
    )


def _images(directory: Path, named: object) -> tuple[str, ...]:
    if isinstance(named, str) and named:
        return (named,)
    found: list[str] = []
    for file in sorted(directory.rglob("*Dockerfile*")):
        if file.is_file() and not file.is_symlink():
            found += _FROM.findall(file.read_text(encoding="utf-8", errors="replace"))
    return tuple(dict.fromkeys(found))


def _services(directory: Path) -> tuple[str, ...]:
    for name in _COMPOSE:
        try:
            document = yaml.safe_load((directory / name).read_text(encoding="utf-8"))
        except FileNotFoundError:
            continue
        except (OSError, ValueError, yaml.YAMLError):
            return (f"{name} cannot be read",)
        return tuple(map(str, _table(_table(document).get("services"))))
    return ("main",)


def _tests(directory: Path) -> Iterator[str]:
    files = {*directory.rglob("test_*.py"), *directory.rglob("*_test.py")}
    for file in sorted(files):
        where = file.relative_to(directory).as_posix()
        try:
            module = ast.parse(file.read_bytes())
        except (OSError, ValueError, SyntaxError):
            yield f"{where} (cannot be read)"
            continue
        for node in module.body:
            yield from (f"{where}::{name}" for name in _names(node))


def _names(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
        yield node.name
    elif isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
        for inner in node.body:
            yield from (f"{node.name}::{name}" for name in _names(inner))


def _table(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _texts(values: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple(
        (name, str(value).lower() if isinstance(value, bool) else str(value))
        for name, value in values.items()
    )
