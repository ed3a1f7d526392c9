"""Runs on disk: one writer each, the newest with the same settings found, nothing half-made."""

from pathlib import Path

from tbeval.runs.store import create_run, newest_with
from tests.made_up_runs import make_run


def test_the_newest_run_with_the_same_settings_is_found_past_broken_ones(tmp_path: Path) -> None:
    runs = {
        number: make_run(["t"], 1, run_id=f"2026010{number}-000000-x", scoring={"x": x})
        for number, x in enumerate("aabc", start=1)
    }
    for run in runs.values():
        create_run(tmp_path, run)
    (tmp_path / "iter335" / "20260103-000000-x" / "run.toml").write_text("= broken")
    found = newest_with(tmp_path, "iter335", runs[1].fingerprint)
    assert found is not None
    assert found.name == "20260102-000000-x"
    broken = runs[3].fingerprint
    assert newest_with(tmp_path, "iter335", broken) is None, "its run.toml is broken"
    assert newest_with(tmp_path, "iter351", runs[1].fingerprint) is None
