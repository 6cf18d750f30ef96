"""Tier ``gathering``: domains beyond one, and members of a domain beyond the most."""

from collections import Counter

from placer.judge.scene import Scene
from placer_models.network import Grouping


def gathering_short(scene: Scene) -> int:
    """Return the sum over the wishes of gangs; a node without a domain is one of its own."""
    short = 0
    for gang in scene.instance.gangs:
        nodes = scene.members.get(gang.key, {}).values()
        for rule in gang.levels:
            if rule.required or not nodes:
                continue
            places = Counter(
                (domain, "" if domain is not None else name)
                for name in nodes
                for domain in (scene.sites[name].node.domain(rule.level),)
            )
            if rule.grouping is Grouping.GATHER:
                short += len(places) - 1
            elif rule.grouping is Grouping.SPREAD:
                short += sum(max(0, count - rule.count) for count in places.values())
    return short
