"""Hugepages of running pods, as far as files say where they are."""

from collections.abc import Mapping

from placer_models.cluster import Node
from placer_models.files.faults import Place
from placer_models.instance.hugepages import pages_by_numa_node
from placer_models.pod import Pod
from placer_models.quantity import format_bytes

PageCounts = dict[tuple[int, int], int]
"""(NUMA node, page size in bytes) -> pages."""


def pages_given(
    written: Mapping[str, Mapping[str, int]],
    pod: Pod,
    node: Node,
    room: PageCounts,
    place: Place,
) -> PageCounts:
    """Return the pages that a running pod says it holds, and take them out of the room."""
    numa_nodes = [numa.id for numa in node.machine.topology.numa_nodes]
    taken = pages_by_numa_node(written, numa_nodes, node.name, place)
    for (numa, size), count in taken.items():
        room[numa, size] = room.get((numa, size), 0) - count
    requests = pod.spec.requests
    for size in sorted({h.page_bytes for h in requests.hugepages} | {s for _, s in taken}):
        got = sum(count for (_, other), count in taken.items() if other == size)
        if got != requests.pages_of(size):
            place.fault(
                f"got {got} pages of {format_bytes(size)}; "
                f"expected the {requests.pages_of(size)} of its request"
            )
    return taken
