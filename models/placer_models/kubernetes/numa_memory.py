"""Memory that pods can have on each NUMA node of a node, according to its objects."""

from collections.abc import Mapping, Sequence

from placer_models.kubernetes.node import KubeNode
from placer_models.kubernetes.object_fields import KubernetesObjectError
from placer_models.kubernetes.topology import KubeNumaZone
from placer_models.topology import Hugepages, hugepages_of_bytes

_MIB = 2**20

Room = tuple[int, tuple[Hugepages, ...]]
"""Bytes of memory, those in hugepages included, and the hugepages."""


def memory_by_numa_node(
    node: KubeNode, zones: Mapping[int, KubeNumaZone], ids: Sequence[int], assumed: list[str]
) -> dict[int, Room]:
    """Return the memory of each NUMA node.

    The sum is what the node calls allocatable. What the system keeps is taken from the NUMA
    nodes in proportion, in whole MiB, so that nodes of one kind stay alike.

    Raises:
        KubernetesObjectError: The node gives its CPUs, but not how much memory it has.

    """
    pages = _pages(node, zones, ids, assumed)
    sizes = {n: zones[n].allocatable.memory_bytes if n in zones else None for n in ids}
    total = node.allocatable.memory_bytes
    known = [size for size in sizes.values() if size is not None]
    if total is None and not known and node.says_cpus:
        raise KubernetesObjectError(
            node.identity.title, ("status", "allocatable", "memory"), "is missing; name it"
        )
    total = (sum(known) if total is None else total) - node.reserved_bytes
    if not known and len(ids) > 1:
        assumed.append("whose memory no zone tells apart: as much on each NUMA node")
    weights = {n: size or 0 for n, size in sizes.items()} if any(known) else dict.fromkeys(ids, 1)
    whole = sum(weights.values())
    if any(known) and whole <= total:
        shares = weights
    else:
        shares = {n: max(0, total) * weight // whole for n, weight in weights.items()}
        # What rounding leaves goes to the first, so that nothing is lost.
        shares[ids[0]] += max(0, total) - sum(shares.values())
    return {
        n: (
            shares[n] // _MIB * _MIB + sum(page.page_bytes * page.count for page in pages[n]),
            pages[n],
        )
        for n in ids
    }


def _pages(
    node: KubeNode, zones: Mapping[int, KubeNumaZone], ids: Sequence[int], assumed: list[str]
) -> dict[int, tuple[Hugepages, ...]]:
    if any(zone.allocatable.hugepages for zone in zones.values()):
        held = {n: zones[n].allocatable.hugepages if n in zones else {} for n in ids}
    else:
        held = {n: {} for n in ids}
        for size, amount in node.allocatable.hugepages.items():
            each, rest = divmod(amount // size, len(ids))
            for i, n in enumerate(ids):
                held[n] = {**held[n], size: (each + (i < rest)) * size}
            if amount and len(ids) > 1:
                assumed.append("whose hugepages no zone tells apart: as many on each NUMA node")
    return {n: hugepages_of_bytes(held[n]) for n in ids}
