"""GPU sets: partitions, and the tiers of what the links of a set are worth (D6 to D8, D10)."""

from collections.abc import Collection, Iterator

from placer.judge.family import Finding, JudgedFamily, pod_breach_finding
from placer.judge.scene import InstanceWithPlacement, JudgedNode, PlacedPod
from placer_models.cpuset import format_cpu_list
from placer_models.device import GPU
from placer_models.goals import GANG_PAIR_SUM, PARTITIONS, POD_PAIR_MINIMUM, POD_PAIR_SUM
from placer_models.links import (
    best_pair_sum,
    best_permitted_pair_sum,
    counts_by_class,
    pair_minimum,
    pair_sum,
)
from placer_models.policy import GatherLevel, PartitionPolicy


def judged_slowest_pair_shortfall(scene: InstanceWithPlacement) -> int:
    """Return tier 4a: by how much slowest pairs miss the best of any open node, if empty."""
    short = 0
    for judged, placed, gpus in _pods_with_links(scene):
        board = judged.inside.gpus
        slowest = pair_minimum(board, counts_by_class(board, gpus))
        short += scene.nodes_before.best_minimum(placed.pod.spec, len(gpus)) - slowest
    return short


def judged_pod_link_sum_shortfall(scene: InstanceWithPlacement) -> int:
    """Return tier 4b: by how much pair sums miss the best of the pod's own node, if empty."""
    short = 0
    for judged, placed, gpus in _pods_with_links(scene):
        board, scope = judged.inside.gpus, placed.pod.spec.scope_of(GPU)
        most = best_permitted_pair_sum(board, len(gpus), scope) or 0
        short += most - pair_sum(board, counts_by_class(board, gpus))
    return short


def judged_gang_link_sum_shortfall(scene: InstanceWithPlacement) -> int:
    """Return tier 4c: the same over the GPUs of each gang that gathers on a node.

    Its GPUs together need no scope and no partition, so that the best of all sets is the measure.
    """
    gpus_of: dict[tuple[tuple[str, str], str], set[int]] = {}
    for judged, placed in scene.newcomers:
        gang = scene.gang_of[placed.pod.key]
        if gang.gather is GatherLevel.NODE:
            gpus_of.setdefault((gang.key, judged.node.name), set()).update(_gpus(judged, placed))
    return sum(
        _sum_shortfall(scene.nodes_before.judged_nodes[node], gpus)
        for (_, node), gpus in gpus_of.items()
        if len(gpus) >= 2
    )


def _pods_with_links(
    scene: InstanceWithPlacement,
) -> Iterator[tuple[JudgedNode, PlacedPod, set[int]]]:
    """Yield the newly placed pods that hold two or more GPUs, with their minors."""
    for judged, placed in scene.newcomers:
        gpus = _gpus(judged, placed)
        if len(gpus) >= 2:
            yield judged, placed, gpus


def _gpus(judged: JudgedNode, placed: PlacedPod) -> set[int]:
    """Return the pod's GPUs, without those that are broken or not on the node."""
    healthy = {device.minor for device in judged.inside.healthy.get(GPU, ())}
    return healthy.intersection(placed.place.minors(GPU))


def _sum_shortfall(judged: JudgedNode, gpus: Collection[int]) -> int:
    board = judged.inside.gpus
    counts = counts_by_class(board, gpus)
    return (best_pair_sum(board, sum(counts)) or 0) - pair_sum(board, counts)


def partition_breaches(scene: InstanceWithPlacement) -> Iterator[Finding]:
    """Where the node's table is honored, a pod's GPUs are one partition of it."""
    for judged, placed in scene.newcomers:
        if judged.node.honors_table and _is_outside(judged, placed):
            gpus = placed.place.minors(GPU)
            known = [format_cpu_list(p) for p in judged.node.table or () if len(p) == len(gpus)]
            yield pod_breach_finding(
                placed,
                f"holds gpu {format_cpu_list(gpus)} of node {judged.node.name!r}, which is no "
                f"partition; its partitions of {len(gpus)} are {' and '.join(known) or 'none'}",
            )


def pod_count_outside_partitions(scene: InstanceWithPlacement) -> int:
    """Return tier ``partitions``: pods whose GPUs are no partition, on nodes that prefer one."""
    prefer = PartitionPolicy.PREFER
    return sum(
        judged.node.partition_policy is prefer and _is_outside(judged, placed)
        for judged, placed in scene.newcomers
    )


def _is_outside(judged: JudgedNode, placed: PlacedPod) -> bool:
    gpus = placed.place.minors(GPU)
    return bool(gpus) and tuple(sorted(gpus)) not in (judged.node.table or ())


JUDGED = JudgedFamily(
    rules={"partition": partition_breaches},
    tiers={
        PARTITIONS: pod_count_outside_partitions,
        POD_PAIR_MINIMUM: judged_slowest_pair_shortfall,
        POD_PAIR_SUM: judged_pod_link_sum_shortfall,
        GANG_PAIR_SUM: judged_gang_link_sum_shortfall,
    },
)
