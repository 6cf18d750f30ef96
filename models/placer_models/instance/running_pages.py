"""Hugepages of running pods: read, or laid out where the file leaves them open."""

from collections.abc import Collection, Mapping

from placer_models.cluster import Node
from placer_models.files.faults import Place
from placer_models.instance.hugepages import pages_by_numa_node
from placer_models.instance.running_defaults import laid
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
        left = room.get((numa, size), 0)
        if count > left:
            place.at(str(numa)).fault(
                f"got {count} pages of {format_bytes(size)}; NUMA node {numa} of node "
                f"{node.name} has {left} left"
            )
        room[numa, size] = left - count
    requests = pod.spec.requests
    for size in sorted({h.page_bytes for h in requests.hugepages} | {s for _, s in taken}):
        got = sum(count for (_, other), count in taken.items() if other == size)
        if got != requests.pages_of(size):
            place.fault(
                f"got {got} pages of {format_bytes(size)}; "
                f"expected the {requests.pages_of(size)} of its request"
            )
    return taken


def pages_laid(
    pod: Pod, near: Collection[int | None], room: PageCounts, place: Place
) -> PageCounts:
    """Lay out the pages of a running pod that does not say where they are, as its memory is.

    Args:
        pod: The pod.
        near: The NUMA nodes of its own CPUs and of its devices.
        room: What is left; the pages are taken out of it.
        place: Where the pod's requests stand.

    """
    taken = {}
    for asked in pod.spec.requests.hugepages:
        size, left = asked.page_bytes, asked.count
        here = {numa: count for (numa, other), count in room.items() if other == size}
        for numa, count in laid(left, near, here).items():
            taken[numa, size] = count
            room[numa, size] -= count
            left -= count
        if left:
            place.fault(
                f"the node lacks {left} hugepages of {format_bytes(size)} for this pod; "
                "its running pods take more than it has"
            )
    return taken
