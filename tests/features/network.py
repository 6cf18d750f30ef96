"""Dresses tiny instances with levels of the network and gangs that ask for them (G4)."""

from dataclasses import replace
from random import Random

from features.feature import Feature
from placer_models.cluster import Instance, Node
from placer_models.network import GangNetworkLevelRule, GangNetworkLevelRuleKind
from placer_models.pod import Gang
from placer_models.policy import RequiredOrPreferred
from tiny_machines import unused_name
from worlds import tiny_instance

LEVELS = ("block", "node", "rack")


def with_levels(rng: Random, instance: Instance) -> Instance:
    """Put the nodes into racks and blocks, at times more nodes, and let gangs ask for them."""
    nodes = instance.nodes
    pods = sum(len(gang.pods) for gang in instance.gangs)
    while len(nodes) < 4 and pods * len(nodes) < 9 and rng.random() < 0.6:
        nodes = (*nodes, replace(rng.choice(nodes), name=unused_name(nodes)))
    return replace(
        instance,
        nodes=tuple(in_domains(rng, node) for node in nodes),
        gangs=tuple(_asking(rng, gang) for gang in instance.gangs),
    )


def network_instance(seed: int) -> Instance:
    """Draw a tiny instance that has levels, and gangs that ask for some."""
    return with_levels(Random(f"network-{seed}"), tiny_instance(seed))


def in_domains(rng: Random, node: Node) -> Node:
    """Put a node into a rack and a block, or into none."""
    rack = rng.choice(("r0", "r0", "r1", None))
    block = rng.choice(("b0", "b0", "b1", None))
    names = (("block", block), ("rack", rack))
    return replace(node, domains=tuple((level, name) for level, name in names if name))


def _asking(rng: Random, gang: Gang) -> Gang:
    """Let gangs, not lone pods, ask for one or two levels."""
    if gang.lone or rng.random() < 0.2:
        return gang
    rules = {rule.level: rule for rule in (level_rule(rng) for _ in range(rng.choice((1, 1, 2))))}
    return replace(
        gang,
        minimum=rng.choice((gang.minimum, 1)),
        levels=tuple(rules[level] for level in sorted(rules)),
    )


def level_rule(rng: Random) -> GangNetworkLevelRule:
    """Draw what a gang may ask of a level."""
    grouping = rng.choice(
        (
            *[GangNetworkLevelRuleKind.GATHER] * 2,
            *[GangNetworkLevelRuleKind.SPREAD] * 2,
            GangNetworkLevelRuleKind.MULTIPLES,
        )
    )
    strength = rng.choice(tuple(RequiredOrPreferred))
    match grouping:
        case GangNetworkLevelRuleKind.GATHER:
            return GangNetworkLevelRule(rng.choice(LEVELS), grouping, strength)
        case GangNetworkLevelRuleKind.SPREAD:
            return GangNetworkLevelRule(
                rng.choice(LEVELS), grouping, strength, rng.choice((1, 1, 2))
            )
        case GangNetworkLevelRuleKind.MULTIPLES:
            return GangNetworkLevelRule(rng.choice(LEVELS), grouping, count=2)


FEATURE = Feature("network", with_levels)
