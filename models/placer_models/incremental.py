"""Sequences of which most stays as it was: where two differ, and what follows from all of one.

Both compare entry by entry, and an entry with itself costs next to nothing. So nobody has
to tell what has changed, and nothing that was kept can be out of date. And tuples one after
the other, as one sequence that copies none of them.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Generic, TypeVar, overload

PIECE = 64
"""Entries that are compared, or worked out again, at a time."""

T = TypeVar("T")
V = TypeVar("V")


def changed_indices(old: tuple[T, ...], new: tuple[T, ...]) -> list[int]:
    """Return where two tuples of one length hold different objects, ascending.

    Objects that are equal may count as one.
    """
    found = []
    for start in range(0, len(new), PIECE):
        before, after = old[start : start + PIECE], new[start : start + PIECE]
        if before != after:
            pairs = enumerate(zip(before, after, strict=True), start)
            found += [index for index, (a, b) in pairs if a is not b]
    return found


class ChunkedReduce(Generic[T, V]):
    """What follows from all entries of a tuple; of pieces that stay, nothing anew."""

    def __init__(
        self, value_of: Callable[[tuple[T, ...]], V], joined: Callable[[Iterable[V]], V]
    ) -> None:
        """Begin with nothing known.

        Args:
            value_of: Works out the value of a piece.
            joined: Makes the value of the whole of those of its pieces, in their order.

        """
        self._value_of = value_of
        self._joined = joined
        self._known: dict[int, tuple[tuple[T, ...], V]] = {}

    def of(self, entries: tuple[T, ...]) -> V:
        """Return the value of the tuple."""
        pieces = {}
        for start in range(0, len(entries), PIECE):
            piece = entries[start : start + PIECE]
            known = self._known.get(start)
            if known is None or known[0] != piece:
                known = piece, self._value_of(piece)
            pieces[start] = known
        self._known = pieces
        return self._joined(value for _, value in pieces.values())


class Concatenation(Sequence[T]):
    """Tuples, one after the other; equal to any sequence of the same entries."""

    def __init__(self, parts: tuple[tuple[T, ...], ...]) -> None:
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
