"""The original 86 task directories of terminal-bench v0.1.x, kept in the user's cache."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

SHARED = Path(__file__).parents[4] / "shared"
LISTS = SHARED / "data" / "tb-v0.1.x"
_TOOL = SHARED / "tools" / "rebuild-tb-v01"


def original_tasks() -> Path:
    """Where they are; rebuilt once, from source archives, if they are not there yet.

    Raises:
        pytest.skip.Exception: What rebuilds them is not there.
        subprocess.CalledProcessError: It failed.
    """
    if not (_TOOL.is_file() and LISTS.is_dir()):
        pytest.skip("../shared is missing: what rebuilds the original tasks is there")
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    cache = Path(base, "tbeval-tests")
    kept = cache / "tb-v0.1.x"
    if not kept.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as temporary:
            made = Path(temporary, "made")
            subprocess.run([sys.executable, _TOOL, made], check=True, timeout=300)
            try:
                made.rename(kept)
            except OSError:
                if not kept.is_dir():  # else another test run was quicker
                    raise
    return kept / "tasks"
