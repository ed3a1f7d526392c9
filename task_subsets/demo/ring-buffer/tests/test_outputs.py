import resource
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

import pytest

ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/tmp", "LC_ALL": "C.UTF-8"}
TESTS = Path(__file__).parent
GCC = ["gcc", "-std=c11", "-O1"]


class Done(NamedTuple):
    stdout: str
    stderr: str
    returncode: int


def limit_files() -> None:
    """Neither the output nor any other file of the program grows beyond 1 MB."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (2**20, 2**20))


def run(arguments: list[str], folder: Path, seconds: float) -> Done:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        code = subprocess.run(
            arguments,
            check=False,
            cwd=folder,
            env=ENVIRONMENT,
            preexec_fn=limit_files,
            stderr=err,
            stdin=subprocess.DEVNULL,
            stdout=out,
            timeout=seconds,
        ).returncode
        out.seek(0)
        err.seek(0)
        return Done(out.read().decode(errors="replace"), err.read().decode(errors="replace"), code)


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Our program and the repaired ring in one executable, made beside our own ring.h."""
    folder = tmp_path_factory.mktemp("ring")
    shutil.copy("/app/ring.c", folder / "ring.c")
    for name in ("ring.h", "driver.c"):
        shutil.copy(TESTS / name, folder / name)
    done = run([*GCC, "-o", "driver", "driver.c", "ring.c"], folder, 15)
    assert done.returncode == 0, done.stderr[-500:]
    return folder / "driver"


def check(driver: Path, part: str) -> None:
    """The driver says "PART: right" at its very end, or which line found a fault."""
    done = run([str(driver), part], driver.parent, 4)
    assert (done.stdout, done.returncode) == (f"{part}: right\n", 0)


def test_push_and_pop(driver: Path):
    check(driver, "order")


def test_full(driver: Path):
    check(driver, "full")


def test_wraps_around(driver: Path):
    check(driver, "wrap")


def test_peek(driver: Path):
    check(driver, "peek")


def test_resize(driver: Path):
    check(driver, "resize")


def test_odd_arguments(driver: Path):
    check(driver, "odd")


def test_no_warnings(driver: Path, tmp_path: Path):
    shutil.copy("/app/ring.c", tmp_path / "ring.c")
    shutil.copy(TESTS / "ring.h", tmp_path / "ring.h")
    done = run([*GCC, "-Wall", "-Wextra", "-Werror", "-c", "ring.c"], tmp_path, 15)
    assert done.returncode == 0, done.stderr[-500:]
