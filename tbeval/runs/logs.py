"""A run's log.txt: everything that tbeval and harbor log, and nothing on the screen."""

import contextlib
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import override


class _QuietHandler(logging.FileHandler):
    """A log that cannot be written must not put its text, which may be a model's, on the screen."""

    @override
    def handleError(self, record: logging.LogRecord) -> None:
        """Say nothing: a full disk ends the run by its ledger."""


@contextmanager
def run_log(directory: Path) -> Iterator[None]:
    """Send the log of tbeval and harbor to the run's log.txt while the context lasts."""
    handler = _QuietHandler(directory / "log.txt", encoding="utf-8", errors="backslashreplace")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    handler.setLevel(logging.INFO)
    loggers = [logging.getLogger("tbeval"), logging.getLogger("harbor")]
    before = [(logger.propagate, logger.level) for logger in loggers]
    for logger in loggers:
        logger.propagate = False  # harbor would write to the root's handlers, that is the screen
        logger.setLevel(logging.INFO)
        logger.addHandler(handler)
    try:
        yield
    finally:
        for logger, (propagate, level) in zip(loggers, before, strict=True):
            logger.removeHandler(handler)
            logger.propagate = propagate
            logger.setLevel(level)
        with contextlib.suppress(OSError):  # what a full disk refused is refused again
            handler.close()


def forget_loggers(trial_id: str) -> None:
    """Drop the loggers that harbor named after a trial; logging keeps all it ever made.

    Who still holds one may go on logging with it.
    """
    known = logging.Logger.manager.loggerDict
    gone = {name for name in list(known) if trial_id in name}
    for name in gone:
        known.pop(name, None)
    # their parents by name, which no one asked for, hold on to them
    for name, holder in list(known.items()):
        if isinstance(holder, logging.PlaceHolder):
            mine = [logger for logger in list(holder.loggerMap) if logger.name in gone]
            for logger in mine:
                holder.loggerMap.pop(logger, None)
            if mine and not holder.loggerMap:
                known.pop(name, None)
