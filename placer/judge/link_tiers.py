"""Tiers ``links.*``: bandwidth short of the best set of GPUs of the same size."""

from collections.abc import Collection, Iterator
from functools import cache

from placer.judge.scene import Scene, Selector, Site, Tenant
from placer_models.device import GPU
from placer_models.links import (
    best_pair_sum,
    best_permitted_minimum,
    best_permitted_sum,
    counts_of,
    pair_minimum,
    pair_sum,
)
from placer_models.policy import DeviceScope, GatherLevel


def pod_minimum_shortfall(scene: Scene) -> int:
    """Return tier 4a: slowest pairs against the best of any node open to the pod, empty."""

    @cache
    def best(size: int, selector: Selector, scope: DeviceScope) -> int:
        minima = (
            best_permitted_minimum(board, size, scope) for board in scene.standing.boards(selector)
        )
        return max((value for value in minima if value is not None), default=0)

    short = 0
    for site, tenant, gpus in _pods_with_links(scene):
        board = site.inside.gpus
        slowest = pair_minimum(board, counts_of(board, gpus))
        spec = tenant.pod.spec
        short += best(len(gpus), spec.node_selector, spec.scope_of(GPU)) - slowest
    return short


def pod_sum_shortfall(scene: Scene) -> int:
    """Return tier 4b: pair sums against the best of the pod's own node, empty."""
    short = 0
    for site, tenant, gpus in _pods_with_links(scene):
        board, scope = site.inside.gpus, tenant.pod.spec.scope_of(GPU)
        most = best_permitted_sum(board, len(gpus), scope) or 0
        short += most - pair_sum(board, counts_of(board, gpus))
    return short


def gang_sum_shortfall(scene: Scene) -> int:
    """Return tier 4c: the same over the GPUs of each gang that gathers on a node.

    Together they keep to no scope and need not be a partition: any set is the measure.
    """
    gpus_of: dict[tuple[tuple[str, str], str], set[int]] = {}
    for site, tenant in scene.newcomers():
        gang = scene.gang_of[tenant.pod.key]
        if gang.gather is GatherLevel.NODE:
            gpus_of.setdefault((gang.key, site.node.name), set()).update(_gpus(site, tenant))
    return sum(
        _sum_shortfall(scene.sites[node], gpus)
        for (_, node), gpus in gpus_of.items()
        if len(gpus) >= 2
    )


def _pods_with_links(scene: Scene) -> Iterator[tuple[Site, Tenant, set[int]]]:
    """Yield the newly placed pods that hold two or more GPUs, with their minors."""
    for site, tenant in scene.newcomers():
        gpus = _gpus(site, tenant)
        if len(gpus) >= 2:
            yield site, tenant, gpus


def _gpus(site: Site, tenant: Tenant) -> set[int]:
    """Return the pod's GPUs; what is broken or not on the node counts for nothing."""
    healthy = {device.minor for device in site.inside.healthy.get(GPU, ())}
    return healthy.intersection(tenant.place.minors(GPU))


def _sum_shortfall(site: Site, gpus: Collection[int]) -> int:
    board = site.inside.gpus
    counts = counts_of(board, gpus)
    return (best_pair_sum(board, sum(counts)) or 0) - pair_sum(board, counts)
