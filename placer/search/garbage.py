"""Garbage collection, put off while much is made of which nothing is garbage yet."""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def no_collection() -> Iterator[Callable[[], None]]:
    """Let Python look for garbage in cycles only once this is over.

    Counting a fleet makes a million objects that all stay. Python takes their number for a sign of
    garbage and goes through them again and again, which was half of the time of a solve on
    10,000 busy nodes that nothing was known of. What no cycle holds is freed at once, as always.

    Other threads do without collections in the meantime, too. If somebody has switched them off, or
    another thread is in here, nothing changes.

    Yields:
        What ends it before its time.

    """
    if not gc.isenabled():
        yield _nothing
        return
    gc.disable()
    try:
        yield gc.enable
    finally:
        gc.enable()


def _nothing() -> None:
    """Leave collections as they are."""
