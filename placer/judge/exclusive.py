"""Rules about cores and NUMA nodes that pods have to have apart from others (C9)."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations

from placer.judge.apart import Guests, on_cores, on_numa_nodes
from placer.judge.finding import Finding
from placer.judge.scene import Scene, Site, Tenant
from placer_models.cpuset import format_cpu_list
from placer_models.policy import ExclusivePolicy


def exclusive_cores(scene: Scene) -> Iterator[Finding]:
    """Two pods that count as PCPULevel share no core where one of them requires it."""
    for site in scene.touched():
        yield from _clashes(site, on_cores(site), "cores", ExclusivePolicy.PCPU_LEVEL)


def exclusive_numa_nodes(scene: Scene) -> Iterator[Finding]:
    """Two pods under NUMANodeLevel share no NUMA node where one of them requires it."""
    for site in scene.touched():
        numa_nodes = on_numa_nodes(site)
        yield from _clashes(site, numa_nodes, "NUMA nodes", ExclusivePolicy.NUMA_NODE_LEVEL)


def _clashes(site: Site, places: Guests, what: str, policy: ExclusivePolicy) -> Iterator[Finding]:
    shared: dict[tuple[int, int], list[int]] = defaultdict(list)
    order = {id(tenant): index for index, tenant in enumerate(site.tenants)}
    for place, guests in places.items():
        for one, other in combinations(guests, 2):
            shared[order[id(one)], order[id(other)]].append(place)
    for (first, second), where in sorted(shared.items()):
        # Running pods stand before new ones, so that the second of two is the one to blame.
        one, other = site.tenants[first], site.tenants[second]
        demanding = _demanding(one, other)
        if other.new and demanding is not None:
            yield Finding(
                other.title,
                f"pod {other.title!r} shares {what} {format_cpu_list(where)} of node "
                f"{site.node.name!r} with pod {one.title!r}; pod {demanding.title!r} requires "
                f"{policy}: keep them apart",
            )


def _demanding(one: Tenant, other: Tenant) -> Tenant | None:
    return next((tenant for tenant in (other, one) if tenant.pod.spec.exclusive_required), None)
