"""Memory and hugepages of NUMA nodes, both ways: amounts of cells, and bytes of NUMA nodes."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import gcd

from placer_models.cluster import Node, RunningPod
from placer_models.node_state import NodeState
from placer_models.placement import PodPlacement
from placer_models.problem import Choice, Problem, Shape

Bytes = tuple[tuple[int, int], ...]
"""(NUMA node, bytes), as in ``PodPlacement``."""

Pages = tuple[tuple[int, int, int], ...]
"""(NUMA node, page size in bytes, count), as in ``PodPlacement``."""


@dataclass(frozen=True, slots=True)
class MemoryLeft:
    """What is left of memory; pods may hold more than there is.

    Attributes:
        bytes_in: NUMA node -> free bytes.
        pages: (NUMA node, page size in bytes) -> free hugepages.
        unit: The largest number that divides the bytes of each NUMA node.

    """

    bytes_in: Mapping[int, int]
    pages: Mapping[tuple[int, int], int]
    unit: int


def memory_left(node: Node, pods: Iterable[RunningPod]) -> MemoryLeft:
    """Return what the pods that run on the node leave."""
    memory = node.memory_bytes_in()
    pages = Counter(node.pages_in())
    for pod in pods:
        for numa_node, amount in pod.placement.memory_bytes:
            memory[numa_node] -= amount
        for numa_node, page_bytes, count in pod.placement.hugepages:
            pages[numa_node, page_bytes] -= count
    return MemoryLeft(memory, pages, gcd(*memory.values()))


def memory_of(state: NodeState, place: PodPlacement, unit_bytes: int) -> tuple[int, ...]:
    """Return the memory units that a placed pod has of each cell."""
    held = dict[int | None, int](place.memory_bytes)
    return tuple(held.get(cell.numa_node, 0) // unit_bytes for cell in state.cells)


def pages_of(state: NodeState, place: PodPlacement, page_bytes: int) -> tuple[int, ...]:
    """Return the hugepages of a size that a placed pod has of each cell."""
    held: dict[int | None, int] = {
        numa: count for numa, size, count in place.hugepages if size == page_bytes
    }
    return tuple(held.get(cell.numa_node, 0) for cell in state.cells)


@dataclass(frozen=True, slots=True)
class MemoryWant:
    """What one pod takes, in memory units.

    Attributes:
        amount: All of it.
        pinned: From each cell; None: it may come from anywhere.
        near: Cells of the pod's CPUs and devices, nearest first.

    """

    amount: int
    pinned: tuple[int, ...] | None
    near: tuple[int, ...]


def dealt_memory(
    problem: Problem, state: NodeState, pods: Sequence[tuple[Shape, Choice, tuple[int, ...]]]
) -> list[tuple[Bytes, Pages]] | str:
    """Return the memory and the hugepages of every pod, or why there are none.

    Args:
        problem: What the counts are counted in.
        state: What is left on the node.
        pods: Shape and place of every pod that is new there, and the cells that its memory had
            better come from, nearest first.

    """
    wants = [MemoryWant(shape.memory, choice.memory, near) for shape, choice, near in pods]
    memory = split_memory([cell.memory for cell in state.cells], wants)
    unit = problem.memory_unit_bytes
    if memory is None:
        return (
            f"its pods take {sum(want.amount for want in wants) * unit} bytes "
            f"of memory; the NUMA nodes they come from have less"
        )
    pages = []
    for i, page_bytes in enumerate(problem.page_sizes):
        asked = [
            MemoryWant(
                shape.pages[i],
                choice.pages[i] if choice.pages else None,
                near or tuple(cell for cell, amount in enumerate(units) if amount),
            )
            for (shape, choice, near), units in zip(pods, memory, strict=True)
        ]
        split = split_memory([cell.pages[i] for cell in state.cells], asked)
        if split is None:
            return f"its pods take more hugepages of {page_bytes} bytes than there are"
        pages.append(split)
    homes = [cell.numa_node for cell in state.cells]
    return [
        (
            tuple(
                (numa, amount * unit)
                for numa, amount in zip(homes, units, strict=True)
                if amount and numa is not None
            ),
            tuple(
                (numa, page_bytes, split[at][cell])
                for cell, numa in enumerate(homes)
                for page_bytes, split in zip(problem.page_sizes, pages, strict=True)
                if split[at][cell] and numa is not None
            ),
        )
        for at, units in enumerate(memory)
    ]


def split_memory(free: Sequence[int], wants: Sequence[MemoryWant]) -> list[tuple[int, ...]] | None:
    """Return the units of every want from each cell; None: there is not enough.

    Pinned wants are served first, so the others find a place whenever the sums allow it:
    first those that are near few cells, from these as far as they go; then those that are
    near none, the largest first. What no near cell has comes from the one cell with room
    for it that is left with least, else from the emptiest cells.
    """
    left = list(free)
    for want in wants:
        for cell, amount in enumerate(want.pinned or ()):
            left[cell] -= amount
    if any(amount < 0 for amount in left):
        return None
    found: dict[int, tuple[int, ...]] = {}
    for i in sorted(range(len(wants)), key=lambda i: _turn(wants[i])):
        pinned = wants[i].pinned
        taken = pinned if pinned is not None else _taken(left, wants[i])
        if taken is None:
            return None
        found[i] = taken
    return [found[i] for i in range(len(wants))]


def _turn(want: MemoryWant) -> tuple[bool, int, int]:
    return not want.near, len(want.near), -want.amount


def _taken(left: list[int], want: MemoryWant) -> tuple[int, ...] | None:
    """Take what is wanted out of what is left in the cells; None: there is not enough."""
    taken = [0] * len(left)
    rest = want.amount

    def take(cell: int) -> None:
        nonlocal rest
        amount = min(rest, left[cell])
        taken[cell] += amount
        left[cell] -= amount
        rest -= amount

    for cell in want.near:
        take(cell)
    roomy = [cell for cell, amount in enumerate(left) if amount >= rest > 0]
    if roomy:
        take(min(roomy, key=lambda cell: left[cell]))
    for cell in sorted(range(len(left)), key=lambda cell: -left[cell]):
        take(cell)
    return None if rest else tuple(taken)
