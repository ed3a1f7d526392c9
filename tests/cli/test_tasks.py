import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from tbeval.cli.tasks import command
from tbeval.settings.base import SettingsError
from tbeval.tasks.digest import task_digest

TASK = """
version = "1.0"
[metadata]
difficulty = "easy"
[metadata.tbeval]
same_shell = true
[agent]
timeout_sec = 7
[environment]
cpus = 2
"""
COMPOSE = "services:\n  main:\n    build: .\n  other:\n    image: busybox\n"
TESTS = "def test_a():\n    pass\n\nclass TestB:\n    async def test_c(self):\n        pass\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a subset of its own, whose source no network reaches."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    subsets = tmp_path / "task_subsets"
    subsets.mkdir()
    (subsets / "mine.toml").write_text(
        'description = "Of my own."\ntasks = ["hostile", "gone"]\n[source]\nkind = "git"\n'
        f'url = "file:///nowhere"\ncommit = "{"0" * 40}"\n'
    )
    (subsets / "broken.toml").write_text("tasks = [\n")
    task = tmp_path / "tasks" / "hostile"
    (task / "environment").mkdir(parents=True)
    (task / "tests").mkdir()
    (task / "task.toml").write_text(TASK)
    (task / "instruction.md").write_text("Type \x1b]0;owned\x07 now and\u202e then.\n\tSo.\n")
    (task / "environment" / "Dockerfile").write_text("FROM --platform=x debian:12 AS a\n")
    (task / "environment" / "docker-compose.yaml").write_text(COMPOSE)
    (task / "tests" / "test.sh").write_text("pytest\n")
    (task / "tests" / "test_outputs.py").write_text(TESTS)
    return tmp_path


def run(*arguments: str) -> str:
    result = CliRunner().invoke(command, arguments, catch_exceptions=False)
    assert result.exit_code == 0
    return result.output


def test_a_subset_that_is_not_fetched(project: Path) -> None:
    lines = run("list").splitlines()
    assert "mine 2 0 Of my own." in {" ".join(line.split()) for line in lines}
    assert any(line.startswith("broken") for line in lines)
    assert any(line.split()[:3] == ["demo", "12", "12"] for line in lines)
    assert " ".join(run("list", "mine").split()).endswith("hostile not fetched gone not fetched")
    (project / "task_subsets" / "broken.toml").unlink()
    with pytest.raises(SettingsError, match=r"run `tbeval tasks fetch mine`\."):
        run("show", "hostile")


def test_fetch_from_a_directory_then_show(project: Path) -> None:
    with pytest.raises(SettingsError, match=r"tasks has no directory for gone\. The others are;"):
        run("fetch", "mine", "--from", "tasks")
    assert run("list", "mine").splitlines()[1].split()[:5] == ["hostile", "easy", "-", "7", "s"]
    shown = run("show", "hostile", "--subset", "mine")
    assert "\x1b" not in shown
    assert "\r" not in shown
    facts, _, instruction = shown.partition("\n\n")
    assert instruction == "Type \\x1b]0;owned\\x07 now and\\u202e then.\n        So.\n"
    lines = [" ".join(line.split()) for line in facts.splitlines()]
    for expected in (
        "task hostile",
        "agent limit 7 s",
        "services main, other",
        "images debian:12",
        "cpus 2",
        "same_shell true",
        "tests 2 in its sources",
        "test_outputs.py::test_a",
        "test_outputs.py::TestB::test_c",
        f"digest {task_digest(project / 'tasks' / 'hostile')}",
    ):
        assert expected in lines


def test_a_task_of_any_subset(project: Path) -> None:
    (project / "task_subsets" / "broken.toml").unlink()
    assert run("show", "ring-buffer").splitlines()[1].split() == ["subset", "demo"]
    with pytest.raises(SettingsError, match=r'"ring-bufer" \(did you mean "ring-buffer"\?\)'):
        run("show", "ring-bufer")


def test_nothing_to_fetch(project: Path) -> None:
    assert "nothing to fetch" in run("fetch", "demo")
    with pytest.raises(SettingsError, match="leave --from out"):
        run("fetch", "demo", "--from", "tasks")


def test_eval_names_what_to_do(project: Path) -> None:
    code = "from tbeval.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "eval", "nop", "--subset", "mine"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "`tbeval tasks fetch mine`" in done.stderr
    assert len(done.stderr.splitlines()) == 1
