"""Persistent sequences and mappings: from one to its successor most entries stay the same.

They never change. A successor shares all unchanged pieces with its predecessor, and pieces are
compared by identity. So differences are found without a look at what is equal, nobody has to
report what has changed, and nothing that was kept can be out of date.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, ValuesView
from itertools import chain, compress, count
from operator import is_not
from typing import Any, Generic, TypeVar, overload

from placer_models.typed import PrecheckedSequence

PIECE = 32
"""How many entries of a sequence are shared, compared or worked out again at a time."""

PARTS = 64
"""How many parts a mapping has; a successor copies only the parts in which something differs."""

K = TypeVar("K")
T = TypeVar("T")
V = TypeVar("V")


class PersistentTuple(PrecheckedSequence, Sequence[T]):
    """A tuple in pieces; equal to any sequence of the same entries."""

    __slots__ = ("pieces",)

    def __init__(self, pieces: tuple[tuple[T, ...], ...]) -> None:
        """Take pieces, all of them full except perhaps the last one."""
        self.pieces = pieces

    @classmethod
    def of(cls, entries: Iterable[T]) -> "PersistentTuple[T]":
        """Return the entries in pieces; unchanged if they are already."""
        if isinstance(entries, PersistentTuple):
            return entries
        whole = tuple(entries)
        return cls(tuple(whole[start : start + PIECE] for start in range(0, len(whole), PIECE)))

    def changed(self, others: Mapping[int, T]) -> "PersistentTuple[T]":
        """Return the tuple with the entries of ``others`` at their indices."""
        pieces = list(self.pieces)
        fresh: dict[int, list[T]] = {}
        for index, entry in others.items():
            number = index // PIECE
            if number not in fresh:
                fresh[number] = list(pieces[number])
            fresh[number][index % PIECE] = entry
        for number, piece in fresh.items():
            pieces[number] = tuple(piece)
        return PersistentTuple(tuple(pieces))

    def __iter__(self) -> Iterator[T]:
        """Yield every entry."""
        return chain.from_iterable(self.pieces)

    def __len__(self) -> int:
        """Return how many entries there are."""
        return PIECE * (len(self.pieces) - 1) + len(self.pieces[-1]) if self.pieces else 0

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        """Return an entry, or some of them."""
        if isinstance(index, slice) or index < 0:
            return tuple(self)[index]
        return self.pieces[index // PIECE][index % PIECE]

    def __eq__(self, other: object) -> bool:
        """Return whether the entries are equal."""
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        """Return the hash of the entries as one tuple."""
        return hash(tuple(self))


def changed_indices(old: PersistentTuple[T], new: PersistentTuple[T]) -> list[int]:
    """Return, ascending, where two sequences of equal length hold different objects."""
    return [
        number * PIECE + at
        for number in differing_indices(old.pieces, new.pieces)
        for at in differing_indices(old.pieces[number], new.pieces[number])
    ]


def differing_indices(old: tuple[object, ...], new: tuple[object, ...]) -> Iterator[int]:
    """Yield the indices at which two tuples differ in identity, up to the end of the shorter."""
    return compress(count(), map(is_not, old, new))


class IncrementalAggregate(Generic[T, V]):
    """A value worked out from all entries of a sequence, anew only for pieces that changed.

    The values of the pieces are joined again only if one of them has changed.
    """

    def __init__(
        self, value_of: Callable[[tuple[T, ...]], V], joined: Callable[[Iterable[V]], V]
    ) -> None:
        """Begin with nothing known.

        Args:
            value_of: Works out the value of a piece.
            joined: Makes the value of the whole from the values of its pieces, in order.

        """
        self._value_of = value_of
        self._joined = joined
        self._pieces: tuple[tuple[T, ...], ...] = ()
        self._values: list[V] = []
        self._whole: V | None = None

    def of(self, entries: PersistentTuple[T]) -> V:
        """Return the value of the sequence."""
        pieces = entries.pieces
        values = self._values[: len(pieces)]
        for number in differing_indices(self._pieces, pieces):
            values[number] = self._value_of(pieces[number])
        values += map(self._value_of, pieces[len(values) :])
        if self._whole is None or values != self._values:
            self._whole = self._joined(values)
        self._pieces, self._values = pieces, values
        return self._whole


class PersistentMap(Mapping[K, V]):
    """A mapping in parts; its keys are in no order."""

    def __init__(self, parts: tuple[dict[K, V], ...]) -> None:
        """Take the parts; a key is in the part that its hash names."""
        self._parts = parts

    @property
    def parts(self) -> tuple[Mapping[K, V], ...]:
        """The parts; one in which nothing differs is the same object in a successor."""
        return self._parts

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

    def values(self) -> ValuesView[V]:
        """Return the values in the order of the keys, without a look-up for each."""
        return _Values(self, self._parts)

    def changed(self, gone: Iterable[K], new: Mapping[K, V]) -> "PersistentMap[K, V]":
        """Return the mapping without the keys that are gone, and with the new entries."""
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


class _Values(ValuesView[V]):
    """The values of a `PersistentMap`."""

    def __init__(self, mapping: PersistentMap[Any, V], parts: tuple[dict[Any, V], ...]) -> None:
        super().__init__(mapping)
        self._parts = parts

    def __iter__(self) -> Iterator[V]:
        return chain.from_iterable(part.values() for part in self._parts)


class ConcatenatedTuples(PrecheckedSequence, Sequence[T]):
    """Tuples one after the other as one sequence; equal to any sequence of the same entries."""

    def __init__(self, parts: Iterable[tuple[T, ...]]) -> None:
        """Take the tuples."""
        self._parts = parts

    def __iter__(self) -> Iterator[T]:
        """Yield the entries of one tuple after the other."""
        return chain.from_iterable(self._parts)

    def __len__(self) -> int:
        """Return how many entries there are."""
        return sum(map(len, self._parts))

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        """Return an entry, or some of them."""
        return tuple(self)[index]

    def __eq__(self, other: object) -> bool:
        """Return whether the entries are equal."""
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        """Return the hash of the entries as one tuple."""
        return hash(tuple(self))
