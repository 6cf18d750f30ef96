"""Anchors of a YAML document, and how much their aliases may add to it."""

from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeVar

from placer_models.files.tree import MAX_DEPTH

MAX_ALIASED_VALUES = 10_000_000
"""Most values of a document that its aliases stand for, counted as if they were written out."""

T = TypeVar("T")


class BadYamlAliasError(ValueError):
    """An alias that is refused. ``str()`` says why, and what to do."""


class YamlAnchors(Generic[T]):
    """The parts of a document that have anchors. An alias stands for the very part, not for a copy.

    So aliases of aliases take no memory however much they stand for. Whoever looks at all of it
    would take for ever, so that their values are counted.
    """

    def __init__(self, parts_of: Callable[[T], Iterable[T]]) -> None:
        """Begin a document.

        Args:
            parts_of: The values of a mapping, or the items of a list; nothing for a scalar.

        """
        self._parts_of = parts_of
        self._named: dict[str, T] = {}
        self._measured: dict[int, tuple[T, int, int]] = {}
        self._values = 0

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self._named)

    def name(self, anchor: str, part: T) -> None:
        """Note the part that has the anchor; it may still be open."""
        self._named[anchor] = part

    def aliased(self, alias: str, around: Sequence[T | None]) -> T:
        """Return what an alias stands for.

        Args:
            alias: Its name.
            around: The parts that the alias stands in.

        Raises:
            BadYamlAliasError: It names nothing, or too much.

        """
        if alias not in self._named:
            raise BadYamlAliasError(
                f"the alias '*{alias}' names nothing: no '&{alias}' stands before it in the "
                "document; write the value out"
            )
        part = self._named[alias]
        if any(part is one for one in around):
            raise BadYamlAliasError(
                f"the alias '*{alias}' stands within what it names, "
                "which would never end; write the value out"
            )
        values, levels = self._measure(part)
        if len(around) + levels > MAX_DEPTH:
            raise BadYamlAliasError(
                f"the alias '*{alias}' nests deeper than {MAX_DEPTH} levels; flatten it"
            )
        self._values += values
        if self._values > MAX_ALIASED_VALUES:
            raise BadYamlAliasError(
                f"by the alias '*{alias}' aliases stand for more than {MAX_ALIASED_VALUES:,} "
                "values: aliases of aliases grow without bound (as in a billion laughs); write the "
                "values out, or split the file"
            )
        return part

    def values_of(self, part: T) -> int:
        """Return how many values a part has, itself among them."""
        return self._measure(part)[0]

    def _measure(self, part: T) -> tuple[int, int]:
        """Return how many values a part has, and on how many levels, without counting twice."""
        known = self._measured.get(id(part))
        if known is not None:
            return known[1:]
        values, levels = 1, 0
        for inner in self._parts_of(part):
            more, deeper = self._measure(inner)
            values, levels = values + more, max(levels, deeper + 1)
        if levels:
            # With the part, so that its id remains its own.
            self._measured[id(part)] = part, values, levels
        return values, levels
