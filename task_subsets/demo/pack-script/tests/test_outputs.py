import resource
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

import pytest

ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/tmp", "LC_ALL": "C.UTF-8"}
SCRIPT = Path("/app/pack.sh")


class Done(NamedTuple):
    stdout: str
    stderr: str
    returncode: int


def limit_files() -> None:
    """Neither the output nor any other file of the program grows beyond 1 MB."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (2**20, 2**20))


def pack(source: Path, target: Path) -> Done:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        code = subprocess.run(
            ["bash", str(SCRIPT), str(source), str(target)],
            check=False,
            cwd="/tmp",
            env=ENVIRONMENT,
            preexec_fn=limit_files,
            stderr=err,
            stdin=subprocess.DEVNULL,
            stdout=out,
            timeout=6,
        ).returncode
        out.seek(0)
        err.seek(0)
        return Done(out.read().decode(errors="replace"), err.read().decode(errors="replace"), code)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "a.txt").write_text("one\n")
    (folder / "b.txt").write_text("two\n")
    (folder / "picture.png").write_text("none\n")
    return folder


@pytest.fixture
def target(tmp_path: Path) -> Path:
    folder = tmp_path / "target"
    folder.mkdir()
    return folder


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_copies_texts_only(source: Path, target: Path):
    pack(source, target)
    assert contents(target) == {"a.txt": "one\n", "b.txt": "two\n"}


def test_makes_the_target(source: Path, tmp_path: Path):
    pack(source, tmp_path / "new")
    assert contents(tmp_path / "new") == {"a.txt": "one\n", "b.txt": "two\n"}


def test_prints_the_number(source: Path, target: Path):
    done = pack(source, target)
    assert (done.stdout, done.returncode) == ("copied 2 files\n", 0)


def test_names_with_spaces(tmp_path: Path, target: Path):
    folder = tmp_path / "my source"
    folder.mkdir()
    (folder / "a  long name.txt").write_text("three\n")
    (folder / "x.txt").write_text("four\n")
    pack(folder, target)
    assert contents(target) == {"a  long name.txt": "three\n", "x.txt": "four\n"}


def test_no_texts_is_no_error(tmp_path: Path, target: Path):
    empty = tmp_path / "empty"
    empty.mkdir()
    done = pack(empty, target)
    assert (done.stdout, done.returncode) == ("copied 0 files\n", 0)
    assert contents(target) == {}


def test_missing_source_is_an_error(source: Path, tmp_path: Path):
    done = pack(tmp_path / "nowhere", tmp_path / "new")
    assert done.returncode == 1
    assert not (tmp_path / "new").exists()
    # ... and nothing else is one: a script that always fails has not refused anything
    assert pack(source, tmp_path / "new").returncode == 0
