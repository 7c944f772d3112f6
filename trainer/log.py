"""Log records and warnings go to a run's file while the run works, not through its screen."""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def diverted_to(path: Path) -> Iterator[None]:
    """Within, send log records of level INFO and up, and warnings, to the end of the file at `path`.

    Libraries that print their records themselves are made to hand them on instead; all is put back at
    the end.
    """
    handler = logging.FileHandler(path, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(min(level, logging.INFO) if level else logging.INFO)
    logging.captureWarnings(capture=True)
    try:
        with _handed_on():
            yield
    finally:
        logging.captureWarnings(capture=False)
        root.setLevel(level)
        root.removeHandler(handler)
        handler.close()


@contextlib.contextmanager
def _handed_on() -> Iterator[None]:
    """Take the handlers that write to the terminal off all loggers."""
    taken: list[tuple[logging.Logger, logging.Handler, bool]] = []
    loggers = [logging.getLogger(), *map(logging.getLogger, list(logging.root.manager.loggerDict))]
    for logger in loggers:
        for handler in [each for each in logger.handlers if _is_terminal(each)]:
            taken.append((logger, handler, logger.propagate))
            logger.removeHandler(handler)
            logger.propagate = True
    try:
        yield
    finally:
        for logger, handler, propagate in taken:
            logger.addHandler(handler)
            logger.propagate = propagate


def _is_terminal(handler: logging.Handler) -> bool:
    streams = (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__)
    return isinstance(handler, logging.StreamHandler) and handler.stream in streams
