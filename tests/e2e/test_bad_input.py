"""A user's mistake: one clear sentence on stderr, exit code 2, nothing half-written."""

import asyncio
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.commands import DEMO, command, tbeval
from tests.scripted import ScriptedEndpoint

pytestmark = pytest.mark.e2e

UNKNOWN_KEY = '[checkpoints.mine]\nlike = "iter335"\n\nserved_modle = "x"\n'
DEAD = (
    '[checkpoints.mine]\nbase_url = "http://127.0.0.1:9/v1"\nserved_model = "x"\nsubset = "demo"\n'
)


@pytest.mark.parametrize(
    ("args", "file", "words"),
    [
        (("eval", "itr335"), "", ("itr335", "iter335")),
        (("eval", "smollm2", "-n", "0"), "", ("-n is 0",)),
        (("eval", "smollm2", "-j", "-3"), "", ("-j is -3",)),
        (
            ("eval", "smollm2", "--agent", "camel"),
            "",
            ("--agent camel comes with a later version",),
        ),
        (
            ("eval", "oracle", "--sandbox", "docker"),
            "",
            ("No Docker Engine answers at unix:///nowhere/engine.sock", "DOCKER_HOST"),
        ),
        (("eval", "oracle", "--subset", "dmo"), "", ("dmo", "demo")),
        (("eval", "oracle", "--tasks", "write-moto"), "", ("write-moto", "write-motto")),
        (("eval", "mine"), UNKNOWN_KEY, ("line 4", "served_modle", "served_model")),
        (("eval", "mine"), "[checkpoints.mine\n", ("line 1",)),
        (("eval", "mine"), DEAD, ("127.0.0.1:9",)),
        (("protocols",), "", ("comes with a later version",)),
        (("show",), "", ("results",)),
    ],
)
def test_one_sentence_and_exit_2(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    args: tuple[str, ...],
    file: str,
    words: tuple[str, ...],
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/engine.sock")
    if file:
        (tmp_path / "checkpoints.toml").write_text(file)
    done = tbeval(*args, cwd=tmp_path)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr
    assert not list(tmp_path.glob("results/*/*")), "nothing was begun"


async def test_a_model_that_is_not_served_is_named_beside_those_that_are(tmp_path: Path) -> None:
    async with ScriptedEndpoint(model="iter351") as endpoint:
        args = ("eval", "x", "--base-url", endpoint.base_url, "--served-model", "iter335")
        done = await asyncio.to_thread(tbeval, *args, "--subset", "demo", cwd=tmp_path)
    assert done.returncode == 2
    assert "iter335" in done.stderr
    assert "iter351" in done.stderr
    assert not list(tmp_path.glob("results/*/*"))


def subset_of(directory: Path, *tasks: str) -> Path:
    """A subset file for tasks that lie in `tasks/` beside it."""
    path = directory / "mine.toml"
    names = ", ".join(f'"{task}"' for task in tasks)
    source = '[source]\nkind = "directory"\npath = "tasks"\n'
    path.write_text(f'name = "mine"\ntasks = [{names}]\n{source}')
    return path


def break_tests(task: Path) -> None:
    shutil.rmtree(task / "tests")


def break_toml(task: Path) -> None:
    (task / "task.toml").unlink()


def break_syntax(task: Path) -> None:
    (task / "task.toml").write_text("[environment\n")


def break_directory(task: Path) -> None:
    shutil.rmtree(task)


def leave_only_the_image(task: Path) -> None:
    (task / "environment" / "setup.sh").unlink()


@pytest.mark.parametrize(
    ("break_it", "word"),
    [
        (break_tests, "test"),
        (break_toml, "task.toml"),
        (break_syntax, "task.toml"),
        (break_directory, "broken"),
        (leave_only_the_image, "--sandbox docker"),
    ],
)
def test_a_broken_task_stops_before_anything_runs(
    tmp_path: Path, break_it: Callable[[Path], None], word: str
) -> None:
    for name in ("whole", "broken"):
        shutil.copytree(DEMO / "write-motto", tmp_path / "tasks" / name)
    break_it(tmp_path / "tasks" / "broken")
    subset = subset_of(tmp_path, "whole", "broken")
    done = tbeval("eval", "oracle", "--subset", subset, cwd=tmp_path)
    assert done.returncode == 2, done.stdout
    assert word in done.stderr
    assert not list(tmp_path.glob("results/*/*"))


@pytest.mark.skipif(os.geteuid() == 0, reason="needs an ordinary user: root writes everywhere")
def test_a_results_directory_that_is_read_only(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir(mode=0o500)
    done = tbeval("eval", "oracle", cwd=tmp_path)
    assert done.returncode == 2
    assert "cannot be written" in done.stderr


def test_a_results_directory_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("")
    done = tbeval("eval", "oracle", cwd=tmp_path)
    assert done.returncode == 2
    assert "cannot be written" in done.stderr


def test_an_ascii_terminal_and_a_lost_directory(tmp_path: Path) -> None:
    ascii_only = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C"}
    done = tbeval("eval", "smollm2", "--show-settings", cwd=tmp_path, env=ascii_only)
    assert done.returncode == 0, done.stderr
    assert "smollm2" in done.stdout
    lost = tmp_path / "lost"
    lost.mkdir()
    gone = ["bash", "-c", 'rmdir "$PWD"; exec "$@"', "bash", *command("checkpoints")]
    done = subprocess.run(gone, cwd=lost, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert "working directory is gone" in done.stderr
