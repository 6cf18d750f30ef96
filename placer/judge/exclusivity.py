"""Exclusive pods: the rules and the tiers that keep pods apart, core by core (C9)."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from placer.judge.family import JudgedFamily
from placer.judge.finding import Finding
from placer.judge.scene import JudgedNode, PlacedPod, Scene
from placer_models.cpuset import format_cpu_list
from placer_models.goals import SHARED_CORES, SHARED_NUMA_NODES
from placer_models.policy import ExclusivePolicy
from placer_models.topology import ARM

_Guests = Mapping[int, Sequence[PlacedPod]]
"""Core, or NUMA node -> pods with CPUs there that keep apart from each other."""


def on_numa_nodes(site: JudgedNode) -> _Guests:
    """Return the pods under NUMANodeLevel of each NUMA node; CPUs without one do not count."""
    found: dict[int, list[PlacedPod]] = defaultdict(list)
    cpus = site.inside.topology.cpu
    for tenant in site.tenants:
        if _policy(site, tenant) is ExclusivePolicy.NUMA_NODE_LEVEL:
            for numa_node in {cpus[cpu].numa_node for cpu in tenant.owned if cpu in cpus}:
                if numa_node is not None:
                    found[numa_node].append(tenant)
    return found


def on_cores(site: JudgedNode) -> _Guests:
    """Return the pods of each core that count as PCPULevel: under it, or fallen back to it."""
    found: dict[int, list[PlacedPod]] = defaultdict(list)
    cpus = site.inside.topology.cpu
    numa_nodes = on_numa_nodes(site)
    for tenant in site.tenants:
        policy = _policy(site, tenant)
        if policy is ExclusivePolicy.PCPU_LEVEL or (numa_nodes and fell_back(tenant, numa_nodes)):
            for core in {cpus[cpu].core for cpu in tenant.owned if cpu in cpus}:
                found[core].append(tenant)
    return found


def _policy(site: JudgedNode, tenant: PlacedPod) -> ExclusivePolicy:
    """Return the pod's own policy, or the scheduler's default where it has none.

    PCPULevel is no default for Arm, where pods keep apart by NUMA node.
    """
    own, default = tenant.pod.spec.exclusive, site.node.defaults.exclusive
    if own is not None:
        return own
    by_core_on_arm = (
        default is ExclusivePolicy.PCPU_LEVEL and site.inside.topology.architecture == ARM
    )
    return ExclusivePolicy.NONE if by_core_on_arm else default


def fell_back(tenant: PlacedPod, numa_nodes: _Guests) -> bool:
    """Return whether the pod only prefers NUMANodeLevel and shares a NUMA node all the same.

    A running pod counts as it did before the placement: newcomers do not change that.
    """
    return not tenant.pod.spec.exclusive_required and any(
        any(guest is tenant for guest in guests)
        and any(o is not tenant and (tenant.new or not o.new) for o in guests)
        for guests in numa_nodes.values()
    )


def shared_cores(scene: Scene) -> int:
    """Return the tier ``exclusivity.cores``."""
    return sum(_beyond_first(on_cores(site)) for site in scene.entered)


def shared_numa_nodes(scene: Scene) -> int:
    """Return the tier ``exclusivity.numa-nodes``."""
    return sum(_beyond_first(on_numa_nodes(site)) for site in scene.entered)


def _beyond_first(places: _Guests) -> int:
    """Count the new pods of each place, but not the first one where no such pod runs."""
    beyond = 0
    for guests in places.values():
        new = sum(guest.new for guest in guests)
        beyond += new - (new == len(guests))
    return beyond


def exclusive_cores(scene: Scene) -> Iterator[Finding]:
    """Two pods that count as PCPULevel share no core where one of them requires it."""
    for site in scene.entered:
        yield from _clashes(site, on_cores(site), "cores", ExclusivePolicy.PCPU_LEVEL)


def exclusive_numa_nodes(scene: Scene) -> Iterator[Finding]:
    """Two pods under NUMANodeLevel share no NUMA node where one of them requires it."""
    for site in scene.entered:
        numa_nodes = on_numa_nodes(site)
        yield from _clashes(site, numa_nodes, "NUMA nodes", ExclusivePolicy.NUMA_NODE_LEVEL)


def _clashes(
    site: JudgedNode, places: _Guests, what: str, policy: ExclusivePolicy
) -> Iterator[Finding]:
    if not places:
        return
    shared: dict[tuple[int, int], list[int]] = defaultdict(list)
    order = {id(tenant): index for index, tenant in enumerate(site.tenants)}
    for place, guests in places.items():
        for one, other in combinations(guests, 2):
            shared[order[id(one)], order[id(other)]].append(place)
    for (first, second), where in sorted(shared.items()):
        # Running pods come before new ones, so the second of two is the one to blame.
        one, other = site.tenants[first], site.tenants[second]
        demanding = _demanding(one, other)
        if other.new and demanding is not None:
            yield Finding(
                other.title,
                f"pod {other.title!r} shares {what} {format_cpu_list(where)} of node "
                f"{site.node.name!r} with pod {one.title!r}; pod {demanding.title!r} requires "
                f"{policy}: keep them apart",
            )


def _demanding(one: PlacedPod, other: PlacedPod) -> PlacedPod | None:
    return next((tenant for tenant in (other, one) if tenant.pod.spec.exclusive_required), None)


JUDGED = JudgedFamily(
    rules={
        "exclusive-cores": exclusive_cores,
        "exclusive-numa-nodes": exclusive_numa_nodes,
    },
    tiers={
        SHARED_CORES: shared_cores,
        SHARED_NUMA_NODES: shared_numa_nodes,
    },
)
