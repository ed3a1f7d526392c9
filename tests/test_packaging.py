"""What a wheel must hold: every module, and every file that a module reads."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(out)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (built,) = out.glob("tbeval-*.whl")
    return built


@pytest.fixture(scope="module")
def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def sources(directory: str) -> set[str]:
    """The files under a directory of the checkout, without what Python and tools leave there."""
    files = (path for path in (ROOT / directory).rglob("*") if path.is_file())
    return {str(path.relative_to(ROOT)) for path in files if "__pycache__" not in path.parts}


def test_every_file_of_the_package_is_in(names: set[str]) -> None:
    assert sources("tbeval") <= names


# .gitignore says what `results/` and `reports/` at the top may not hold; unanchored it would take
# the packages of the same names out of the wheel, too
@pytest.mark.parametrize(
    "name",
    [
        "tbeval/results/__init__.py",
        "tbeval/reports/__init__.py",
        "tbeval/reports/templates/report.md.j2",
        "tbeval/settings/checkpoints.toml",
        "tbeval/shipped/task_subsets/demo.toml",
    ],
)
def test_what_is_easily_lost_is_in(names: set[str], name: str) -> None:
    assert name in names


def test_every_file_of_the_subsets_is_in(names: set[str]) -> None:
    assert {f"tbeval/shipped/{name}" for name in sources("task_subsets")} <= names


def test_nothing_else_is_in(names: set[str]) -> None:
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"tbeval"}
    assert not [name for name in names if name.endswith(".pyc")]


def test_the_wheel_works_without_the_checkout(wheel: Path, tmp_path: Path) -> None:
    installed = tmp_path / "installed"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(installed)
    program = (
        "import tbeval; from tbeval.settings.places import shipped_subsets; "
        "from tbeval.cli.main import main; print(tbeval.__file__); print(shipped_subsets()); main()"
    )
    shown = subprocess.run(
        [sys.executable, "-c", program, "checkpoints"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(installed), "HOME": str(tmp_path)},
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    package, subsets, *listing = shown.splitlines()
    assert package == str(installed / "tbeval/__init__.py")
    assert subsets == str(installed / "tbeval/shipped/task_subsets")
    assert any(line.startswith("oracle") for line in listing)
