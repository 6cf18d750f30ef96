"""Nodes, and levels of the network, in which the members of a gang are together (G4)."""

from collections import Counter
from collections.abc import Iterator, Mapping

from placer.judge.family import Finding, JudgedFamily, gang_breach_finding
from placer.judge.scene import InstanceWithPlacement
from placer_models.goals import GATHERING
from placer_models.network import GangNetworkLevelRule, GangNetworkLevelRuleKind
from placer_models.placement import pod_or_gang_title
from placer_models.pod import Gang
from placer_models.policy import GatherLevel


def domain_breaches(scene: InstanceWithPlacement) -> Iterator[Finding]:
    """A gang that requires anything of a level is on nodes that belong to a domain of it."""
    for gang in scene.instance.gangs:
        levels = dict.fromkeys(rule.level for rule in gang.levels if rule.required)
        for key, name in scene.members.get(gang.key, {}).items():
            for level in levels:
                if scene.nodes_before.judged_nodes[name].node.domain(level) is None:
                    title = pod_or_gang_title(*key)
                    yield Finding(
                        title,
                        f"pod {title!r} is placed on node {name!r}, which belongs to no {level}; "
                        f"its gang {gang.title!r} asks for one",
                    )


def gather_breaches(scene: InstanceWithPlacement) -> Iterator[Finding]:
    """The placed members of a gang that gathers are on one node, or in one domain."""
    for gang in scene.instance.gangs:
        nodes = sorted(set(scene.members.get(gang.key, {}).values()))
        if gang.gather is GatherLevel.NODE and len(nodes) > 1:
            yield gang_breach_finding(
                gang, f"gathers on one node, but is placed on {', '.join(nodes)}"
            )
    for gang, rule, members in _required(scene, GangNetworkLevelRuleKind.GATHER):
        if len(members) > 1:
            places = ", ".join(sorted(members))
            yield gang_breach_finding(
                gang, f"gathers in one {rule.level}, but is placed in {places}"
            )


def spread_breaches(scene: InstanceWithPlacement) -> Iterator[Finding]:
    """No domain has more placed members of a gang than its spreading allows."""
    for gang, rule, members in _required(scene, GangNetworkLevelRuleKind.SPREAD):
        for name, count in sorted(members.items()):
            if count > rule.count:
                said = f"it spreads, with at most {rule.count} in one"
                yield gang_breach_finding(
                    gang, f"has {count} members in {rule.level} {name}; {said}"
                )


def multiples_breaches(scene: InstanceWithPlacement) -> Iterator[Finding]:
    """The placed members of a gang in each domain are a multiple of what it asks for."""
    for gang, rule, members in _required(scene, GangNetworkLevelRuleKind.MULTIPLES):
        for name, count in sorted(members.items()):
            if count % rule.count:
                said = f"expected a multiple of {rule.count}"
                yield gang_breach_finding(
                    gang, f"has {count} members in {rule.level} {name}; {said}"
                )


def _required(
    scene: InstanceWithPlacement, grouping: GangNetworkLevelRuleKind
) -> Iterator[tuple[Gang, GangNetworkLevelRule, Mapping[str, int]]]:
    """Yield each requirement of the grouping, and domain -> number of placed members.

    Members on nodes without a domain are left out: they break the rule ``domain``.
    """
    for gang in scene.instance.gangs:
        for rule in gang.levels:
            if rule.grouping is not grouping or not rule.required:
                continue
            places = (
                scene.nodes_before.judged_nodes[name].node.domain(rule.level)
                for name in scene.members.get(gang.key, {}).values()
            )
            yield gang, rule, Counter(place for place in places if place is not None)


def gathering_wish_excess(scene: InstanceWithPlacement) -> int:
    """Return tier ``gathering``: the sum of what the wishes of gangs miss.

    A node without a domain counts as a domain of its own.
    """
    short = 0
    for gang in scene.instance.gangs:
        nodes = scene.members.get(gang.key, {}).values()
        for rule in gang.levels:
            if rule.required or not nodes:
                continue
            places = Counter(
                (domain, "" if domain is not None else name)
                for name in nodes
                for domain in (scene.nodes_before.judged_nodes[name].node.domain(rule.level),)
            )
            if rule.grouping is GangNetworkLevelRuleKind.GATHER:
                short += len(places) - 1
            elif rule.grouping is GangNetworkLevelRuleKind.SPREAD:
                short += sum(max(0, count - rule.count) for count in places.values())
    return short


JUDGED = JudgedFamily(
    rules={
        "domain": domain_breaches,
        "gather": gather_breaches,
        "spread": spread_breaches,
        "multiples": multiples_breaches,
    },
    tiers={GATHERING: gathering_wish_excess},
)
