"""The run's log holds what was logged, and its failure shows nothing on the screen."""

import logging
from pathlib import Path

import pytest

from tbeval.runs.logs import forget_loggers, run_log


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


def test_the_loggers_of_a_trial_are_forgotten_and_no_others() -> None:
    known = logging.Logger.manager.loggerDict
    before = set(known)
    for name in ("t.1.1-run", "t.1.1-run.harbor.agent", "t.1.2-run"):
        logging.getLogger(f"forgetting.{name}")
    forget_loggers("t.1.1-run")
    assert not [name for name in known if "t.1.1-run" in name]
    assert "forgetting.t.1.2-run" in known
    forget_loggers("t.1.2-run")
    assert set(known) == before
    assert logging.getLogger("forgetting.t.1.1-run.harbor").isEnabledFor(logging.ERROR)
    forget_loggers("t.1.1-run")
