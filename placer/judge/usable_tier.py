"""Tier ``usable``: what the placement leaves for pods still to come."""

from weakref import WeakKeyDictionary

from placer.judge.mig import instance_points
from placer.judge.scene import Scene, Site
from placer_models.device import GPU
from placer_models.goals import GPU_POINTS, ROOM_POINTS, ROOM_QUARTERS, WHOLE_CORE_POINTS
from placer_models.links import counts_of, usable_points
from placer_models.policy import QosClass

_points: WeakKeyDictionary[Site, int] = WeakKeyDictionary()
"""Site -> its points: sites never change, and most outlast many placements."""


def usable_points_left(scene: Scene) -> int:
    """Return the points of free GPU sets, MIG instances, whole cores and rooms over all nodes."""
    before = scene.standing
    return before.total(_points_of) + sum(
        _points_of(site) - _points_of(before.sites[site.node.name]) for site in scene.entered
    )


def _points_of(site: Site) -> int:
    points = _points.get(site)
    if points is None:
        points = _gpu_points(site) + instance_points(site) + _core_points(site)
        points += _room_points(site)
        _points[site] = points
    return points


def _gpu_points(site: Site) -> int:
    board = site.inside.gpus
    held = {minor for tenant in site.tenants for minor in tenant.place.minors(GPU)}
    free = {device.minor for device in site.inside.healthy.get(GPU, ())} - held
    return GPU_POINTS * usable_points(board, counts_of(board, free))


def _core_points(site: Site) -> int:
    free = sum(1 for core in site.inside.whole_cores if core.isdisjoint(site.taken))
    return WHOLE_CORE_POINTS * free


def _room_points(site: Site) -> int:
    """Return the points of quarters, halves and wholes of the node that are free together."""
    total_milli = 1000 * len(site.inside.allocatable)
    if not total_milli:
        return 0
    shared = sum(t.requests.cpu_milli for t in site.tenants if t.qos is QosClass.LS)
    free_milli = max(0, 1000 * len(site.inside.allocatable - site.taken) - shared)
    quarters = 4 * free_milli // total_milli
    if total_bytes := sum(site.inside.memory_bytes_in.values()):
        left = dict(site.inside.memory_bytes_in)
        for tenant in site.tenants:
            for numa_node, amount in tenant.place.memory_bytes:
                left[numa_node] = left.get(numa_node, 0) - amount
        free_bytes = sum(max(0, amount) for amount in left.values())
        quarters = min(quarters, 4 * free_bytes // total_bytes)
    return ROOM_POINTS * sum(size * (quarters // size) for size in ROOM_QUARTERS)
