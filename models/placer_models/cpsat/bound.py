"""LS and BE pods that are bound to the pool of some NUMA nodes (C8, C12)."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from ortools.sat.python.cp_model import CpModel, LinearExpr

from placer_models.cpsat.assignment import Assignment, Expression, PlacementVariables
from placer_models.cpsat.cpus import existing_core_take_vars
from placer_models.cpsat.devices import touched_device_count_expr
from placer_models.cpsat.family import (
    Hint,
    KnownPlacement,
    ModelFamily,
    Value,
    always,
    never,
    solver_hints_for_plain_variables,
)
from placer_models.cpsat.numa import existing_cell_vars
from placer_models.goals import ALIGNMENT, LOCALITY_NUMA_NODES
from placer_models.policy import AlignmentPolicy, QosClass
from placer_models.problem.fits import pool_milli_of_containers_by_cell
from placer_models.problem.node_state import NodeState
from placer_models.problem.problem import Choice, Problem
from placer_models.rule_family import RuleFamilyName

POOLS = (QosClass.LS, QosClass.BE)


@dataclass(frozen=True, slots=True)
class BoundPodPoolVariables:
    """The part of its pool to which a pod is bound.

    Attributes:
        used: One literal per cell: whether the pod runs in the cell's pool.
        milli: How much of the pod's CPU request each cell's pool carries.
        cpus: Under ConstrainedBurst, how many CPUs of each cell's pool count for the pod's
            limit; else empty.

    """

    used: tuple[Expression, ...]
    milli: tuple[Expression, ...]
    cpus: tuple[Expression, ...] = ()


def bound_pool_vars(
    model: CpModel, problem: Problem, assignment: Assignment
) -> BoundPodPoolVariables | None:
    """Create the variables, or return None if the pod is not bound or the node is one cell."""
    node, shape, fit = problem.nodes[assignment.node], assignment.shape, assignment.fit
    name = assignment.name
    if shape.pool is None:
        return None
    pools = [cell.pool(shape.pool) for cell in node.cells]
    if shape.burst_cpus:
        most = [min(shape.burst_cpus, pool.cpus) for pool in pools]
        aligned = fit.binds(shape) and len(node.cells) > 1
        return BoundPodPoolVariables(
            # Under a binding policy it runs wherever it has anything.
            used=existing_cell_vars(assignment).used if aligned else _literals(model, most, name),
            milli=_amounts(model, most, shape.pool_milli, name),
            cpus=tuple(
                model.new_int_var(0, cpus, f"burst[{name},{i}]") if cpus else 0
                for i, cpus in enumerate(most)
            ),
        )
    if not fit.binds(shape):
        return None
    have = [min(pool.milli, shape.pool_milli) for pool in pools]
    if fit.containers:
        literals = _literals(model, [pool.cpus for pool in pools], name)
        return BoundPodPoolVariables(literals, _amounts(model, have, shape.pool_milli, name))
    used = existing_cell_vars(assignment).used
    if len(node.cells) == 1 or not used:
        return None
    if fit.cell_limit == 1:
        return BoundPodPoolVariables(used, tuple(shape.pool_milli * literal for literal in used))
    return BoundPodPoolVariables(used, _amounts(model, have, shape.pool_milli, name))


def _literals(model: CpModel, there: Sequence[int], name: str) -> tuple[Expression, ...]:
    return tuple(
        model.new_bool_var(f"pool[{name},{i}]") if count else 0 for i, count in enumerate(there)
    )


def _amounts(model: CpModel, there: Sequence[int], milli: int, name: str) -> tuple[Expression, ...]:
    return tuple(
        model.new_int_var(0, milli, f"milli[{name},{i}]") if count and milli else 0
        for i, count in enumerate(there)
    )


def a_burst_pod_has_a_pool_for_its_limit(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> None:
    """New owners leave a burst pod enough CPUs for its limit in the pools of its cells."""
    for node, assignments in zip(problem.nodes, x.on_node, strict=True):
        for assignment, pool in _bound(assignments, QosClass.LS):
            if not assignment.shape.burst_cpus:
                continue
            model.add(
                LinearExpr.sum(list(pool.cpus)) >= assignment.shape.burst_cpus * assignment.count
            )
            for cell, (used, cpus) in enumerate(zip(pool.used, pool.cpus, strict=True)):
                if node.cells[cell].shared.cpus:
                    owned = _owned(node, assignments, cell, QosClass.LS)
                    model.add(cpus <= node.cells[cell].shared.cpus - owned)
                    model.add(cpus <= assignment.shape.burst_cpus * used)
                    model.add(used <= cpus)
                    model.add(used <= assignment.count)


def a_burst_pod_uses_the_cells_of_its_pool(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> None:
    """Where something asks which cells a burst pod uses, those of its pool are among them."""
    for assignment, pool in _near_its_pool(x):
        for used, bound in zip(existing_cell_vars(assignment).used, pool.used, strict=True):
            model.add(bound <= used)


def _near_its_pool(x: PlacementVariables) -> Iterator[tuple[Assignment, BoundPodPoolVariables]]:
    """Yield burst pods that would like what they hold to be near their pool, but need not."""
    for assignment, pool in x.assignments_with(BoundPodPoolVariables):
        used = existing_cell_vars(assignment).used
        if pool.cpus and len(used) > 1 and used is not pool.used:
            yield assignment, pool


def a_bound_pod_has_a_cpu_on_each_of_its_cells(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> None:
    """On every cell that a new pod is bound to, new owners leave a CPU of the pod's pool."""
    for node, assignments in zip(problem.nodes, x.on_node, strict=True):
        for qos in POOLS:
            for _, pool in _bound(assignments, qos):
                for cell, used in enumerate(pool.used):
                    if not isinstance(used, int):
                        owned = _owned(node, assignments, cell, qos)
                        model.add(used <= node.cells[cell].pool(qos).cpus - owned)


