"""The fields of one mapping of a file, each read with its type and its limits.

A fault is noted with its place and reading goes on with a stand-in, so that all faults
of a file are found; who reads calls ``Faults.raise_first`` before using anything.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from placer.queue.file.amounts import parse_duration_us
from placer_models.files.faults import Place
from placer_models.files.tree import Entry, Listing, Mapping, Scalar, Tree, describe

T = TypeVar("T")


class Fields:
    """A mapping at a place; fields that are not known are noted at once.

    Of what is no mapping that alone is said, and nothing of the fields it lacks.
    """

    def __init__(self, node: Tree, place: Place, known: Sequence[str]) -> None:
        self.place = place
        self._entries: dict[str, Entry] = {}
        self._is_mapping = isinstance(node, Mapping)
        if not isinstance(node, Mapping):
            place.fault(f"got {describe(node)}; expected fields such as '{known[0]}: ...'")
            return
        self._entries = node.entries
        for name in node.entries:
            if name not in known:
                message = f"is not a field here; known: {', '.join(known)}"
                place.at(name).fault(message, name=name, known=known)

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def fault(self, name: str, message: str) -> None:
        """Note what is wrong with a field; with an empty name, with the whole mapping."""
        if self._is_mapping:
            (self.place.at(name) if name else self.place).fault(message)

    def node(self, name: str) -> Tree | None:
        """Return what is written in the field; None: it is left out."""
        entry = self._entries.get(name)
        return entry.node if entry else None

    def is_empty(self, name: str) -> bool:
        """Return whether a list is left out or has no parts; what is no list has some."""
        node = self.node(name)
        return node is None or (isinstance(node, Listing) and not node.items)

    def text(self, name: str, default: str | None = None) -> str:
        """Return a text; without a default the field must be there."""
        return self._scalar(name, default, "", str)

    def integer(self, name: str, default: int | None = None, *, least: int, most: int) -> int:
        """Return a whole number within limits."""
        return self._scalar(name, default, least, lambda text: _integer(text, least, most))

    def duration_us(self, name: str, default: int | None = None, *, least: int = 0) -> int:
        """Return a time in microseconds."""
        return self._scalar(name, default, 1, lambda text: _duration(text, least))

    def parsed(self, name: str, default: T, parse: Callable[[str], T]) -> T:
        """Return what a parser makes of the field; ValueErrors are its messages."""
        return self._scalar(name, default, default, parse)

    def below(self, name: str, known: Sequence[str]) -> "Fields | None":
        """Return the mapping in the field; None: it is left out."""
        node = self.node(name)
        return None if node is None else Fields(node, self.place.at(name), known)

    def items(self, name: str) -> Iterator[tuple[Tree, Place]]:
        """Yield the parts of the list in the field, with their places."""
        node = self.node(name)
        if node is None:
            return
        if not isinstance(node, Listing):
            self.fault(name, f"got {describe(node)}; expected a list, that is lines of '- item'")
            return
        for i, item in enumerate(node.items):
            yield item, self.place.at(name, i)

    def mappings(self, name: str, known: Sequence[str]) -> Iterator["Fields"]:
        """Yield the parts of a list of mappings."""
        for item, place in self.items(name):
            yield Fields(item, place, known)

    def scalars(self, name: str, parse: Callable[[str], T]) -> Iterator[T]:
        """Yield the parsed parts of a list of single values."""
        for item, place in self.items(name):
            if (value := self._parsed(item, place, parse)) is not None:
                yield value

    def pairs(self, name: str, parse: Callable[[str], T]) -> Iterator[tuple[str, T, Place]]:
        """Yield key, parsed value and place of a mapping of single values."""
        node = self.node(name)
        if node is None:
            return
        if not isinstance(node, Mapping):
            self.fault(name, f"got {describe(node)}; expected lines of 'key: value'")
            return
        for key, entry in node.entries.items():
            place = self.place.at(name, key)
            if (value := self._parsed(entry.node, place, parse)) is not None:
                yield key, value, place

    def _scalar(self, name: str, default: T | None, stand_in: T, parse: Callable[[str], T]) -> T:
        node = self.node(name)
        if node is None:
            if default is None:
                self.fault(name, "is missing; add it")
                return stand_in
            return default
        value = self._parsed(node, self.place.at(name), parse)
        return stand_in if value is None else value

    def _parsed(self, node: Tree, place: Place, parse: Callable[[str], T]) -> T | None:
        if not isinstance(node, Scalar):
            place.fault(f"got {describe(node)}; expected a single value")
            return None
        if not node.text and not node.quoted:
            place.fault("has no value; give it one, or delete the line")
            return None
        try:
            return parse(node.text)
        except ValueError as error:
            place.fault(f"got {describe(node)}; {error}")
            return None


def _integer(text: str, least: int, most: int) -> int:
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 18):
        raise ValueError("expected a whole number")
    number = int(text)
    if number < least:
        raise ValueError(f"expected {least} or more")
    if number > most:
        raise ValueError(f"expected {most} at most")
    return number


def _duration(text: str, least: int) -> int:
    length_us = parse_duration_us(text)
    if length_us < least:
        raise ValueError("expected more than 0")
    return length_us
