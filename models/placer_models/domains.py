"""Domains of nodes, by number, with what follows from them worked out once."""

from array import array
from collections.abc import Iterable
from functools import cached_property

from placer_models.typed import TrustedParts

NO_DOMAIN = -1
"""Stands for the domain of a node that is in none."""


class NodeDomains(tuple[int, ...], TrustedParts):
    """The domain of every node, by number; `NO_DOMAIN` for a node that is in none.

    It is a tuple like any other. Numbers count from 0 in the order of the nodes.
    """

    @classmethod
    def named(cls, names: Iterable[str | None]) -> "NodeDomains":
        """Return the domains with these names; None stands for a node that is in none."""
        numbers: dict[str, int] = {}
        return cls(
            NO_DOMAIN if name is None else numbers.setdefault(name, len(numbers)) for name in names
        )

    @cached_property
    def number(self) -> int:
        """How many domains there are."""
        return max(self, default=NO_DOMAIN) + 1

    @cached_property
    def members(self) -> tuple[tuple[int, ...], ...]:
        """The nodes of each domain."""
        found: list[list[int]] = [[] for _ in range(self.number)]
        for node, domain in enumerate(self):
            if domain != NO_DOMAIN:
                found[domain].append(node)
        return tuple(map(tuple, found))

    @cached_property
    def outside(self) -> frozenset[int]:
        """The nodes that are in no domain."""
        return frozenset(node for node, domain in enumerate(self) if domain == NO_DOMAIN)

    @cached_property
    def column(self) -> "array[int]":
        """The numbers as a buffer of 64-bit integers."""
        return array("q", self)


EACH_NODE = NodeDomains()
"""Stands for domains of which each has one node."""
