"""A mapping that never changes, and shares with its successors all that stays."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import TypeVar

PARTS = 256
"""A successor copies those of so many parts in which something is another."""

K = TypeVar("K")
V = TypeVar("V")


class PersistentMap(Mapping[K, V]):
    """What keys stand for; in no order."""

    def __init__(self, parts: tuple[dict[K, V], ...]) -> None:
        """Take the parts; a key is in the one that its hash says."""
        self._parts = parts

    @classmethod
    def of(cls, entries: Iterable[tuple[K, V]]) -> "PersistentMap[K, V]":
        """Return a mapping of some entries."""
        parts: tuple[dict[K, V], ...] = tuple({} for _ in range(PARTS))
        for key, value in entries:
            parts[hash(key) % PARTS][key] = value
        return cls(parts)

    def __getitem__(self, key: K) -> V:
        """Return what the key stands for."""
        return self._parts[hash(key) % PARTS][key]

    def __iter__(self) -> Iterator[K]:
        """Yield every key."""
        return chain.from_iterable(self._parts)

    def __len__(self) -> int:
        """Return how many keys there are."""
        return sum(map(len, self._parts))

    def changed(self, gone: Iterable[K], new: Mapping[K, V]) -> "PersistentMap[K, V]":
        """Return the mapping without some of its keys, and with others."""
        parts = list(self._parts)
        fresh: set[int] = set()

        def part_of(key: K) -> dict[K, V]:
            number = hash(key) % PARTS
            if number not in fresh:
                parts[number] = dict(parts[number])
                fresh.add(number)
            return parts[number]

        for key in gone:
            del part_of(key)[key]
        for key, value in new.items():
            part_of(key)[key] = value
        return PersistentMap(tuple(parts))
