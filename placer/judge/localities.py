"""Locality tiers: how spread out pods are (``packages``, ``caches`` and ``locality.*``)."""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping

from placer.judge.cells import (
    AlignmentSubject,
    aligned_pod_or_containers,
    alignment_policy_of,
    alignment_scope_of,
    amounts_asked_by_cell,
    cell_capacities_if_empty,
    cells_held_without_cpus,
    cells_of_subject,
    fewest_cells_holding,
    numa_nodes_bound_to,
    whole_pod_as_alignment_subject,
)
from placer.judge.family import JudgedFamily
from placer.judge.numa_strategy import fewest_groups_holding_owned_cpus
from placer.judge.scene import CellId, InstanceWithPlacement, JudgedNode, NodeCapacity, PlacedPod
from placer_models.goals import CACHES, LOCALITY_NUMA_NODES, LOCALITY_PACKAGES, PACKAGES
from placer_models.policy import BINDING, AlignmentPolicy, AlignmentScope, CpuLocalityWish
from placer_models.topology import Cpu

_Places = Mapping[CellId, int]
"""A NUMA node, or a package -> how much of something is there; None: in no known place."""


def numa_nodes_beyond_fewest(scene: InstanceWithPlacement) -> int:
    """Return tier ``locality.numa-nodes``: the NUMA nodes that pods use beyond the fewest.

    It sums over new pods with CPUs or devices of their own, and those under ConstrainedBurst,
    under no NUMA policy as a whole. What the latter have beside their pool counts once more.
    """
    beyond = 0
    for judged, placed in _wanting(scene):
        if len(judged.inside.topology.package_in) > 1 and not _aligned_as_a_whole(judged, placed):
            subject = _subject(judged, placed)
            beyond += len(cells_of_subject(judged, subject)) - _fewest(
                _by_numa_node(judged.inside, subject)
            )
            beyond += len(cells_held_without_cpus(judged, subject))
    return beyond


def locality_packages_beyond_fewest(scene: InstanceWithPlacement) -> int:
    """Return tier ``locality.packages``: the packages that pods use beyond the fewest.

    It sums over new pods with CPUs or devices of their own, and those under ConstrainedBurst.
    Memory, devices and the pool of a bound pod are in the package of their NUMA node, if that is
    known.
    """
    beyond = 0
    for judged, placed in _wanting(scene):
        if judged.inside.topology.packages > 1:
            subject = _subject(judged, placed)
            beyond += len(_packages_used(judged, subject)) - _fewest(
                _by_package(judged.inside, subject)
            )
    return beyond


def _wanting(scene: InstanceWithPlacement) -> Iterator[tuple[JudgedNode, PlacedPod]]:
    for judged, placed in scene.newcomers:
        if placed.pod.spec.wants_locality:
            yield judged, placed


def _subject(judged: JudgedNode, placed: PlacedPod) -> AlignmentSubject:
    """Return all that the pod holds by place, and where its pool is if it is bound as a whole."""
    subject = whole_pod_as_alignment_subject(judged, placed)
    if placed.qos.owns_cpus or alignment_policy_of(judged, placed) not in BINDING:
        return subject
    if not _aligned_as_a_whole(judged, placed):
        return subject
    return subject._replace(homes=numa_nodes_bound_to(judged, placed), by_cpu=True)


def _aligned_as_a_whole(judged: JudgedNode, placed: PlacedPod) -> bool:
    """Return whether a policy says which NUMA nodes the pod as a whole is on."""
    policy = alignment_policy_of(judged, placed)
    if (
        policy is AlignmentPolicy.NONE
        or alignment_scope_of(judged, placed) is AlignmentScope.CONTAINER
    ):
        return False
    # Restricted constrains nothing if nothing that is asked for has a width.
    (subject,) = aligned_pod_or_containers(judged, placed)
    _, need = cell_capacities_if_empty(judged.inside, subject, ())
    return policy is not AlignmentPolicy.RESTRICTED or bool(need)


