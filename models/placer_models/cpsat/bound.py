"""Rules about LS and BE pods that are bound to the pool of some NUMA nodes (C8, C12)."""

from collections.abc import Iterator

from ortools.sat.python.cp_model import CpModel, LinearExpr

from placer_models.cpsat.assignment import Assignment, Variables
from placer_models.cpsat.expression import Expression
from placer_models.cpsat.pool_seats import PoolSeat
from placer_models.policy import BINDING, QosClass
from placer_models.problem import NodeState, Problem

POOLS = (QosClass.LS, QosClass.BE)


def a_burst_pod_has_a_pool_for_its_limit(model: CpModel, problem: Problem, x: Variables) -> None:
    """What new owners leave of the pools of its cells holds the pod's limit."""
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


def a_bound_pod_has_a_cpu_on_each_of_its_cells(
    model: CpModel, problem: Problem, x: Variables
) -> None:
    """New owners leave every cell that a new pod is bound to a CPU of the pod's pool."""
    for node, assignments in zip(problem.nodes, x.on_node, strict=True):
        for qos in POOLS:
            for assignment, pool in _bound(assignments, qos):
                for cell, used in enumerate(pool.used):
                    for container in assignment.containers:
                        if container.fit.alignment in BINDING:
                            model.add(container.used[cell] <= used)
                    if not isinstance(used, int):
                        left = node.cells[cell].pool(qos).cpus - _owned(
                            node, assignments, cell, qos
                        )
                        model.add(used <= left)


def owners_leave_bound_pods_their_cpus(model: CpModel, problem: Problem, x: Variables) -> None:
    """New owners take what running bound pods do not need: a CPU on each cell, or a limit."""
    for node, assignments in zip(problem.nodes, x.on_node, strict=True):
        for bound in node.bound:
            owned = [_owned(node, assignments, cell, bound.qos) for cell in bound.cells]
            pools = [node.cells[cell].pool(bound.qos).cpus for cell in bound.cells]
            model.add(LinearExpr.sum(owned) <= sum(pools) - bound.cpus)
            for here, pool in zip(owned, pools, strict=True):
                model.add(here <= pool - 1)


def requests_of_bound_pods_fit_their_cells(model: CpModel, problem: Problem, x: Variables) -> None:
    """Each request is shared out over the pod's cells, which have the CPUs for them all.

    Where running pods do not fit by themselves, nobody new may take CPUs.
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
    takers += [
        assignment for assignment in assignments if assignment.cores and _shrinks(assignment, qos)
    ]
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
            owned = 1000 * _owned(node, assignments, cell, qos)
            model.add(LinearExpr.sum(amounts) + owned <= node.cells[cell].pool(qos).milli)


def _bound(
    assignments: tuple[Assignment, ...], qos: QosClass
) -> Iterator[tuple[Assignment, PoolSeat]]:
    """Yield the assignments of pods that are bound to a part of the pool."""
    for assignment in assignments:
        if assignment.pool is not None and assignment.shape.pool is qos:
            yield assignment, assignment.pool


def _shrinks(assignment: Assignment, qos: QosClass) -> bool:
    return qos is QosClass.LS or assignment.shape.exclusive


def _owned(
    node: NodeState, assignments: tuple[Assignment, ...], cell: int, qos: QosClass
) -> Expression:
    """Return the CPUs of a cell that new pods own and the pool loses."""
    return LinearExpr.sum(
        [
            part.whole * c.threads + part.threads
            for assignment in assignments
            if assignment.cores and _shrinks(assignment, qos)
            for part, c in zip(assignment.cores, node.cores, strict=True)
            if c.cell == cell
        ]
    )
