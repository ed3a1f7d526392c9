"""The rule that CI skips nothing in silence, tried on small suites of its own."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest


def run_suite(path: Path, source: str, *, ci: bool) -> subprocess.CompletedProcess[str]:
    shutil.copy(Path(__file__).parent / "conftest.py", path)
    (path / "test_it.py").write_text(source)
    environment = {k: v for k, v in os.environ.items() if k not in {"CI", "PYTEST_ADDOPTS"}}
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "--rootdir",
            str(path),
            str(path),
        ],
        cwd=path,
        env=environment | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"} | ({"CI": "true"} if ci else {}),
        capture_output=True,
        text=True,
        check=False,
    )


SKIPPED_TEST = 'import pytest\n\ndef test_a(): pytest.skip("{0}")\n\ndef test_b(): pass\n'
SKIPPED_MARK = """import pytest

@pytest.mark.skipif(True, reason="{0}")
def test_a(): pass

def test_b(): pass
"""
SKIPPED_MODULE = 'import pytest\n\npytest.skip("{0}", allow_module_level=True)\n'


@pytest.mark.parametrize("source", [SKIPPED_TEST, SKIPPED_MARK, SKIPPED_MODULE])
def test_a_skip_fails_ci_and_is_named(tmp_path: Path, source: str) -> None:
    done = run_suite(tmp_path, source.format("no tmux here"), ci=True)
    assert done.returncode != 0
    assert "test_it.py" in done.stdout
    assert "no tmux here" in done.stdout
    assert "which CI does not allow" in done.stdout


@pytest.mark.parametrize("source", [SKIPPED_TEST, SKIPPED_MARK])
def test_the_same_skip_is_in_order_elsewhere(tmp_path: Path, source: str) -> None:
    done = run_suite(tmp_path, source.format("no tmux here"), ci=False)
    assert done.returncode == 0
    assert "1 passed, 1 skipped" in done.stdout


@pytest.mark.parametrize(
    "reason", ["needs an ordinary user", "needs root: cgroups", "../shared is missing"]
)
def test_reasons_that_no_setup_removes_are_in_order(tmp_path: Path, reason: str) -> None:
    assert run_suite(tmp_path, SKIPPED_TEST.format(reason), ci=True).returncode == 0


def test_an_expected_failure_is_no_skip(tmp_path: Path) -> None:
    source = "import pytest\n\n@pytest.mark.xfail\ndef test_a(): assert 0\n\ndef test_b(): pass\n"
    assert run_suite(tmp_path, source, ci=True).returncode == 0