def _packages_used(judged: JudgedNode, subject: AlignmentSubject) -> set[int]:
    topology = judged.inside.topology
    found = {topology.cpu[cpu].package for cpu in subject.cpus if cpu in topology.cpu}
    homes = (topology.package_in.get(cell) for cell in cells_of_subject(judged, subject))
    return found.union(home for home in homes if home is not None)


def _by_numa_node(inside: NodeCapacity, subject: AlignmentSubject) -> Iterator[tuple[int, _Places]]:
    """Yield, for each resource asked for, the need and how much each empty NUMA node has."""
    yield from amounts_asked_by_cell(inside, subject)
    for kind in sorted({asked.type for asked in subject.requests.devices}):
        homes = inside.devices_in.get(kind, {})
        known: _Places = {numa: n for numa, n in homes.items() if numa is not None}
        yield subject.requests.count_of(kind) - homes.get(None, 0), known


def _by_package(inside: NodeCapacity, subject: AlignmentSubject) -> Iterator[tuple[int, _Places]]:
    """Yield the same by package. What is there in no known package lowers the need."""
    package_in = inside.topology.package_in
    for position, (need, held) in enumerate(_by_numa_node(inside, subject)):
        if subject.by_cpu and not (subject.homes or subject.limit_cpus) and position == 0:
            yield need, {package: 1000 * n for package, n in inside.cpus_in_package.items()}
            continue
        by_package: defaultdict[CellId, int] = defaultdict(int)
        for cell, amount in held.items():
            by_package[package_in.get(cell)] += amount
        nowhere = by_package.pop(None, 0)
        yield need - nowhere, by_package


def _fewest(rows: Iterator[tuple[int, _Places]]) -> int:
    asked = [(need, held) for need, held in rows if need > 0]
    places = dict.fromkeys(place for _, held in asked for place in held)
    cells = tuple(tuple(held.get(place, 0) for _, held in asked) for place in places)
    return fewest_cells_holding(cells, tuple(need for need, _ in asked))


def packages_beyond_fewest(scene: InstanceWithPlacement) -> int:
    """Return tier ``packages``: the sum over new pods that would like few packages."""
    return _groups_beyond(scene, CpuLocalityWish.PACKAGE, lambda cpu: cpu.package)


def caches_beyond_fewest(scene: InstanceWithPlacement) -> int:
    """Return tier ``caches``: the sum over new pods that would like few last-level caches.

    CPUs whose cache is not known count as one cache.
    """
    return _groups_beyond(scene, CpuLocalityWish.LLC, lambda cpu: cpu.llc)


def _groups_beyond(
    scene: InstanceWithPlacement, wish: CpuLocalityWish, group: Callable[[Cpu], Hashable]
) -> int:
    return sum(
        _groups_touched(judged, placed, group) - _fewest_groups(judged, placed, group)
        for judged, placed in scene.newcomers
        if placed.qos.owns_cpus and wish in (placed.pod.spec.locality or judged.node.locality)
    )


def _groups_touched(judged: JudgedNode, placed: PlacedPod, group: Callable[[Cpu], Hashable]) -> int:
    cpus = judged.inside.topology.cpu
    return len({group(cpus[cpu]) for cpu in placed.owned if cpu in cpus})


def _fewest_groups(judged: JudgedNode, placed: PlacedPod, group: Callable[[Cpu], Hashable]) -> int:
    """Return the fewest groups of the empty node's allocatable CPUs that hold the request."""
    cpus = judged.inside.topology.cpu
    sizes = Counter(group(cpus[cpu]) for cpu in judged.inside.allocatable)
    return fewest_groups_holding_owned_cpus(placed, sizes.values())


JUDGED = JudgedFamily(
    tiers={
        PACKAGES: packages_beyond_fewest,
        CACHES: caches_beyond_fewest,
        LOCALITY_NUMA_NODES: numa_nodes_beyond_fewest,
        LOCALITY_PACKAGES: locality_packages_beyond_fewest,
    }
)
