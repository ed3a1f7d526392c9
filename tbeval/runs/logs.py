"""A run's log.txt: everything that tbeval and harbor log, and nothing on the screen."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def run_log(directory: Path) -> Iterator[None]:
    """Send the log of tbeval and harbor to the run's log.txt while the context lasts."""
    handler = logging.FileHandler(
        directory / "log.txt", encoding="utf-8", errors="backslashreplace"
    )
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
        handler.close()
