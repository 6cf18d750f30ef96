"""NUMA alignment: the rule, and the tier of the cells used beyond the fewest (C12)."""

from collections.abc import Iterator

from placer.judge.cells import (
    AlignmentSubject,
    aligned_pod_or_containers,
    alignment_policy_of,
    alignment_scope_of,
    cell_capacities_if_empty,
    cells_held_without_cpus,
    cells_of_subject,
    fewest_cells_holding,
    subject_with_allocatable_limit_room,
)
from placer.judge.family import Finding, JudgedFamily, pod_breach_finding
from placer.judge.scene import CellId, InstanceWithPlacement, JudgedNode, PlacedPod
from placer_models.alignment import restricted_cell_count
from placer_models.cpuset import format_cpu_list
from placer_models.goals import ALIGNMENT
from placer_models.policy import AlignmentPolicy, AlignmentScope


def alignment_breaches(scene: InstanceWithPlacement) -> Iterator[Finding]:
    """A pod keeps to the NUMA nodes that its policy, or its node's, allows."""
    for judged, placed in scene.newcomers:
        if fault := _fault(judged, placed):
            yield pod_breach_finding(placed, f"on node {judged.node.name!r} {fault}")


def _fault(judged: JudgedNode, placed: PlacedPod) -> str | None:
    policy = alignment_policy_of(judged, placed)
    if policy is AlignmentPolicy.NONE:
        return None
    if policy is None:
        return (
            f"asks for NUMA alignment {placed.pod.spec.alignment}, "
            f"but the node's own policy is {judged.node.alignment}; they have to agree"
        )
    scope = alignment_scope_of(judged, placed)
    if scope is None:
        return (
            f"asks for the NUMA scope {placed.pod.spec.scope}, "
            f"but the node's own is {judged.node.scope}; they have to agree"
        )
    by_container = scope is AlignmentScope.CONTAINER
    if by_container and any(asked.share for asked in placed.requests.devices):
        return (
            "asks for shares of devices, which are not parted among containers; "
            "where each container is aligned for itself devices are whole"
        )
    if by_container and placed.pod.spec.strategies:
        return (
            "has devices by a strategy, which are not parted among containers; "
            "where each container is aligned for itself it asks for a number of them"
        )
    faults = (
        _subject_fault(judged, subject, policy)
        for subject in aligned_pod_or_containers(judged, placed)
    )
    return next((fault for fault in faults if fault is not None), None)


def _subject_fault(
    judged: JudgedNode, subject: AlignmentSubject, policy: AlignmentPolicy
) -> str | None:
    match policy:
        case AlignmentPolicy.NONE | AlignmentPolicy.BEST_EFFORT:
            return None
        case AlignmentPolicy.SINGLE_NUMA_NODE:
            most: int | None = 1
        case AlignmentPolicy.RESTRICTED:
            numa_nodes = [numa.id for numa in judged.inside.topology.numa_nodes]
            asked = subject_with_allocatable_limit_room(judged, subject)
            cells, need = cell_capacities_if_empty(judged.inside, asked, numa_nodes)
            if not need:  # nothing that has a width
                return None
            most = restricted_cell_count(cells, need)
    who = f"has a container {subject.name!r} that " if subject.name else ""
    if most is None:
        return (
            f"{who}is refused by {policy}: "
            "the resources it asks for do not agree on one fewest number of NUMA nodes"
        )
    used = cells_of_subject(judged, subject)
    if None in used or len(used) > most:
        return (
            f"{who}uses {_text(used)}; {policy} allows {most} NUMA nodes, the same for all it holds"
        )
    return None


def _text(cells: frozenset[CellId]) -> str:
    numa_nodes = format_cpu_list(cell for cell in cells if cell is not None and cell >= 0)
    parts = [f"NUMA nodes {numa_nodes}"] if numa_nodes else []
    return " and ".join([*parts, *(["CPUs without a NUMA node"] if None in cells else [])])


def cells_beyond_fewest(scene: InstanceWithPlacement) -> int:
    """Return tier ``alignment``: the sum over the newly placed pods under BestEffort.

    What a pod under ConstrainedBurst has beside its pool counts once more.
    """
    beyond = 0
    for judged, placed in scene.newcomers:
        if alignment_policy_of(judged, placed) is AlignmentPolicy.BEST_EFFORT:
            every_cell = [*(numa.id for numa in judged.inside.topology.numa_nodes), None]
            for subject in aligned_pod_or_containers(judged, placed):
                fewest = fewest_cells_holding(
                    *cell_capacities_if_empty(judged.inside, subject, every_cell)
                )
                beyond += len(cells_of_subject(judged, subject)) - fewest
                beyond += len(cells_held_without_cpus(judged, subject))
    return beyond


JUDGED = JudgedFamily(
    rules={"alignment": alignment_breaches}, tiers={ALIGNMENT: cells_beyond_fewest}
)
