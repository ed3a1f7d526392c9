import shutil
import subprocess
from pathlib import Path

import pytest

ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/tmp", "LC_ALL": "C.UTF-8"}
TESTS = Path(__file__).parent
GCC = ["gcc", "-std=c11", "-O1"]


def run(arguments: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        arguments,
        capture_output=True,
        check=False,
        cwd=folder,
        env=ENVIRONMENT,
        errors="replace",
        stdin=subprocess.DEVNULL,
        text=True,
        timeout=20,
    )


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Our program and the repaired ring in one executable, made beside our own ring.h."""
    folder = tmp_path_factory.mktemp("ring")
    shutil.copy("/app/ring.c", folder / "ring.c")
    for name in ("ring.h", "driver.c"):
        shutil.copy(TESTS / name, folder / name)
    done = run([*GCC, "-o", "driver", "driver.c", "ring.c"], folder)
    assert done.returncode == 0, done.stderr[-500:]
    return folder / "driver"


def check(driver: Path, part: str) -> None:
    """The driver says "PART: right" at its very end, or which line found a fault."""
    done = run([str(driver), part], driver.parent)
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
    done = run([*GCC, "-Wall", "-Wextra", "-Werror", "-c", "ring.c"], tmp_path)
    assert done.returncode == 0, done.stderr[-500:]
