"""The reference solution as a script: terminal-bench's steps, typed one after another."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tbeval.tasks.convert.source import ConvertError, load_yaml

_HEADER = """\
#!/bin/bash
# Written by tbeval from solution.yaml: the same steps, one after another in one shell.
exec </dev/null
"""
#: Programs that read what is typed after them.
_READER = re.compile(r"(python[\d.]*|ipython3?|node|sqlite3|psql|mysql|bc|gdb|R)(\s+-i)?")
_LEAVES = frozenset({"quit()", "exit()", "exit", "quit", r"\q", ".quit", ".exit", "quit;"})
_END = "TBEVAL_TYPED"


@dataclass(frozen=True)
class Step:
    """What is typed, and whether Enter is pressed after it."""

    keys: str
    enter: bool = True


def solution_script(path: Path) -> tuple[str, tuple[str, ...]]:
    """The script for a `solution.yaml`.

    Returns:
        The script, and what may differ from typing the steps, one sentence each.

    Raises:
        ConvertError: The file is not a list of commands.
    """
    steps = [_step(path, entry) for entry in load_yaml(path, list)]
    warnings: list[str] = []
    if any(not step.enter for step in steps):
        warnings.append(
            "solution.yaml types keys without Enter; in solve.sh they are joined with the next step"
        )
    lines, typed = _lines(_joined(steps))
    if typed:
        warnings.append(
            f"solution.yaml types into {typed}; solve.sh gives it the same lines on its input"
        )
    return _HEADER + "".join(f"\n{line.rstrip()}\n" for line in lines), tuple(warnings)


def _step(path: Path, entry: Any) -> Step:
    command = entry.get("command") if isinstance(entry, dict) else None
    if not isinstance(command, str):
        raise ConvertError(f'task {path.parent.name}: {path}: a step has no "command".')
    return Step(command, enter=bool(entry.get("append_enter", True)))


def _joined(steps: Sequence[Step]) -> list[str]:
    commands, pending = [], ""
    for step in steps:
        pending += step.keys
        if step.enter:
            commands.append(pending)
            pending = ""
    return [*commands, pending] if pending else commands


def _lines(commands: Sequence[str]) -> tuple[list[str], str]:
    """Shell commands, with what is typed into a program as its input."""
    lines: list[str] = []
    typed = ""
    inside: list[str] | None = None
    for index, command in enumerate(commands):
        if inside is not None:
            inside.append(command.rstrip("\n"))
            if command.strip() in _LEAVES:
                lines.append("\n".join([*inside, _END]))
                inside = None
        elif _READER.fullmatch(command.strip()) and index + 1 < len(commands):
            typed = command.strip()
            inside = [f"{typed} <<'{_END}'"]
        else:
            lines.append(command)
    if inside is not None:
        lines.append("\n".join([*inside, _END]))
    return lines, typed
