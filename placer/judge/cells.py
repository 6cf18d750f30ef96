"""The cells of a node: which of them a pod or a container uses, and what they could hold."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

from placer.judge.scene import CellId, JudgedNode, NodeCapacity, PlacedPod
from placer_models.alignment import (
    CellAmounts,
    effective_alignment_scope,
    fewest_cell_count_for_all_resources,
)
from placer_models.cluster import Node
from placer_models.cpuset import NO_CPUS, CpuSet
from placer_models.device_strategy import DeviceCountStrategy
from placer_models.placement import ContainerPlacement, DeviceGrant, PodPlacement
from placer_models.pod import Resources
from placer_models.policy import BINDING, AlignmentPolicy, AlignmentScope

_NO_HOMES: frozenset[int] = frozenset()


class AlignmentSubject(NamedTuple):
    """What is aligned together: all that a pod, or one of its containers, holds by place.

    Attributes:
        name: The container's name; empty for the pod as a whole.
        by_cpu: Whether its CPUs count: its own ones, or those of NUMA nodes it is bound to.
        cpus: Its own CPUs.
        homes: The NUMA nodes to whose pool it is bound.
        milli_per_cpu: How much of the CPU request one CPU of the node holds, in milli CPUs.
        limit_cpus: How many CPUs hold its limit, which counts in place of its CPU request; 0
            where nothing keeps it to a pool that holds the limit (ConstrainedBurst).
        limit_room: How many CPUs of each cell count for that limit.

    """

    name: str
    requests: Resources
    by_cpu: bool
    cpus: CpuSet
    homes: frozenset[int]
    memory_bytes: tuple[tuple[int, int], ...]
    hugepages: tuple[tuple[int, int, int], ...]
    devices: tuple[DeviceGrant, ...]
    milli_per_cpu: int
    limit_cpus: int = 0
    limit_room: Mapping[CellId, int] = MappingProxyType({})


def alignment_policy_of(judged: JudgedNode, placed: PlacedPod) -> AlignmentPolicy | None:
    """Return the alignment policy that holds there, or None if pod and node conflict.

    If neither of them has a word, not even that it wants none, the scheduler's default holds.
    """
    words = {placed.pod.spec.alignment, judged.node.alignment} - {None}
    if not words:
        return judged.node.defaults.alignment
    aligning = words - {AlignmentPolicy.NONE}
    if len(aligning) > 1:
        return None
    return aligning.pop() if aligning else AlignmentPolicy.NONE


def alignment_scope_of(judged: JudgedNode, placed: PlacedPod) -> AlignmentScope | None:
    """Return the scope of the policy that holds there, or None if pod and node conflict.

    A pod under ConstrainedBurst is aligned as a whole: its limit is that of the pod.
    """
    if alignment_policy_of(judged, placed) in (None, AlignmentPolicy.NONE):
        return AlignmentScope.POD
    scope = effective_alignment_scope(placed.pod.spec.scope, judged.node.scope)
    return AlignmentScope.POD if scope and placed.pod.spec.constrained_burst else scope


def aligned_pod_or_containers(judged: JudgedNode, placed: PlacedPod) -> list[AlignmentSubject]:
    """Return what the policy looks at: the pod as a whole, or each of its containers."""
    place, owns = placed.place, placed.qos.owns_cpus
    bound = not owns and alignment_policy_of(judged, placed) in BINDING
    if alignment_scope_of(judged, placed) is not AlignmentScope.CONTAINER:
        whole = whole_pod_as_alignment_subject(judged, placed)
        if bound:
            whole = whole._replace(by_cpu=True, homes=numa_nodes_bound_to(judged, placed))
        return [whole]
    given = {container.name: container for container in place.containers}
    subjects = []
    for container in placed.pod.spec.containers:
        asked, part = container.requests, given.get(container.name)
        if part is not None:
            cpus = part.cpuset if owns and asked.cpu_milli else NO_CPUS
            homes = frozenset(numa for numa, _ in part.cpu_milli or ()) if bound else frozenset()
            held = (cpus, homes, part.memory_bytes, part.hugepages, part.devices)
            each = _held_by_cpu(judged, placed)
            subjects.append(AlignmentSubject(container.name, asked, owns or bound, *held, each))
    return subjects


def whole_pod_as_alignment_subject(judged: JudgedNode, placed: PlacedPod) -> AlignmentSubject:
    """Return all that the pod holds by place, as if no policy bound it to NUMA nodes.

    A pod under ConstrainedBurst is bound to some without a policy.
    """
    place, spec = placed.place, placed.pod.spec
    held = (placed.owned, _NO_HOMES, place.memory_bytes, place.hugepages, place.devices)
    each = _held_by_cpu(judged, placed)
    subject = AlignmentSubject("", _asked_here(judged, placed), placed.qos.owns_cpus, *held, each)
    if not spec.constrained_burst:
        return subject
    return subject._replace(
        by_cpu=True,
        homes=numa_nodes_bound_to(judged, placed),
        limit_cpus=spec.burst_cpus,
        limit_room=_by_numa_node(judged, shared_pool_cpus_of_empty_node(judged.node)),
    )


def shared_pool_cpus_of_empty_node(node: Node) -> CpuSet:
    """Return the CPUs of the shared pool while nothing runs on the node: reserved ones, too."""
    return node.machine.topology.online - node.out_of_pools(NO_CPUS)


def subject_with_allocatable_limit_room(
    judged: JudgedNode, subject: AlignmentSubject
) -> AlignmentSubject:
    """Return the subject as Restricted counts it, by what can be allocated.

    A limit that not even all CPUs of NUMA nodes that can be allocated hold is counted by pools.
    """
    if not subject.limit_cpus:
        return subject
    room = _by_numa_node(judged, judged.inside.allocatable)
    return subject._replace(limit_room=room) if room.total() >= subject.limit_cpus else subject


def _by_numa_node(judged: JudgedNode, cpus: CpuSet) -> Counter[CellId]:
    homes = (judged.inside.topology.cpu[cpu].numa_node for cpu in cpus)
    return Counter(home for home in homes if home is not None)


def cells_held_without_cpus(judged: JudgedNode, subject: AlignmentSubject) -> frozenset[CellId]:
    """Return the cells of what a pod under ConstrainedBurst holds where it has no CPUs."""
    held = (
        cells_of_subject(judged, subject_as_unbound(subject)) if subject.limit_cpus else frozenset()
    )
    return held - subject.homes


def _held_by_cpu(judged: JudgedNode, placed: PlacedPod) -> int:
    return 1000 if placed.qos.owns_cpus else judged.node.milli_per_cpu


def subject_as_unbound(subject: AlignmentSubject) -> AlignmentSubject:
    """Return the subject as if it were bound to no NUMA node."""
    return subject._replace(homes=frozenset())


def is_subject_bound_to_pool(
    judged: JudgedNode, placed: PlacedPod, subject: AlignmentSubject
) -> bool:
    """Return whether the policy binds the subject of an LS or BE pod to the pool of NUMA nodes.

    Restricted does not bind it if nothing that is asked for has a width.
    """
    if placed.qos.owns_cpus:
        return False
    if alignment_policy_of(judged, placed) is AlignmentPolicy.RESTRICTED:
        numa_nodes = [numa.id for numa in judged.inside.topology.numa_nodes]
        return bool(cell_capacities_if_empty(judged.inside, subject, numa_nodes)[1])
    return alignment_policy_of(judged, placed) is AlignmentPolicy.SINGLE_NUMA_NODE


def numa_nodes_bound_to(judged: JudgedNode, placed: PlacedPod) -> frozenset[int]:
    """Return the NUMA nodes to whose pool a pod is bound; none if it floats over all of it.

    The placement says which, or its cpuset does, or else what it holds. ConstrainedBurst is about
    CPUs, so that what such a pod holds says nothing.
    """
    place, burst = placed.place, placed.pod.spec.constrained_burst
    if placed.qos.owns_cpus:
        return _NO_HOMES
    if place.cpu_milli is not None:
        return frozenset(numa_node for numa_node, _ in place.cpu_milli)
    if not burst and alignment_policy_of(judged, placed) not in BINDING:
        return _NO_HOMES
    if not burst and not place.cpuset:
        return numa_nodes_of_memory_and_devices(judged, place, place.devices)
    cpus = judged.inside.topology.cpu
    cells = {cpus[cpu].numa_node if cpu in cpus else None for cpu in place.cpuset}
    # Who also runs on a CPU of no NUMA node floats.
    return _NO_HOMES if None in cells and not burst else _known(cells)


def numa_nodes_of_memory_and_devices(
    judged: JudgedNode, place: PodPlacement | ContainerPlacement, devices: Iterable[DeviceGrant]
) -> frozenset[int]:
    """Return the NUMA nodes of the memory, the hugepages and the devices of a pod or container."""
    cells: set[CellId] = {numa_node for numa_node, held in place.memory_bytes if held > 0}
    cells.update(numa_node for numa_node, _, pages in place.hugepages if pages > 0)
    held = (judged.inside.devices.get((grant.type, grant.minor)) for grant in devices)
    cells.update(device.numa_node for device in held if device is not None)
    return _known(cells) & {numa.id for numa in judged.inside.topology.numa_nodes}


def pool_cpus_on_numa_nodes(
    judged: JudgedNode, pool: CpuSet, numa_nodes: Collection[int]
) -> CpuSet:
    """Return the CPUs of a pool on some NUMA nodes."""
    cpus = judged.inside.topology.cpu
    return frozenset(cpu for cpu in pool if cpu in cpus and cpus[cpu].numa_node in numa_nodes)


def _known(cells: Iterable[CellId]) -> frozenset[int]:
    return frozenset(cell for cell in cells if cell is not None)


def cells_of_subject(judged: JudgedNode, subject: AlignmentSubject) -> frozenset[CellId]:
    """Return the cells of the subject's CPUs, its memory, hugepages and devices.

    A device without a NUMA node is on no cell. Nor is anything that the node does not have.
    """
    cpus = judged.inside.topology.cpu
    cells: set[CellId] = {cpus[cpu].numa_node for cpu in subject.cpus if cpu in cpus}
    cells.update(subject.homes)
    cells.update(numa_node for numa_node, held in subject.memory_bytes if held > 0)
    cells.update(numa_node for numa_node, _, pages in subject.hugepages if pages > 0)
    for grant in subject.devices:
        device = judged.inside.devices.get((grant.type, grant.minor))
        if device is not None and device.numa_node is not None:
            cells.add(device.numa_node)
    return frozenset(cells)


def amounts_asked_by_cell(
    inside: NodeCapacity, subject: AlignmentSubject
) -> Iterator[tuple[int, Mapping[CellId, int]]]:
    """Yield, for CPUs, memory and pages of each size, the need and how much each empty cell has."""
    if subject.limit_cpus:
        yield subject.limit_cpus, subject.limit_room
    elif subject.by_cpu:
        each = subject.milli_per_cpu
        yield subject.requests.cpu_milli, {cell: each * n for cell, n in inside.cpus_in.items()}
    yield subject.requests.memory_bytes, inside.memory_bytes_in
    for pages in subject.requests.hugepages:
        held = {cell: n for (cell, size), n in inside.pages_in.items() if size == pages.page_bytes}
        yield pages.count, held


def cell_capacities_if_empty(
    inside: NodeCapacity, subject: AlignmentSubject, cells: Sequence[CellId]
) -> tuple[tuple[CellAmounts, ...], CellAmounts]:
    """Return how much of what the subject asks for each cell could hold if empty, and the need.

    A device type with a healthy device of unknown NUMA node is left out of both.
    """
    asked = [(need, held) for need, held in amounts_asked_by_cell(inside, subject) if need]
    for kind in sorted({request.type for request in subject.requests.devices}):
        homes = inside.devices_in.get(kind, {})
        if None not in homes:
            asked.append((subject.requests.count_of(kind), homes))
    columns = [[held.get(cell, 0) for cell in cells] for _, held in asked]
    return tuple(zip(*columns, strict=True)), tuple(need for need, _ in asked)


@lru_cache(maxsize=4096)
def fewest_cells_holding(cells: tuple[CellAmounts, ...], need: CellAmounts) -> int:
    """Return how many of the cells of an empty node, or of its packages, hold the need at least."""
    # None means that not even the empty node holds it, so the placement has breaches.
    return fewest_cell_count_for_all_resources(cells, need) or 0


def _asked_here(judged: JudgedNode, placed: PlacedPod) -> Resources:
    """Return what the pod asks of its node, as far as that is known before it is placed.

    Nothing is known of a type that follows the groups of another type.
    """
    strategies = dict(placed.pod.spec.strategies)
    if not strategies:
        return placed.requests
    devices = []
    for request in placed.requests.devices:
        if request.type not in strategies:
            devices.append(request)
        elif strategies[request.type] is DeviceCountStrategy.APPLY_FOR_ALL:
            count = len(judged.inside.healthy.get(request.type, ()))
            devices.append(replace(request, count=count))
    return replace(placed.requests, devices=tuple(devices))
