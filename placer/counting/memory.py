"""Memory and hugepages of NUMA nodes, both ways: amounts of cells, and bytes of NUMA nodes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import gcd

from placer_models.cluster import Node, RunningPod
from placer_models.placement import PodPlacement
from placer_models.problem.dimensions import Amounts
from placer_models.problem.node_state import NodeState
from placer_models.problem.problem import Choice, Problem, Shape
from placer_models.records import record

_Bytes = tuple[tuple[int, int], ...]
"""(NUMA node, bytes), as in ``PodPlacement``."""

_Pages = tuple[tuple[int, int, int], ...]
"""(NUMA node, page size in bytes, count), as in ``PodPlacement``."""


@dataclass(frozen=True, slots=True)
class MemoryLeft:
    """The memory left on a node; amounts are below 0 where pods hold more than there is.

    Attributes:
        bytes_in: NUMA node -> free bytes.
        pages: (NUMA node, page size in bytes) -> free hugepages.
        unit: The largest number that divides the free bytes of each NUMA node.

    """

    bytes_in: Mapping[int, int]
    pages: Mapping[tuple[int, int], int]
    unit: int

    @property
    def free_bytes(self) -> int:
        """The bytes that pods may still ask for, whichever NUMA nodes have them."""
        return sum(max(0, free) for free in self.bytes_in.values())

    def left_in(self, numa_node: int, page_bytes: int) -> int:
        """Return what a NUMA node has left: hugepages of a size, or bytes if that is 0."""
        if page_bytes:
            return self.pages.get((numa_node, page_bytes), 0)
        return self.bytes_in[numa_node]


def memory_left(node: Node, pods: Iterable[RunningPod]) -> MemoryLeft:
    """Return what the pods that run on the node leave of its memory."""
    memory = node.memory_bytes_in()
    return memory_after(MemoryLeft(memory, node.pages_in(), gcd(*memory.values())), pods)


def memory_after(left: MemoryLeft, came: Iterable[RunningPod]) -> MemoryLeft:
    """Return what is left of the memory once pods have come."""
    memory, pages = dict(left.bytes_in), left.pages
    for pod in came:
        for numa_node, amount in pod.placement.memory_bytes:
            memory[numa_node] -= amount
        for numa_node, page_bytes, count in pod.placement.hugepages:
            had = pages.get((numa_node, page_bytes), 0)
            pages = {**pages, (numa_node, page_bytes): had - count}
    return MemoryLeft(memory, pages, gcd(*memory.values()))


def pod_memory_by_cell(
    problem: Problem, state: NodeState, place: PodPlacement
) -> tuple[Amounts, ...]:
    """Return what a placed pod has of each cell, dimension by dimension."""
    rows = [
        dimension.held_on(place.memory_bytes, place.hugepages) for dimension in problem.in_cells
    ]
    return tuple(tuple(row.get(cell.numa_node, 0) for cell in state.cells) for row in rows)


def cell_memory_to_placement(
    problem: Problem, numa_nodes: Sequence[int | None], rows: Sequence[Sequence[int]]
) -> tuple[_Bytes, _Pages]:
    """Return amounts in cells, given dimension by dimension, in the form of placements."""
    found = [
        (dimension, numa, row[cell])
        for cell, numa in enumerate(numa_nodes)
        for dimension, row in zip(problem.in_cells, rows, strict=True)
        if row[cell] and numa is not None
    ]
    return (
        tuple((numa, n * each.unit) for each, numa, n in found if not each.page_bytes),
        tuple((numa, each.page_bytes, n) for each, numa, n in found if each.page_bytes),
    )


@record(frozen=True, slots=True)
class PodMemoryToAssign:
    """What one pod takes in one dimension.

    Attributes:
        amount: How much it takes in total.
        pinned: How much comes from each cell; None: it may come from anywhere.
        near: Cells of the pod's CPUs and devices, nearest first.

    """

    amount: int
    pinned: tuple[int, ...] | None
    near: tuple[int, ...]


def assign_memory_to_pods(
    problem: Problem, state: NodeState, pods: Sequence[tuple[Shape, Choice, tuple[int, ...]]]
) -> list[tuple[_Bytes, _Pages]] | str:
    """Return the memory and the hugepages of every pod, or why they cannot have them.

    Args:
        problem: The Problem that the counts belong to.
        state: What is left on the node.
        pods: Shape and place of every pod that is new there, and the cells that its memory had
            better come from, nearest first.

    """
    rows = []
    nears = [near for _, _, near in pods]
    for position, dimension in enumerate(problem.in_cells):
        wants = [
            PodMemoryToAssign(
                shape.amounts[position], choice.pinned[position] if choice.pinned else None, near
            )
            for (shape, choice, _), near in zip(pods, nears, strict=True)
        ]
        split = split_memory_over_cells([cell.amounts[position] for cell in state.cells], wants)
        if split is None:
            size = dimension.page_bytes
            what = f"hugepages of {size} bytes" if size else "bytes of memory"
            return (
                f"its pods take {sum(want.amount for want in wants) * dimension.unit} {what}; "
                "the NUMA nodes they come from have less"
            )
        # Pages should come from where the memory is.
        nears = [
            near or tuple(cell for cell, amount in enumerate(units) if amount)
            for near, units in zip(nears, split, strict=True)
        ]
        rows.append(split)
    homes = [cell.numa_node for cell in state.cells]
    return [cell_memory_to_placement(problem, homes, of_pod) for of_pod in zip(*rows, strict=True)]


def split_memory_over_cells(
    free: Sequence[int], wants: Sequence[PodMemoryToAssign]
) -> list[tuple[int, ...]] | None:
    """Return how many units of each want come from each cell, or None if there is not enough.

    Pinned wants are served first, so that the others find a place whenever the sums allow it.
    Then come those that are near few cells, which they use as far as possible, then those
    near none, the largest first. What the near cells do not have comes from the one cell with
    room for it that is left with least, else from the emptiest cells.
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


def _turn(want: PodMemoryToAssign) -> tuple[bool, int, int]:
    return not want.near, len(want.near), -want.amount


def _taken(left: list[int], want: PodMemoryToAssign) -> tuple[int, ...] | None:
    """Take what is wanted out of what the cells have left; return None if it is not enough."""
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
