"""Tiers of the node strategies that look at who is on a node (B12, B13)."""

from collections.abc import Callable, Mapping

from placer.judge.scene import Scene, Site
from placer_models.goals import PACK_NODES, WORTH, Tier
from placer_models.node_strategy import NodeLoad
from placer_models.resource_classes import ask_of, classes_of, load_of, totals_of


def _sum_of(worth: Callable[[NodeLoad], int]) -> Callable[[Scene], int]:
    """Return how a tier is measured that adds up over the nodes where something is new."""
    return lambda scene: sum(worth(_load(scene, site)) for site in scene.entered)


def _nodes_in_use(scene: Scene) -> int:
    """Count the nodes with any pod."""
    before = scene.standing.total(_runs_pods)
    return before + sum(not _runs_pods(scene.standing.sites[s.node.name]) for s in scene.entered)


def _runs_pods(site: Site) -> int:
    return int(bool(site.tenants))


def _load(scene: Scene, site: Site) -> NodeLoad:
    """Return who is on a node where something is new."""
    totals = totals_of(site.node)
    classes = classes_of(tenant.pod.spec for tenant in site.new)
    running = [tenant.pod.spec for tenant in site.tenants if not tenant.new]
    load = load_of(scene.instance.strategy, classes, totals, running)
    for tenant in site.new:
        load = load.with_pod(ask_of(tenant.pod.spec, classes, totals))
    return load


STRATEGY_MEASURES: Mapping[Tier, Callable[[Scene], int]] = {
    tier: _nodes_in_use if tier == PACK_NODES else _sum_of(worth) for tier, worth in WORTH.items()
}
"""How each of these tiers is measured."""
