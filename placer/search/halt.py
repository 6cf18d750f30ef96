"""Halts, by which a search is told from outside to end now."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class SearchHalt:
    """A halt tells a search in another thread to end with the best answer so far.

    It does not cut the greedy answer short.
    """

    def __init__(self) -> None:
        self._stop: Callable[[], None] | None = None
        self.called_s: float | None = None
        """When it was first called, by the monotonic clock, or None if not yet."""

    def call(self) -> None:
        """End the search now; call this again for as long as it goes on.

        A solver that is just about to start does not hear the first call.
        """
        if self.called_s is None:
            self.called_s = time.monotonic()
        stop = self._stop
        if stop is not None:
            stop()

    @contextmanager
    def stopping(self, stop: Callable[[], None]) -> Iterator[None]:
        """Have `call` also call ``stop`` for as long as a solver is busy."""
        self._stop = stop
        try:
            yield
        finally:
            self._stop = None
