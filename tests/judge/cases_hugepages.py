"""The edges of the rules about hugepages: 2 pages of one byte on each NUMA node of a pair."""

from dataclasses import replace

from judge.hand import ALL_CPUS, Edge, node, pod, put, with_pages, world
from placer_models.placement import PodPlacement
from placer_models.pod import Pod
from placer_models.policy import AlignmentPolicy, QosClass

LS = QosClass.LS
PAGED = node(hugepages=((0, 1, 2), (1, 1, 2)))


def asks_pages(name: str, pages: int, memory: int = 0, **spec: AlignmentPolicy) -> Pod:
    """Return an LS pod that asks for pages of one byte."""
    return with_pages(pod(name, memory=memory, qos=LS, **spec), (1, pages))


def holds(
    name: str,
    *pages: tuple[int, int, int],
    memory: dict[int, int] | None = None,
    cpus: str = ALL_CPUS,
) -> PodPlacement:
    """Return a place in the pool with hugepages: (NUMA node, page size, pages)."""
    return replace(put(name, cpus, memory=memory), hugepages=pages)


HUGEPAGES_EDGES = {
    "hugepages: a pod holds all the pages it asks for": Edge(
        world(asks_pages("a", 3), nodes=[PAGED]),
        good=holds("a", (0, 1, 2), (1, 1, 1)),
        bad=holds("a", (0, 1, 2)),
    ),
    "hugepages: pages of another size do not count": Edge(
        world(asks_pages("a", 1), nodes=[node(hugepages=((0, 1, 1), (0, 2, 1)))]),
        good=holds("a", (0, 1, 1)),
        bad=holds("a", (0, 2, 1)),
    ),
    "hugepages: a pod holds no pages of a size that it does not ask for": Edge(
        world(asks_pages("a", 1), nodes=[node(hugepages=((0, 1, 1), (0, 2, 1)))]),
        good=holds("a", (0, 1, 1)),
        bad=holds("a", (0, 1, 1), (0, 2, 1)),
    ),
    "hugepages: a NUMA node that has no pages gives none": Edge(
        world(asks_pages("a", 1), nodes=[node(hugepages=((0, 1, 1),))]),
        good=holds("a", (0, 1, 1)),
        bad=holds("a", (1, 1, 1)),
    ),
    "hugepages: a NUMA node gives no more pages than it has": Edge(
        world(asks_pages("a", 2), asks_pages("b", 1), nodes=[PAGED]),
        good=[holds("a", (0, 1, 2)), holds("b", (1, 1, 1))],
        bad=[holds("a", (0, 1, 2)), holds("b", (0, 1, 1))],
    ),
    "hugepages: running pods keep their pages": Edge(
        world(
            asks_pages("a", 1), nodes=[PAGED], running=[(asks_pages("r", 2), holds("r", (0, 1, 2)))]
        ),
        good=holds("a", (1, 1, 1)),
        bad=holds("a", (0, 1, 1)),
    ),
    "hugepages: who is new is not blamed for a NUMA node that running pods overfill": Edge(
        world(
            asks_pages("a", 1), nodes=[PAGED], running=[(asks_pages("r", 3), holds("r", (0, 1, 3)))]
        ),
        good=holds("a", (0, 1, 0), (1, 1, 1)),
        bad=holds("a", (0, 1, 1)),
    ),
    "hugepages: no amount is below 0": Edge(
        world(asks_pages("a", 1), nodes=[PAGED]),
        good=holds("a", (0, 1, 1)),
        bad=holds("a", (0, 1, 2), (1, 1, -1)),
    ),
    "memory: what is set aside as hugepages is no memory": Edge(
        world(pod("a", memory=4, qos=LS), nodes=[PAGED]),
        good=put("a", ALL_CPUS, memory={0: 2, 1: 2}),
        bad=put("a", ALL_CPUS, memory={0: 3, 1: 1}),
    ),
    "alignment: SingleNUMANode: hugepages are on the NUMA node of the memory": Edge(
        world(
            asks_pages("a", 1, memory=1, alignment=AlignmentPolicy.SINGLE_NUMA_NODE), nodes=[PAGED]
        ),
        good=holds("a", (1, 1, 1), memory={1: 1}, cpus="4-7"),
        bad=holds("a", (0, 1, 1), memory={1: 1}, cpus="0-7"),
    ),
    "alignment: Restricted: hugepages and memory agree on the fewest NUMA nodes": Edge(
        world(asks_pages("a", 3, memory=3, alignment=AlignmentPolicy.RESTRICTED), nodes=[PAGED]),
        good=holds("a", (0, 1, 2), (1, 1, 1), memory={0: 2, 1: 1}, cpus="0-7"),
        bad=holds("a", (0, 1, 2), (1, 1, 1), memory={0: 2}, cpus="0-7"),
        bad_world=world(
            asks_pages("a", 3, memory=2, alignment=AlignmentPolicy.RESTRICTED), nodes=[PAGED]
        ),
    ),
    "alignment: SingleNUMANode: no pages of a NUMA node do not use it": Edge(
        world(asks_pages("a", 1, alignment=AlignmentPolicy.SINGLE_NUMA_NODE), nodes=[PAGED]),
        good=holds("a", (0, 1, 1), (1, 1, 0), cpus="0-3"),
        bad=holds("a", (0, 1, 1), (1, 1, 1), cpus="0-7"),
        bad_world=world(
            asks_pages("a", 2, alignment=AlignmentPolicy.SINGLE_NUMA_NODE), nodes=[PAGED]
        ),
    ),
    "alignment: Restricted: hugepages alone need as many NUMA nodes as hold them": Edge(
        world(asks_pages("a", 3, alignment=AlignmentPolicy.RESTRICTED), nodes=[PAGED]),
        good=holds("a", (0, 1, 2), (1, 1, 1), cpus="0-7"),
        bad=holds("a", (0, 1, 1), (1, 1, 1), cpus="0-7"),
        bad_world=world(asks_pages("a", 2, alignment=AlignmentPolicy.RESTRICTED), nodes=[PAGED]),
    ),
}
