"""Solutions that are steps typed into a terminal, run for real as the script made of them."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest
import yaml

from tbeval.tasks.convert import ConvertError, convert_task

if TYPE_CHECKING:
    from pathlib import Path

    from tests.tasks.convert.conftest import MakeSource


def solve(make_source: MakeSource, tmp_path: Path, steps: object) -> tuple[Path, tuple[str, ...]]:
    """Convert a task with these steps, run its solution, and return where, and the warnings."""
    source = make_source(files={"solution.yaml": yaml.safe_dump(steps)})
    (source / "solution.sh").unlink()
    converted = convert_task(source, tmp_path / "some-task")
    app = tmp_path / "app"
    app.mkdir()
    script = tmp_path / "some-task" / "solution" / "solve.sh"
    subprocess.run([script], cwd=app, check=False, timeout=20, input=b"not read\n")
    return app, converted.warnings


def typed(*commands: str) -> list[dict[str, object]]:
    return [{"command": command, "block": True, "append_enter": True} for command in commands]


def test_steps_share_a_shell_and_go_on_after_a_failure(
    make_source: MakeSource, tmp_path: Path
) -> None:
    here = "cat > out.txt << 'EOF'\n  $NAME stays\nEOF\n"
    steps = typed(
        "mkdir sub && cd sub", "NAME=x", "false", here, "cat >> out.txt", 'echo "$NAME" >> out.txt'
    )
    app, warnings = solve(make_source, tmp_path, steps)
    assert (app / "sub/out.txt").read_text() == "  $NAME stays\nx\n"
    assert warnings == ()


def test_what_is_typed_into_a_program_is_its_input(make_source: MakeSource, tmp_path: Path) -> None:
    steps = typed(
        "python3", "n = 6", "open('out', 'w').write(f'{n * 7}')", "quit()", "echo $((1)) >> out"
    )
    app, warnings = solve(make_source, tmp_path, steps)
    assert (app / "out").read_text() == "421\n"
    assert "types into python3" in warnings[0]


def test_keys_without_enter_belong_to_the_next_step(
    make_source: MakeSource, tmp_path: Path
) -> None:
    steps = [{"command": "echo a", "append_enter": False}, *typed("b > out")]
    app, warnings = solve(make_source, tmp_path, steps)
    assert (app / "out").read_text() == "ab\n"
    assert "without Enter" in warnings[0]


@pytest.mark.parametrize("steps", ["echo", [{"min_timeout_sec": 1}]])
def test_what_is_no_list_of_steps(make_source: MakeSource, tmp_path: Path, steps: object) -> None:
    with pytest.raises(ConvertError, match=r"solution\.yaml"):
        solve(make_source, tmp_path, steps)


def test_without_a_solution_a_task_can_still_be_evaluated(
    make_source: MakeSource, tmp_path: Path
) -> None:
    source = make_source()
    (source / "solution.sh").unlink()
    assert "no solution" in convert_task(source, tmp_path / "some-task").warnings[0]