def owners_leave_bound_pods_their_cpus(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> None:
    """New owners leave running bound pods a CPU on each of their cells, and all that they need."""
    for node, assignments in zip(problem.nodes, x.on_node, strict=True):
        for bound in node.bound:
            owned = [_owned(node, assignments, cell, bound.qos) for cell in bound.cells]
            pools = [node.cells[cell].pool(bound.qos).cpus for cell in bound.cells]
            model.add(LinearExpr.sum(owned) <= sum(pools) - bound.cpus)
            for here, pool in zip(owned, pools, strict=True):
                model.add(here <= pool - 1)


def requests_of_bound_pods_fit_their_cells(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> None:
    """Each request is shared out over its pod's cells, and every cell's pool can carry its parts.

    Where the running pods alone do not fit, no new pod may take CPUs.
    """
    for node, assignments in zip(problem.nodes, x.on_node, strict=True):
        for qos in POOLS:
            _fit_in_their_pool(model, node, assignments, qos)


def _fit_in_their_pool(
    model: CpModel, node: NodeState, assignments: tuple[Assignment, ...], qos: QosClass
) -> None:
    new = [
        (assignment, pool)
        for assignment, pool in _bound(assignments, qos)
        if assignment.shape.pool_milli
    ]
    running = [bound for bound in node.bound if bound.qos is qos]
    if not new and not running:
        return
    taken = model.new_bool_var(f"taken[{node.name},{qos}]")
    takers = [assignment for assignment, _ in new]
    takers += [one for one in assignments if existing_core_take_vars(one) and _shrinks(one, qos)]
    for assignment in takers:
        model.add(assignment.count <= assignment.most * taken)
    in_cell: list[list[Expression]] = [[] for _ in node.cells]
    for assignment, pool in new:
        milli = assignment.shape.pool_milli
        model.add(LinearExpr.sum(list(pool.milli)) == milli * assignment.count)
        for cell, (used, part) in enumerate(zip(pool.used, pool.milli, strict=True)):
            model.add(part <= milli * used)
            in_cell[cell].append(part)
    for index, bound in enumerate(running):
        name = f"running[{node.name},{qos},{index}"
        parts = [model.new_int_var(0, bound.milli, f"{name},{cell}]") for cell in bound.cells]
        model.add(LinearExpr.sum(parts) == bound.milli * taken)
        for cell, part in zip(bound.cells, parts, strict=True):
            in_cell[cell].append(part)
    for cell, amounts in enumerate(in_cell):
        if amounts and node.cells[cell].numa_node is not None:
            owned = node.milli_per_cpu * _owned(node, assignments, cell, qos)
            model.add(LinearExpr.sum(amounts) + owned <= node.cells[cell].pool(qos).milli)


def _bound(
    assignments: tuple[Assignment, ...], qos: QosClass
) -> Iterator[tuple[Assignment, BoundPodPoolVariables]]:
    """Yield the assignments of pods that are bound to a part of the pool."""
    for assignment in assignments:
        pool = assignment.part(BoundPodPoolVariables)
        if pool is not None and assignment.shape.pool is qos:
            yield assignment, pool


def _shrinks(assignment: Assignment, qos: QosClass) -> bool:
    return qos is QosClass.LS or assignment.shape.exclusive


def _owned(
    node: NodeState, assignments: tuple[Assignment, ...], cell: int, qos: QosClass
) -> Expression:
    """Return how many CPUs of a cell the pool loses because new pods own them."""
    return LinearExpr.sum(
        [
            part.cpus(c)
            for assignment in assignments
            if (cores := existing_core_take_vars(assignment)) and _shrinks(assignment, qos)
            for part, c in zip(cores, node.cores, strict=True)
            if c.cell == cell
        ]
    )


def _cells_kept(
    milli: Sequence[int], cpus: Sequence[int], limit: int, held: Collection[int]
) -> tuple[int, ...]:
    """Return the cells that a pod under ConstrainedBurst needs, out of those that it may use.

    Args:
        milli: How much of the pod's request each cell carries.
        cpus: How many CPUs of each cell's pool count for the pod; they sum to the limit or more.
        limit: How many CPUs the pod needs.
        held: Cells of its memory and devices, which it had better be bound to.

    """
    kept = dict(enumerate(cpus))
    for cell in sorted(kept, key=lambda cell: (cpus[cell], cell)):
        needless = not milli[cell] and cell not in held
        if needless and sum(kept.values()) - cpus[cell] >= limit:
            del kept[cell]
    return tuple(cell for cell in kept if cpus[cell])


def bound_pool_solver_hints(
    problem: Problem, x: PlacementVariables, known: KnownPlacement
) -> Iterator[Hint]:
    """Yield hints for the cells whose pool pods are bound to, and their parts there if fixed."""
    for assignment, choices in known.at:
        pool = assignment.part(BoundPodPoolVariables)
        if pool is None:
            continue
        fixed = {cells[0]: milli for c in choices for cells, milli in c.pool if len(cells) == 1}
        if pool.used is not existing_cell_vars(assignment).used:
            bound = {cell for choice in choices for cell in choice.pool_cells}
            yield from solver_hints_for_plain_variables(
                pool.used, [int(cell in bound) for cell in range(len(pool.used))]
            )
        if not any(len(cells) > 1 for c in choices for cells, _ in c.pool):
            yield from solver_hints_for_plain_variables(
                pool.milli, [fixed.get(cell, 0) for cell in range(len(pool.milli))]
            )


def read_solved_pool_takes(
    problem: Problem, assignment: Assignment, places: Sequence[Choice], value: Value
) -> Sequence[Choice]:
    """Read what the pods want of their pool."""
    return [replace(place, pool=_wanted(problem, assignment, place, value)) for place in places]


def _wanted(
    problem: Problem, assignment: Assignment, place: Choice, value: Value
) -> tuple[tuple[tuple[int, ...], int], ...]:
    """Return what a pod wants of its pool, without the cells that it does not need."""
    shape, milli = assignment.shape, assignment.shape.pool_milli
    pool, goods = assignment.part(BoundPodPoolVariables), existing_cell_vars(assignment)
    if pool is None and not (assignment.fit.binds(shape) and goods.used):
        return ()
    if pool is None and goods.used[0] is assignment.count:
        return (((0,), milli),)
    # On a node of one cell, a pod that asks for devices only is bound if one of them is there.
    counted = list(map(value, pool.milli)) if pool else []
    if place.containers:
        return pool_milli_of_containers_by_cell(assignment.fit.containers, place.containers)
    held: set[int] = set()
    for row in goods.pinned:
        held.update(cell for cell, amount in enumerate(row) if value(amount))
    for index, bank in enumerate(problem.nodes[assignment.node].banks):
        for class_index, cell in enumerate(bank.cells):
            if cell is not None and value(
                touched_device_count_expr(assignment, index, class_index)
            ):
                held.add(cell)
    if pool and shape.burst_cpus:
        kept = _cells_kept(counted, list(map(value, pool.cpus)), shape.burst_cpus, held)
        return ((kept, milli),)
    cells = held | {cell for cell, count in enumerate(counted) if count}
    return ((tuple(sorted(cells)), milli),) if cells else ()


def burst_cells_outside_pool_expr(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> Expression:
    """Count the cells of burst pods under BestEffort that their pool is not in (``alignment``)."""
    return LinearExpr.sum(
        [
            _beside(assignment, pool)
            for assignment, pool in _near_its_pool(x)
            if assignment.fit.alignment is AlignmentPolicy.BEST_EFFORT
        ]
    )


def no_policy_burst_cells_outside_pool_expr(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> Expression:
    """Count those of burst pods without a policy (tier ``locality.numa-nodes``)."""
    return LinearExpr.sum(
        [
            _beside(assignment, pool)
            for assignment, pool in _near_its_pool(x)
            if (locality := assignment.fit.locality) is not None and locality.cells is not None
        ]
    )


def _beside(assignment: Assignment, pool: BoundPodPoolVariables) -> Expression:
    return LinearExpr.sum(list(existing_cell_vars(assignment).used)) - LinearExpr.sum(
        list(pool.used)
    )


def has_no_burst_bind_policy(problem: Problem, shape: int) -> bool:
    """Return whether a shape is not under ConstrainedBurst."""
    return not problem.shapes[shape].burst_cpus


FAMILY = ModelFamily(
    name=RuleFamilyName.BOUND,
    decide=bound_pool_vars,
    rules=(
        a_burst_pod_has_a_pool_for_its_limit,
        a_burst_pod_uses_the_cells_of_its_pool,
        a_bound_pod_has_a_cpu_on_each_of_its_cells,
        owners_leave_bound_pods_their_cpus,
        requests_of_bound_pods_fit_their_cells,
    ),
    tiers={
        ALIGNMENT: burst_cells_outside_pool_expr,
        LOCALITY_NUMA_NODES: no_policy_burst_cells_outside_pool_expr,
    },
    hint=bound_pool_solver_hints,
    read=read_solved_pool_takes,
    countable=has_no_burst_bind_policy,
    plain=has_no_burst_bind_policy,
    sees_links=never,
    exchangeable=always,
)
