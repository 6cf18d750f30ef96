"""The option ``--verbose``: what the library logs, on standard error."""

import logging
import sys
from collections.abc import Callable

FORMAT = "%(relativeCreated)d ms %(name)s: %(message)s"
"""A line of the log; the time is counted since the command was started."""


def log_to_stderr() -> Callable[[], None]:
    """Write on standard error what the library logs; return what ends that."""
    logger = logging.getLogger("placer")
    level = logger.level
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter(FORMAT))
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)

    def end() -> None:
        logger.removeHandler(handler)
        logger.setLevel(level)

    return end
