"""Garbage collection, put off while much is made of which nothing is garbage yet."""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

MANY = 20_000
"""So many new objects are worth sparing Python a look at each; it takes 3 ms or more."""

MOST_UNSEEN = 1_000_000
"""So many objects at most count as old, between two full collections, before Python has looked at
them once. What is garbage among them, a twentieth in our measurements, waits for the next one."""


class _UnseenObjects:
    """Objects that count as old since the last full collection though Python never saw them."""

    def __init__(self) -> None:
        """Begin with none."""
        self._count = 0
        self._full_collections = 0

    def add_young(self) -> None:
        """Let all young objects count as old, if they are many and it has not been too many."""
        made = gc.get_count()[0]
        # What somebody has frozen would be thawed with ours.
        if made < MANY or gc.get_freeze_count():
            return
        collections = gc.get_stats()[-1]["collections"]
        if collections != self._full_collections:
            self._count, self._full_collections = 0, collections
        if self._count + made > MOST_UNSEEN:
            return
        self._count += made
        gc.freeze()
        gc.unfreeze()  # The frozen become the oldest.


_unseen = _UnseenObjects()


@contextmanager
def without_garbage_collection() -> Iterator[Callable[[], None]]:
    """Let Python look for garbage in cycles only once this is over.

    Counting a fleet makes a million objects that all stay. Python takes their number for a sign of
    garbage and goes through them again and again, which was half of the time of a solve on
    10,000 busy nodes that nothing was known of. What no cycle holds is freed at once, as always.
    Afterwards they count as old: the next full collection goes through them, none before it does.

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
        yield _collect
    finally:
        _collect()


def _collect() -> None:
    """Let Python look for garbage again, in what is made from now on."""
    if not gc.isenabled():
        _unseen.add_young()
        gc.enable()


def _nothing() -> None:
    """Leave collections as they are."""
