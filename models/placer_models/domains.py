"""Domains of nodes, by number, with what follows from them worked out once."""

from array import array
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from placer_models.typed import PrecheckedSequence

NO_DOMAIN = -1
"""Stands for the domain of a node that is in none."""


class DomainByNode(tuple[int, ...], PrecheckedSequence):
    """The domain of every node, by number; `NO_DOMAIN` for a node that is in none.

    It is a tuple like any other. Numbers count from 0 in the order of the nodes.
    """

    @classmethod
    def named(cls, names: Iterable[str | None]) -> "DomainByNode":
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


EACH_NODE = DomainByNode()
"""Stands for domains of which each has one node."""


class CountInDomainByNode(Mapping[int, int]):
    """Node -> how many are counted in its domain; nodes of domains with none are left out.

    A mapping like any other, which costs as much as the domains have counts until its nodes
    are gone through.

    Attributes:
        domains: The domain of every node.
        of_domains: Domain -> its count; never 0, and none for `NO_DOMAIN`.

    """

    __slots__ = ("domains", "of_domains")

    def __init__(self, domains: DomainByNode, on_nodes: Mapping[int, int]) -> None:
        """Count what is on nodes in their domains; what is in no domain does not count.

        Args:
            domains: The domain of every node.
            on_nodes: Node -> how many are there.

        """
        found: dict[int, int] = {}
        for node, count in on_nodes.items():
            domain = domains[node]
            found[domain] = found.get(domain, 0) + count
        found.pop(NO_DOMAIN, None)
        self.domains = domains
        self.of_domains: Mapping[int, int] = found

    def __getitem__(self, node: int) -> int:
        """Return the count in the domain of a node."""
        return self.of_domains[self.domains[node]]

    def __iter__(self) -> Iterator[int]:
        """Yield the nodes, ascending."""
        return iter(sorted(n for domain in self.of_domains for n in self.domains.members[domain]))

    def __len__(self) -> int:
        """Return how many nodes there are in domains with a count."""
        return sum(len(self.domains.members[domain]) for domain in self.of_domains)
