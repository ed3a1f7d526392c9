"""A report that stands there before the verifier has run is nobody's verdict."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tbeval.tasks.verifier import REPORT_FILE, ReportVerifier


@pytest.mark.parametrize("plant", [Path.touch, Path.mkdir, lambda path: path.symlink_to("gone")])
async def test_it_is_gone_even_if_no_report_of_ours_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plant: Callable[[Path], Any]
) -> None:
    async def fail(_self: ReportVerifier) -> None:
        raise MemoryError

    monkeypatch.setattr(ReportVerifier, "_report", fail)
    verifier = object.__new__(ReportVerifier)
    verifier.trial_paths = SimpleNamespace(verifier_dir=tmp_path)
    plant(tmp_path / REPORT_FILE)
    with pytest.raises(MemoryError):
        await verifier.verify()
    assert list(tmp_path.iterdir()) == []
