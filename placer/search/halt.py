"""A search that is told from outside to end now."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Halt:
    """Tells a search in another thread to end: the best answer so far is its answer.

    The greedy answer is not cut short by it.
    """

    def __init__(self) -> None:
        self._stop: Callable[[], None] | None = None
        self.called_s: float | None = None
        """When it was first called, by the monotonic clock; None: not yet."""

    def call(self) -> None:
        """End the search now; to be called again for as long as it goes on.

        For a solver that is just about to start does not hear the first call.
        """
        if self.called_s is None:
            self.called_s = time.monotonic()
        stop = self._stop
        if stop is not None:
            stop()

    @contextmanager
    def stopping(self, stop: Callable[[], None]) -> Iterator[None]:
        """Have a call do this, too, for as long as a solver is busy."""
        self._stop = stop
        try:
            yield
        finally:
            self._stop = None
