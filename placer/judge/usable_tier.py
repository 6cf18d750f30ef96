"""Tier ``usable``: what the placement leaves for pods still to come."""

from weakref import WeakKeyDictionary

from placer.judge.mig import instance_points
from placer.judge.scene import Scene, Site
from placer_models.device import GPU
from placer_models.goals import GPU_POINTS, WHOLE_CORE_POINTS
from placer_models.links import counts_of, usable_points

_points: WeakKeyDictionary[Site, int] = WeakKeyDictionary()
"""Site -> its points: sites never change, and most outlast many placements."""


def usable_points_left(scene: Scene) -> int:
    """Return the points of free GPU sets, MIG instances and whole cores over all nodes."""
    before = scene.standing
    return before.total(_points_of) + sum(
        _points_of(site) - _points_of(before.sites[site.node.name]) for site in scene.entered
    )


def _points_of(site: Site) -> int:
    points = _points.get(site)
    if points is None:
        points = _gpu_points(site) + instance_points(site) + _core_points(site)
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
