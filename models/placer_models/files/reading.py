"""Progress of reading: whoever wants to be told how far a large file is read, is."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar

LEAST_BYTES = 4 * 2**20
"""Files below this size are read before anyone could look."""

Tell = Callable[[int], object]
"""Told how many bytes are read by now."""

Watcher = Callable[[str, int | None], AbstractContextManager[Tell]]
"""Called with a file's name and its size in bytes (None where nobody knows) as reading begins; the
context ends with it."""

_WATCHER: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


@contextmanager
def reading_watched_by(watcher: Watcher) -> Iterator[None]:
    """Have the watcher told of all reading within the context."""
    before = _WATCHER.set(watcher)
    try:
        yield
    finally:
        _WATCHER.reset(before)


@contextmanager
def file_reading_progress(file: str, size_bytes: int | None) -> Iterator[Tell]:
    """Yield what is to be told how far the file is read.

    Args:
        file: Its name for messages.
        size_bytes: Its size, or that of its text; None if nobody knows.

    """
    watcher = _WATCHER.get()
    if watcher is None or (size_bytes is not None and size_bytes < LEAST_BYTES):
        yield lambda done_bytes: None
        return
    with watcher(file, size_bytes) as tell:
        yield tell
