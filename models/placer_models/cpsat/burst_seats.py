"""The decisions about pods under ConstrainedBurst (C8)."""

from collections.abc import Sequence
from dataclasses import dataclass

from ortools.sat.python.cp_model import CpModel

from placer_models.cpsat.expression import Expression
from placer_models.problem import NodeState, Shape


@dataclass(frozen=True, slots=True)
class BurstSeat:
    """The shared pool of a constrained pod.

    Attributes:
        used: One literal a cell: the pod runs in the pool of it.
        cpus: CPUs of each cell's pool that are there for its limit.
        milli: How much of its request each cell has.

    """

    used: tuple[Expression, ...]
    cpus: tuple[Expression, ...]
    milli: tuple[Expression, ...]


def burst_seat(model: CpModel, node: NodeState, shape: Shape, name: str) -> BurstSeat | None:
    """Create the variables; None: the pod is not constrained."""
    if not shape.burst_cpus:
        return None
    most = [
        0 if cell.numa_node is None else min(shape.burst_cpus, pool_in(node, i))
        for i, cell in enumerate(node.cells)
    ]
    return BurstSeat(
        used=tuple(
            model.new_bool_var(f"pool{name[:-1]},{i}]") if cpus else 0
            for i, cpus in enumerate(most)
        ),
        cpus=tuple(
            model.new_int_var(0, cpus, f"burst{name[:-1]},{i}]") if cpus else 0
            for i, cpus in enumerate(most)
        ),
        milli=tuple(
            model.new_int_var(0, shape.shared_milli, f"milli{name[:-1]},{i}]")
            if cpus and shape.shared_milli
            else 0
            for i, cpus in enumerate(most)
        ),
    )


def pool_in(node: NodeState, cell: int) -> int:
    """Return how many CPUs of a cell are in the shared pool, reserved ones included."""
    free = sum(c.cores * c.free for c in node.cores if c.cell == cell)
    return free + node.cells[cell].reserved


def needed_cells(cpus: Sequence[int], milli: Sequence[int], limit: int) -> tuple[int, ...]:
    """Return the cells without those that neither the limit nor the request needs.

    Args:
        cpus: What the pod has of each cell's pool; sums to the limit or more.
        milli: What each cell has of its request.
        limit: CPUs that it needs.

    """
    kept = dict(enumerate(cpus))
    for cell in sorted(kept, key=lambda cell: (cpus[cell], cell)):
        if not milli[cell] and sum(kept.values()) - cpus[cell] >= limit:
            del kept[cell]
    return tuple(cell for cell in kept if cpus[cell])
