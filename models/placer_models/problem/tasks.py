"""Gangs' demands on the network and pods' on each other, in integers: parts of a Problem."""

from collections.abc import Mapping
from dataclasses import dataclass

from placer_models.affinity import InNodeAffinityLevel
from placer_models.domains import EACH_NODE, DomainByNode
from placer_models.network import GangNetworkLevelRuleKind
from placer_models.records import record


@dataclass(frozen=True, slots=True)
class ProblemLevelRule:
    """What a gang asks of one level of the network; as in ``GangNetworkLevelRule``.

    Attributes:
        level: Index into the Problem's domains.

    """

    level: int
    grouping: GangNetworkLevelRuleKind
    required: bool
    count: int


@record(frozen=True, slots=True)
class ProblemGang:
    """One gang: its pods by index, and what it is worth.

    Attributes:
        pods: Indices into the Problem's pods, consecutive.
        level: Index of its priority in the Problem's priorities.
        group: Index of its gang group; None if it is in none.
        gathered: Whether all placed members must be on one node.
        levels: What it asks of levels of the network.

    """

    pods: tuple[int, ...]
    minimum: int
    weight: int
    level: int
    group: int | None
    gathered: bool
    levels: tuple[ProblemLevelRule, ...] = ()


@dataclass(frozen=True, slots=True)
class ProblemAffinityTerm:
    """What a shape asks of other pods, as in ``AffinityTerm``.

    Attributes:
        shape: The shape whose pods ask.
        matches: The shapes whose pods are meant.
        here: Node -> how many running pods in its domain are meant; nodes with none are left out.
        weight: What it counts if it is not required.
        domains: The domain of every node. Empty: each node is a domain of its own.

    """

    shape: int
    matches: frozenset[int]
    apart: bool
    required: bool
    weight: int
    here: Mapping[int, int]
    domains: DomainByNode = EACH_NODE

    def domain(self, node: int) -> int:
        """Return the number of the domain that a node is in."""
        return self.domains[node] if self.domains else node


@dataclass(frozen=True, slots=True)
class ProblemDomainLimit:
    """How many pods domains of nodes may have, as in ``DomainLimit``.

    Attributes:
        rule: The name of the rule.
        asking: The shapes whose pods ask.
        matches: The shapes whose pods count.
        domains: The domain of every node; a node that is not looked at is in none.
        here: How many running pods count in each domain.
        beyond_fewest: Whether ``most`` is beyond the domain with the fewest pods.

    """

    rule: str
    asking: frozenset[int]
    matches: frozenset[int]
    required: bool
    most: int
    domains: DomainByNode
    here: tuple[int, ...]
    beyond_fewest: bool


@dataclass(frozen=True, slots=True)
class ProblemAffinities:
    """What all shapes ask of other pods on their node, or in its domain.

    Attributes:
        barred: For each shape, the nodes that running pods keep it off, and nodes in no domain
            if it needs one; empty if no affinity is asked for.

    """

    tasks: tuple[ProblemAffinityTerm, ...] = ()
    limits: tuple[ProblemDomainLimit, ...] = ()
    barred: tuple[frozenset[int], ...] = ()

    def bars(self, shape: int, node: int) -> bool:
        """Return whether running pods keep pods of the shape off the node."""
        return bool(self.barred) and node in self.barred[shape]


NO_AFFINITIES = ProblemAffinities()
"""Nothing is asked of other pods."""


@dataclass(frozen=True, slots=True)
class NumaOrCoreAffinityTerm:
    """What a shape asks of other pods that own CPUs of its NUMA nodes, or of its cores.

    Attributes:
        level: NUMA or CORE.
        matches: The sides that are meant.
        weight: What it counts if it is not required.
        runs: Whether a running pod is meant, on any node.

    """

    level: InNodeAffinityLevel
    matches: frozenset[int]
    apart: bool
    required: bool
    weight: int
    runs: bool

    def counts_pairs(self, level: InNodeAffinityLevel) -> bool:
        """Return whether the shape would rather be apart, at the level, from each pod meant."""
        return self.apart and not self.required and self.level is level


@dataclass(frozen=True, slots=True)
class InNodeAffinityOfShape:
    """How a shape that owns CPUs and other pods affect each other inside a node.

    Sides are numbers: first the shapes by their index, then the kinds of running pods. Running
    pods that count one by one are told apart on each node.

    Attributes:
        side: The side of the shape.
        terms: What the shape itself asks.
        off: (level, sides that may not be there with it), whichever of the two requires it.
        rather_off: (level, (side, weight) of each side that would rather not have it there).
        levels: The levels at which it must be known where the shape is.

    """

    side: int
    terms: tuple[NumaOrCoreAffinityTerm, ...]
    off: tuple[tuple[InNodeAffinityLevel, frozenset[int]], ...]
    rather_off: tuple[tuple[InNodeAffinityLevel, tuple[tuple[int, int], ...]], ...]
    levels: tuple[InNodeAffinityLevel, ...]

    def off_at(self, level: InNodeAffinityLevel) -> frozenset[int]:
        """Return the sides that may not be where the shape is."""
        return dict(self.off).get(level, frozenset())

    def pairs_with(self, side: int, level: InNodeAffinityLevel) -> int:
        """Return the weight that wishes of the shape and the side lose by a pair of their pods.

        They lose it if the two pods are near each other at the level.
        """
        own = sum(
            term.weight for term in self.terms if term.counts_pairs(level) and side in term.matches
        )
        return own + dict(dict(self.rather_off).get(level, ())).get(side, 0)

    @property
    def counts(self) -> bool:
        """Whether its pods count one by one, because a wish to be apart counts each of them."""
        return bool(self.rather_off) or any(term.counts_pairs(term.level) for term in self.terms)

    @property
    def beginning(self) -> tuple[int, ...]:
        """The indices of the terms that the first pod of its kind need not keep."""
        return tuple(
            position
            for position, term in enumerate(self.terms)
            if term.required and not term.apart and not term.runs and self.side in term.matches
        )
