"""Hugepages in files: a resource such as ``hugepages-2Mi``, and pages by NUMA node."""

from collections.abc import Iterable, Mapping

from placer_models.cluster import Node
from placer_models.cpuset import format_cpu_list
from placer_models.files.faults import DocumentLocation
from placer_models.files.part import Json
from placer_models.message_text import in_quotes
from placer_models.pod import Pod
from placer_models.quantity import format_bytes, parse_bytes
from placer_models.topology import Hugepages, hugepages_of_bytes

PREFIX = "hugepages-"
"""Resources of this prefix are asked for in bytes, as in Kubernetes."""

LEAST_PAGE_BYTES = 4096
"""No machine has smaller pages, and larger ones are powers of 2: ``2M`` is not ``2Mi``.

A smaller size is no slip of the pen, but may be that of an example: any is accepted."""

MAX_PAGE_BYTES = 2**44
"""Larger than the largest page of any architecture."""

PageCounts = dict[tuple[int, int], int]
"""(NUMA node, page size in bytes) -> pages."""


def hugepages_resource_name(page_bytes: int) -> str:
    """Return the one spelling of a resource: pages of 2048Ki are ``hugepages-2Mi``."""
    return PREFIX + format_bytes(page_bytes)


def parse_page_size(size: str) -> int:
    """Read the size of a page.

    Raises:
        ValueError: The text is not such a size.

    """
    page_bytes = parse_bytes(size)
    odd = page_bytes > LEAST_PAGE_BYTES and page_bytes & (page_bytes - 1)
    if odd or not 0 < page_bytes <= MAX_PAGE_BYTES:
        raise ValueError(f"a page of {in_quotes(size)}; expected a size such as 2Mi or 1Gi")
    return page_bytes


def hugepages_asked(amounts: Mapping[str, int]) -> tuple[Hugepages, ...]:
    """Return the pages that the amounts of bytes make up, by size; amounts of 0 are left out."""
    return hugepages_of_bytes(
        {parse_page_size(name.removeprefix(PREFIX)): n for name, n in amounts.items() if n}
    )


def parse_hugepages_request_bytes(name: str, text: str) -> int:
    """Read an amount of a hugepages resource, in bytes: whole pages.

    Raises:
        ValueError: It is no amount, or not a whole number of pages.

    """
    page_bytes = parse_page_size(name.removeprefix(PREFIX))
    amount = parse_bytes(text)
    if amount % page_bytes:
        more = format_bytes((amount // page_bytes + 1) * page_bytes)
        raise ValueError(
            f"got {in_quotes(text)}; expected whole pages of {format_bytes(page_bytes)}, "
            f"such as {more}"
        )
    return amount


def read_numa_hugepages_of_document(
    written: Mapping[str, Mapping[str, int]],
    numa_nodes: Iterable[int],
    node: str,
    place: DocumentLocation,
) -> PageCounts:
    """Return the pages that are written; what is wrong is a fault.

    Args:
        written: NUMA node -> page size -> pages, as in the file.
        numa_nodes: NUMA nodes that the node has.
        node: Name of the node.
        place: Where the pages are written.

    """
    known = {str(numa): numa for numa in numa_nodes}
    pages: PageCounts = {}
    for key, counts in written.items():
        if key not in known:
            place.at(key).fault(
                f"node {node} has no NUMA node {in_quotes(key)}; "
                f"it has {format_cpu_list(known.values())}"
            )
            continue
        for size, count in counts.items():
            try:
                at = (known[key], parse_page_size(size))
                if at in pages:
                    raise ValueError("a page has a size, and each size stands here once")
                pages[at] = count
            except ValueError as error:
                place.at(key, size).fault(str(error))
    return pages


def take_running_pod_hugepages(
    written: Mapping[str, Mapping[str, int]],
    pod: Pod,
    node: Node,
    room: PageCounts,
    place: DocumentLocation,
) -> PageCounts:
    """Return the pages that a running pod says it holds, and take them out of the room."""
    numa_nodes = [numa.id for numa in node.machine.topology.numa_nodes]
    taken = read_numa_hugepages_of_document(written, numa_nodes, node.name, place)
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


def hugepages_to_dict(held: Iterable[tuple[int, int, int]]) -> Json:
    """Return pages by NUMA node and size, given (NUMA node, page size in bytes, pages)."""
    written: dict[str, dict[str, int]] = {}
    for numa, page_bytes, pages in held:
        written.setdefault(str(numa), {})[format_bytes(page_bytes)] = pages
    return {**written}
