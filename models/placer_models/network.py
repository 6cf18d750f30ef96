"""Levels of the network between nodes, and what a gang may ask of them (G4).

A level is a kind of domain: rack, block, zone. At a level a node belongs to one domain or
to none. Every node is a domain of its own at the level ``node``.
"""

from dataclasses import dataclass
from enum import StrEnum

from placer_models.policy import RequiredOrPreferred
from placer_models.typed import TypeChecked

NODE_LEVEL = "node"
"""The narrowest level, which every node has."""


class GangNetworkLevelRuleKind(StrEnum):
    """What a gang asks of the domains of a level."""

    GATHER = "gather"
    """All members in one domain."""

    SPREAD = "spread"
    """Few members in any one domain, so that its failure takes few of them."""

    MULTIPLES = "multiples"
    """In each domain a number of members that is a multiple of a given one; always required."""


@dataclass(frozen=True, slots=True)
class GangNetworkLevelRule(TypeChecked):
    """What a gang asks of one level.

    Attributes:
        count: SPREAD: the most members in a domain. MULTIPLES: the number of which the members
            of each domain are a multiple. GATHER: 1.

    """

    level: str
    grouping: GangNetworkLevelRuleKind
    strength: RequiredOrPreferred = RequiredOrPreferred.REQUIRED
    count: int = 1

    @property
    def required(self) -> bool:
        """Whether the rule may not be broken; if so, pods keep off nodes without such a domain."""
        return self.strength is RequiredOrPreferred.REQUIRED
