"""The run's log holds what was logged, and its failure shows nothing on the screen."""

import logging
from pathlib import Path

import pytest

from tbeval.runs.logs import run_log


def test_it_takes_any_text_and_only_while_it_lasts(tmp_path: Path) -> None:
    with run_log(tmp_path):
        logging.getLogger("tbeval.x").warning("a lone \ud800 and \x1b[31m")
        logging.getLogger("harbor.y").info("from harbor")
    logging.getLogger("tbeval.x").error("after")
    text = (tmp_path / "log.txt").read_text()
    assert "a lone \\ud800" in text
    assert "from harbor" in text
    assert "after" not in text


def test_a_full_disk_puts_no_text_on_the_screen(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "log.txt").symlink_to("/dev/full")
    with run_log(tmp_path):
        logging.getLogger("tbeval.x").warning("the model's own words")
    said = capsys.readouterr()
    assert said.out + said.err == ""
