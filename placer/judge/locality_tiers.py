"""Tiers ``packages`` and ``caches``: how far apart the CPUs of pods are."""

from collections import Counter
from collections.abc import Callable, Hashable

from placer.judge.scene import Scene, Site, Tenant
from placer_models.policy import Locality
from placer_models.topology import Cpu


def packages_beyond_fewest(scene: Scene) -> int:
    """Return the sum over the newly placed pods that would like few packages."""
    return _beyond(scene, Locality.PACKAGE, lambda cpu: cpu.package)


def caches_beyond_fewest(scene: Scene) -> int:
    """Return the sum over the newly placed pods that would like few last-level caches.

    CPUs whose cache is not known count as one cache.
    """
    return _beyond(scene, Locality.LLC, lambda cpu: cpu.llc)


def _beyond(scene: Scene, wish: Locality, group: Callable[[Cpu], Hashable]) -> int:
    return sum(
        _touched(site, tenant, group) - _fewest(site, tenant, group)
        for site, tenant in scene.newcomers()
        if tenant.qos.owns_cpus and wish in (tenant.pod.spec.locality or site.node.locality)
    )


def _touched(site: Site, tenant: Tenant, group: Callable[[Cpu], Hashable]) -> int:
    cpus = site.inside.topology.cpu
    return len({group(cpus[cpu]) for cpu in tenant.owned if cpu in cpus})


def _fewest(site: Site, tenant: Tenant, group: Callable[[Cpu], Hashable]) -> int:
    """Return how many groups of the empty node's allocatable CPUs hold what is asked for."""
    cpus = site.inside.topology.cpu
    sizes = Counter(group(cpus[cpu]) for cpu in site.inside.allocatable)
    missing = tenant.requests.cpu_milli // 1000
    count = 0
    for _, size in sizes.most_common():
        if missing <= 0:
            break
        missing -= size
        count += 1
    return count
