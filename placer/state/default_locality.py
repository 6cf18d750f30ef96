"""Default locality: the fewest NUMA nodes and packages of an empty node that hold all of a pod."""

from collections import Counter
from collections.abc import Iterable, Mapping

from placer.counting.boards import healthy_devices
from placer.state.alignment import shared_pool_cpu_count_by_numa_node
from placer.state.device_counts import pod_requests_given_node
from placer_models.alignment import fewest_cell_count_for_all_resources
from placer_models.cluster import Node
from placer_models.pod import PodSpec
from placer_models.policy import BINDING, AlignmentPolicy
from placer_models.problem.fits import FewestCellsAndPackages

Goods = list[tuple[int, Mapping[int | None, int]]]
"""For each good, how much is asked for, and how much each place has."""


def fewest_cells_and_packages(
    spec: PodSpec, node: Node, policy: AlignmentPolicy
) -> FewestCellsAndPackages | None:
    """Return the fewest places of the pod, or None if it does not matter where they are.

    Args:
        spec: What the pod asks for.
        node: A node that has all of it.
        policy: The alignment policy that holds for the pod as a whole.

    """
    if not spec.wants_locality:
        return None
    topology = node.machine.topology
    by_cell = policy is AlignmentPolicy.NONE and len(topology.package_in) > 1
    if not by_cell and topology.packages == 1:
        return None
    goods, cpus_in_package = _goods(spec, node, policy)
    cells = _fewest(goods, topology.package_in) if by_cell else None
    packages = None
    if topology.packages > 1:
        by_package = [_in_packages(need, held, topology.package_in) for need, held in goods]
        if spec.qos.owns_cpus:
            by_package[0] = goods[0][0], {at: 1000 * n for at, n in cpus_in_package.items()}
        packages = _fewest(by_package, {*cpus_in_package, *topology.package_in.values()})
    return FewestCellsAndPackages(cells, packages)


def _goods(spec: PodSpec, node: Node, policy: AlignmentPolicy) -> tuple[Goods, Counter[int | None]]:
    """Return the goods by cell, CPUs first, and how many CPUs each package has."""
    topology = node.machine.topology
    requests = pod_requests_given_node(spec, node)
    cpus = [topology.cpu[cpu] for cpu in topology.online - node.reserved_cpus]
    # A CPU request that floats in its pool is in no place.
    placed = requests.cpu_milli if spec.qos.owns_cpus or policy in BINDING else 0
    each = 1000 if spec.qos.owns_cpus else node.milli_per_cpu
    room: Counter[int | None] = Counter(cpu.numa_node for cpu in cpus)
    if spec.constrained_burst:
        placed, each, room = spec.burst_cpus, 1, Counter()
        room.update(shared_pool_cpu_count_by_numa_node(node))
    goods: Goods = [
        (placed, {at: each * n for at, n in room.items()}),
        (requests.memory_bytes, dict[int | None, int](node.memory_bytes_in().items())),
    ]
    pages_in = node.pages_in()
    for pages in requests.hugepages:
        held = {cell: n for (cell, size), n in pages_in.items() if size == pages.page_bytes}
        goods.append((pages.count, dict[int | None, int](held.items())))
    for kind in sorted({request.type for request in requests.devices}):
        homes = Counter(device.numa_node for device in healthy_devices(node, kind))
        # Devices without a NUMA node are in no place.
        nowhere = homes.pop(None, 0)
        goods.append((requests.count_of(kind) - nowhere, homes))
    return goods, Counter(cpu.package for cpu in cpus)


def _in_packages(
    need: int, held: Mapping[int | None, int], package_in: Mapping[int | None, int | None]
) -> tuple[int, Mapping[int | None, int]]:
    """Return how much has to come from packages, and how much each has."""
    found: Counter[int | None] = Counter()
    for cell, amount in held.items():
        found[package_in[cell]] += amount
    nowhere = found.pop(None, 0)
    return need - nowhere, found


def _fewest(goods: Goods, places: Iterable[int | None]) -> int:
    amounts = [tuple(held.get(place, 0) for _, held in goods) for place in places]
    return fewest_cell_count_for_all_resources(amounts, tuple(need for need, _ in goods)) or 0
