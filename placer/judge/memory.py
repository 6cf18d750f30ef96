"""Memory on NUMA nodes, and what its rule has in common with that of hugepages."""

from collections import defaultdict
from collections.abc import Iterator

from placer.judge.family import Finding, JudgedFamily, pod_breach_finding
from placer.judge.scene import InstanceWithPlacement, JudgedNode, PlacedPod
from placer_models.quantity import format_bytes

_Place = tuple[int, int]
"""A NUMA node, and a page size in bytes; 0 for memory, which is counted in bytes."""


def memory_breaches(scene: InstanceWithPlacement) -> Iterator[Finding]:
    """A pod's bytes sum to its request, and a NUMA node gives no more than it has."""
    return cell_amount_breaches(scene, pages=False)


def cell_amount_breaches(scene: InstanceWithPlacement, *, pages: bool) -> Iterator[Finding]:
    """Yield what is wrong with the bytes, or the pages of each size, that pods hold."""
    for _, placed in scene.newcomers:
        held = _held(placed, pages=pages)
        total: defaultdict[int, int] = defaultdict(int)
        for (numa_node, size), amount in held:
            total[size] += amount
            if amount < 0:
                yield pod_breach_finding(
                    placed,
                    f"holds {amount} {_what(size)} on NUMA node {numa_node}; "
                    "an amount is 0 or more",
                )
        wanted = {0: placed.requests.memory_bytes}
        if pages:
            wanted = {asked.page_bytes: asked.count for asked in placed.requests.hugepages}
        for size in sorted(total.keys() | wanted.keys()):
            if total[size] != wanted.get(size, 0):
                yield pod_breach_finding(
                    placed,
                    f"holds {total[size]} {_what(size)} over its NUMA nodes; "
                    f"its request is {wanted.get(size, 0)}",
                )
    for judged in scene.entered:
        yield from _overfilled(judged, pages=pages)


def _overfilled(judged: JudgedNode, *, pages: bool) -> Iterator[Finding]:
    # Running pods may overfill a NUMA node: only pods that add to it are blamed.
    taken = {
        place: 0 for placed in judged.new for place, held in _held(placed, pages=pages) if held
    }
    if not taken:
        return
    for placed in judged.placed_pods:
        for place, amount in _held(placed, pages=pages):
            if place in taken:
                taken[place] += amount
    for place, amount in sorted(taken.items()):
        numa_node, size = place
        inside = judged.inside
        has = inside.pages_in.get(place, 0) if pages else inside.memory_bytes_in.get(numa_node, 0)
        if amount > has:
            yield Finding(
                judged.node.name,
                f"the pods of node {judged.node.name!r} hold {amount} {_what(size)} on NUMA node "
                f"{numa_node}; it has {has}",
            )


def _held(placed: PlacedPod, *, pages: bool) -> list[tuple[_Place, int]]:
    place = placed.place
    if pages:
        return [((numa_node, size), count) for numa_node, size, count in place.hugepages]
    return [((numa_node, 0), amount) for numa_node, amount in place.memory_bytes]


def _what(page_bytes: int) -> str:
    return f"hugepages of {format_bytes(page_bytes)}" if page_bytes else "bytes of memory"


JUDGED = JudgedFamily(rules={"memory": memory_breaches})
