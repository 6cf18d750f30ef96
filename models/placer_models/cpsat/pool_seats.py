"""The decisions about pods that are bound to the pool of some cells (C8, C12)."""

from collections.abc import Sequence
from dataclasses import dataclass

from ortools.sat.python.cp_model import CpModel

from placer_models.cpsat.expression import Expression
from placer_models.pools import NO_POOL, CellPool
from placer_models.problem import Fit, NodeState, Shape


@dataclass(frozen=True, slots=True)
class PoolSeat:
    """The part of its pool to which a pod is bound.

    Attributes:
        used: One literal a cell: the pod runs in the pool of it.
        milli: How much of its request each cell has.
        cpus: Under ConstrainedBurst, CPUs of each cell's pool that are there for its limit;
            else empty.

    """

    used: tuple[Expression, ...]
    milli: tuple[Expression, ...]
    cpus: tuple[Expression, ...] = ()


def pool_seat(
    model: CpModel,
    node: NodeState,
    shape: Shape,
    fit: Fit,
    used: tuple[Expression, ...],
    name: str,
) -> PoolSeat | None:
    """Create the variables; None: the pod is not bound, or the node is one NUMA node.

    Args:
        model: The model.
        node: Where the pod would run.
        shape: What it asks for.
        fit: What that means there.
        used: The literals of a policy that aligns the pod as a whole.
        name: Of the assignment.

    """
    pools = _pools(node, shape)
    if shape.burst_cpus:
        most = [min(shape.burst_cpus, pool.cpus) for pool in pools]
        return PoolSeat(
            used=_literals(model, most, name),
            milli=_amounts(model, most, shape.pool_milli, f"milli{name}"),
            cpus=tuple(
                model.new_int_var(0, cpus, f"burst{name[:-1]},{i}]") if cpus else 0
                for i, cpus in enumerate(most)
            ),
        )
    if not fit.binds(shape):
        return None
    have = [min(pool.milli, shape.pool_milli) for pool in pools]
    if fit.containers:
        literals = _literals(model, [pool.cpus for pool in pools], name)
        return PoolSeat(literals, _amounts(model, have, shape.pool_milli, f"milli{name}"))
    if len(node.cells) == 1 or not used:
        return None
    if fit.cell_limit == 1:
        milli = tuple(shape.pool_milli * literal for literal in used)
        return PoolSeat(used, milli)
    return PoolSeat(used, _amounts(model, have, shape.pool_milli, f"milli{name}"))


def _pools(node: NodeState, shape: Shape) -> list[CellPool]:
    return [NO_POOL if shape.pool is None else cell.pool(shape.pool) for cell in node.cells]


def _literals(model: CpModel, there: Sequence[int], name: str) -> tuple[Expression, ...]:
    return tuple(
        model.new_bool_var(f"pool{name[:-1]},{i}]") if count else 0 for i, count in enumerate(there)
    )


def _amounts(model: CpModel, there: Sequence[int], milli: int, name: str) -> tuple[Expression, ...]:
    return tuple(
        model.new_int_var(0, milli, f"{name[:-1]},{i}]") if count and milli else 0
        for i, count in enumerate(there)
    )


def cells_kept(milli: Sequence[int], cpus: Sequence[int], limit: int) -> tuple[int, ...]:
    """Return the cells that a pod under ConstrainedBurst needs of those that it may use.

    Args:
        milli: What each has of its request.
        cpus: What it has of each cell's pool; sums to the limit or more.
        limit: CPUs that it needs.

    """
    kept = dict(enumerate(cpus))
    for cell in sorted(kept, key=lambda cell: (cpus[cell], cell)):
        if not milli[cell] and sum(kept.values()) - cpus[cell] >= limit:
            del kept[cell]
    return tuple(cell for cell in kept if cpus[cell])
