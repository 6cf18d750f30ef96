"""The edges of the rules about hugepages: 2 pages of one byte on each NUMA node of a pair."""

from dataclasses import replace

from judge.hand import ALL_CPUS, Case, node, placed, pod, put, with_pages, world
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


HUGEPAGES_CASES = (
    Case(
        "hugepages",
        "a pod holds all the pages it asks for",
        world(asks_pages("a", 3), nodes=[PAGED]),
        good=placed(holds("a", (0, 1, 2), (1, 1, 1))),
        bad=placed(holds("a", (0, 1, 2))),
    ),
    Case(
        "hugepages",
        "pages of another size do not count",
        world(asks_pages("a", 1), nodes=[node(hugepages=((0, 1, 1), (0, 2, 1)))]),
        good=placed(holds("a", (0, 1, 1))),
        bad=placed(holds("a", (0, 2, 1))),
    ),
    Case(
        "hugepages",
        "a pod holds no pages of a size that it does not ask for",
        world(asks_pages("a", 1), nodes=[node(hugepages=((0, 1, 1), (0, 2, 1)))]),
        good=placed(holds("a", (0, 1, 1))),
        bad=placed(holds("a", (0, 1, 1), (0, 2, 1))),
    ),
    Case(
        "hugepages",
        "a NUMA node that has no pages gives none",
        world(asks_pages("a", 1), nodes=[node(hugepages=((0, 1, 1),))]),
        good=placed(holds("a", (0, 1, 1))),
        bad=placed(holds("a", (1, 1, 1))),
    ),
    Case(
        "hugepages",
        "a NUMA node gives no more pages than it has",
        world(asks_pages("a", 2), asks_pages("b", 1), nodes=[PAGED]),
        good=placed(holds("a", (0, 1, 2)), holds("b", (1, 1, 1))),
        bad=placed(holds("a", (0, 1, 2)), holds("b", (0, 1, 1))),
    ),
    Case(
        "hugepages",
        "running pods keep their pages",
        world(
            asks_pages("a", 1),
            nodes=[PAGED],
            running=[(asks_pages("r", 2), holds("r", (0, 1, 2)))],
        ),
        good=placed(holds("a", (1, 1, 1))),
        bad=placed(holds("a", (0, 1, 1))),
    ),
    Case(
        "hugepages",
        "who is new is not blamed for a NUMA node that running pods overfill",
        world(
            asks_pages("a", 1),
            nodes=[PAGED],
            running=[(asks_pages("r", 3), holds("r", (0, 1, 3)))],
        ),
        good=placed(holds("a", (0, 1, 0), (1, 1, 1))),
        bad=placed(holds("a", (0, 1, 1))),
    ),
    Case(
        "hugepages",
        "no amount is below 0",
        world(asks_pages("a", 1), nodes=[PAGED]),
        good=placed(holds("a", (0, 1, 1))),
        bad=placed(holds("a", (0, 1, 2), (1, 1, -1))),
    ),
    Case(
        "memory",
        "what is set aside as hugepages is no memory",
        world(pod("a", memory=4, qos=LS), nodes=[PAGED]),
        good=placed(put("a", ALL_CPUS, memory={0: 2, 1: 2})),
        bad=placed(put("a", ALL_CPUS, memory={0: 3, 1: 1})),
    ),
    Case(
        "alignment",
        "SingleNUMANode: hugepages are on the NUMA node of the memory",
        world(
            asks_pages("a", 1, memory=1, alignment=AlignmentPolicy.SINGLE_NUMA_NODE), nodes=[PAGED]
        ),
        good=placed(holds("a", (1, 1, 1), memory={1: 1}, cpus="4-7")),
        bad=placed(holds("a", (0, 1, 1), memory={1: 1}, cpus="0-7")),
    ),
    Case(
        "alignment",
        "Restricted: hugepages and memory agree on the fewest NUMA nodes",
        world(asks_pages("a", 3, memory=3, alignment=AlignmentPolicy.RESTRICTED), nodes=[PAGED]),
        good=placed(holds("a", (0, 1, 2), (1, 1, 1), memory={0: 2, 1: 1}, cpus="0-7")),
        bad=placed(holds("a", (0, 1, 2), (1, 1, 1), memory={0: 2}, cpus="0-7")),
        bad_world=world(
            asks_pages("a", 3, memory=2, alignment=AlignmentPolicy.RESTRICTED), nodes=[PAGED]
        ),
    ),
    Case(
        "alignment",
        "SingleNUMANode: no pages of a NUMA node do not use it",
        world(asks_pages("a", 1, alignment=AlignmentPolicy.SINGLE_NUMA_NODE), nodes=[PAGED]),
        good=placed(holds("a", (0, 1, 1), (1, 1, 0), cpus="0-3")),
        bad=placed(holds("a", (0, 1, 1), (1, 1, 1), cpus="0-7")),
        bad_world=world(
            asks_pages("a", 2, alignment=AlignmentPolicy.SINGLE_NUMA_NODE), nodes=[PAGED]
        ),
    ),
    Case(
        "alignment",
        "Restricted: hugepages alone need as many NUMA nodes as hold them",
        world(asks_pages("a", 3, alignment=AlignmentPolicy.RESTRICTED), nodes=[PAGED]),
        good=placed(holds("a", (0, 1, 2), (1, 1, 1), cpus="0-7")),
        bad=placed(holds("a", (0, 1, 1), (1, 1, 1), cpus="0-7")),
        bad_world=world(asks_pages("a", 2, alignment=AlignmentPolicy.RESTRICTED), nodes=[PAGED]),
    ),
)
