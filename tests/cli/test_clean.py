import tempfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from tbeval.cli.clean import command
from tbeval.records.process import pid_namespace
from tbeval.runs import cleaning


def test_clean_removes_what_it_names_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TBEVAL_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    # what an Engine of this machine has is tested where there is one
    monkeypatch.setattr(cleaning, "FINDERS", (cleaning._sandboxes, cleaning._scratch))
    left = tmp_path / f"tbeval-{pid_namespace()}-1-1-x"
    left.mkdir()
    shown = CliRunner().invoke(command, ["--dry-run"], catch_exceptions=False)
    assert shown.output == f"would remove: scratch directory {left}\n"
    assert left.exists()
    done = CliRunner().invoke(command, catch_exceptions=False)
    assert done.output == f"removed: scratch directory {left}\n"
    assert not left.exists()
    again = CliRunner().invoke(command, catch_exceptions=False)
    assert again.output == "nothing is left of any run that was killed\n"
