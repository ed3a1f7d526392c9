"""Where a run cannot be made."""

from pathlib import Path

import pytest

from tbeval.runs.store import create_run
from tbeval.settings.base import SettingsError
from tests.made_up_runs import make_run


def test_a_file_where_the_checkpoints_directory_should_be_is_told(tmp_path: Path) -> None:
    (tmp_path / "iter335").touch()
    with pytest.raises(SettingsError, match=r"iter335.* cannot be made .*--results-dir"):
        create_run(tmp_path, make_run(["a"], 1))
