"""A dict of the values used last: whoever asks for another makes it, and the oldest may go."""

from collections.abc import Callable
from typing import Any, TypeVar

K = TypeVar("K")
V = TypeVar("V")

_ABSENT: Any = object()


class RecentlyUsedCache(dict[K, V]):
    """Values by key, of which those used last are kept, in that order.

    Attributes:
        most: How many are kept.

    """

    __slots__ = ("most",)

    def __init__(self, most: int) -> None:
        """Begin with nothing."""
        super().__init__()
        self.most = most

    def of(self, key: K, make: Callable[[], V]) -> V:
        """Return the value of a key, or make it; the one used longest ago may have to go.

        While a value is made it is not there.
        """
        found: V = self.pop(key, _ABSENT)
        if found is _ABSENT:
            found = make()
            if len(self) >= self.most:
                del self[next(iter(self))]
        self[key] = found
        return found
