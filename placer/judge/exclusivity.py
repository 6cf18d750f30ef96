"""Exclusive pods: the rules and the tiers that keep pods apart, core by core (C9)."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from placer.judge.family import Finding, JudgedFamily, pod_breach_finding
from placer.judge.scene import InstanceWithPlacement, JudgedNode, PlacedPod
from placer_models.cpuset import format_cpu_list
from placer_models.goals import SHARED_CORES, SHARED_NUMA_NODES
from placer_models.policy import ExclusivePolicy
from placer_models.topology import ARM

_Guests = Mapping[int, Sequence[PlacedPod]]
"""Core, or NUMA node -> pods with CPUs there that keep apart from each other."""


def exclusive_pods_by_numa_node(judged: JudgedNode) -> _Guests:
    """Return the pods under NUMANodeLevel of each NUMA node; CPUs without one do not count."""
    found: dict[int, list[PlacedPod]] = defaultdict(list)
    cpus = judged.inside.topology.cpu
    for placed in judged.placed_pods:
        if _policy(judged, placed) is ExclusivePolicy.NUMA_NODE_LEVEL:
            for numa_node in {cpus[cpu].numa_node for cpu in placed.owned if cpu in cpus}:
                if numa_node is not None:
                    found[numa_node].append(placed)
    return found


def exclusive_pods_by_core(judged: JudgedNode) -> _Guests:
    """Return the pods of each core that count as PCPULevel: under it, or fallen back to it."""
    found: dict[int, list[PlacedPod]] = defaultdict(list)
    cpus = judged.inside.topology.cpu
    numa_nodes = exclusive_pods_by_numa_node(judged)
    for placed in judged.placed_pods:
        policy = _policy(judged, placed)
        if policy is ExclusivePolicy.PCPU_LEVEL or (
            numa_nodes and fell_back_to_pcpu_level(placed, numa_nodes)
        ):
            for core in {cpus[cpu].core for cpu in placed.owned if cpu in cpus}:
                found[core].append(placed)
    return found


def _policy(judged: JudgedNode, placed: PlacedPod) -> ExclusivePolicy:
    """Return the pod's own policy, or the scheduler's default where it has none.

    PCPULevel is no default for Arm, where pods keep apart by NUMA node.
    """
    own, default = placed.pod.spec.exclusive, judged.node.defaults.exclusive
    if own is not None:
        return own
    by_core_on_arm = (
        default is ExclusivePolicy.PCPU_LEVEL and judged.inside.topology.architecture == ARM
    )
    return ExclusivePolicy.NONE if by_core_on_arm else default


def fell_back_to_pcpu_level(placed: PlacedPod, numa_nodes: _Guests) -> bool:
    """Return whether the pod only prefers NUMANodeLevel and shares a NUMA node all the same.

    A running pod counts as it did before the placement: newcomers do not change that.
    """
    return not placed.pod.spec.exclusive_required and any(
        any(guest is placed for guest in guests)
        and any(o is not placed and (placed.new or not o.new) for o in guests)
        for guests in numa_nodes.values()
    )


def pod_count_sharing_cores(scene: InstanceWithPlacement) -> int:
    """Return the tier ``exclusivity.cores``."""
    return sum(_beyond_first(exclusive_pods_by_core(judged)) for judged in scene.entered)


def pod_count_sharing_numa_nodes(scene: InstanceWithPlacement) -> int:
    """Return the tier ``exclusivity.numa-nodes``."""
    return sum(_beyond_first(exclusive_pods_by_numa_node(judged)) for judged in scene.entered)


def _beyond_first(places: _Guests) -> int:
    """Count the new pods of each place, but not the first one where no such pod runs."""
    beyond = 0
    for guests in places.values():
        new = sum(guest.new for guest in guests)
        beyond += new - (new == len(guests))
    return beyond


def exclusive_cores_breaches(scene: InstanceWithPlacement) -> Iterator[Finding]:
    """Two pods that count as PCPULevel share no core where one of them requires it."""
    for judged in scene.entered:
        yield from _clashes(
            judged, exclusive_pods_by_core(judged), "cores", ExclusivePolicy.PCPU_LEVEL
        )


def exclusive_numa_nodes_breaches(scene: InstanceWithPlacement) -> Iterator[Finding]:
    """Two pods under NUMANodeLevel share no NUMA node where one of them requires it."""
    for judged in scene.entered:
        numa_nodes = exclusive_pods_by_numa_node(judged)
        yield from _clashes(judged, numa_nodes, "NUMA nodes", ExclusivePolicy.NUMA_NODE_LEVEL)


def _clashes(
    judged: JudgedNode, places: _Guests, what: str, policy: ExclusivePolicy
) -> Iterator[Finding]:
    if not places:
        return
    shared: dict[tuple[int, int], list[int]] = defaultdict(list)
    order = {id(placed): index for index, placed in enumerate(judged.placed_pods)}
    for place, guests in places.items():
        for one, other in combinations(guests, 2):
            shared[order[id(one)], order[id(other)]].append(place)
    for (first, second), where in sorted(shared.items()):
        # Running pods come before new ones, so the second of two is the one to blame.
        one, other = judged.placed_pods[first], judged.placed_pods[second]
        demanding = next((own for own in (other, one) if own.pod.spec.exclusive_required), None)
        if other.new and demanding is not None:
            yield pod_breach_finding(
                other,
                f"shares {what} {format_cpu_list(where)} of node {judged.node.name!r} with pod "
                f"{one.title!r}; pod {demanding.title!r} requires {policy}: keep them apart",
            )


JUDGED = JudgedFamily(
    rules={
        "exclusive-cores": exclusive_cores_breaches,
        "exclusive-numa-nodes": exclusive_numa_nodes_breaches,
    },
    tiers={
        SHARED_CORES: pod_count_sharing_cores,
        SHARED_NUMA_NODES: pod_count_sharing_numa_nodes,
    },
)
