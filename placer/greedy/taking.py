"""The state that a node is left in once a place on it is taken."""

from dataclasses import replace
from operator import add

from placer.greedy.bound import cells_after_owning_cpus, pool_bindings_after
from placer.greedy.cores import NO_CORES, core_class_after
from placer.greedy.exclusivity import with_exclusive_hold_on_cells, with_exclusive_hold_on_cores
from placer.greedy.in_node_affinity import (
    cells_with_guest,
    core_class_with_guest,
    pod_as_affinity_guest,
)
from placer.greedy.mig import banks_after_mig_instances
from placer.greedy.shares import banks_after_shares
from placer_models.problem.dimensions import Amounts, amounts_left, enough_is_left
from placer_models.problem.node_state import Cell, CoreClass, Guest, NodeState
from placer_models.problem.problem import Choice, CoreTake, Fit, Shape

InCells = tuple[Amounts, ...]
"""For each of several dimensions, the amount in each cell."""


def node_totals_allow(node: NodeState, shape: Shape) -> bool:
    """Return whether what the node has as a whole is enough for the shape."""
    owned = shape.owned_cpus
    exclusive = owned if shape.exclusive else 0
    pool_left = node.pool_cpus - owned
    best_effort_left = node.best_effort_cpus - exclusive
    return (
        enough_is_left(shape.amounts_on(node), node.amounts)
        # A pod that takes no CPU from a pool cannot empty it; it may be empty already.
        and pool_left >= (shape.shared or (owned > 0 and node.has_shared))
        and best_effort_left >= (shape.best_effort or (exclusive > 0 and node.has_best_effort))
    )


def node_state_after(node: NodeState, shape: Shape, fit: Fit, choice: Choice) -> NodeState:
    """Return what is left once a pod of the shape has the place, with the load unchanged."""
    exclusive_cpus = shape.owned_cpus if shape.exclusive else 0
    banks = node.banks
    if any(map(any, choice.devices)):
        banks = banks_after_mig_instances(banks, choice.devices)
    if choice.shares:
        banks = banks_after_shares(banks, shape, choice.shares)
    guest = pod_as_affinity_guest(node, shape)
    cells = _pinned(node.cells, choice)
    cells = with_exclusive_hold_on_cells(node, cells, fit, choice)
    cells = cells_after_owning_cpus(node, cells, shape, choice)
    cells = cells_with_guest(node, cells, shape, choice, guest)
    return replace(
        node,
        cells=cells,
        cores=_cores_left(node, shape, fit, choice, guest) if shape.owned_cpus else node.cores,
        banks=banks,
        amounts=amounts_left(node.amounts, shape.amounts_on(node)),
        pool_cpus=node.pool_cpus - shape.owned_cpus,
        best_effort_cpus=node.best_effort_cpus - exclusive_cpus,
        has_shared=node.has_shared or shape.shared,
        has_best_effort=node.has_best_effort or shape.best_effort,
        offered=False,
        bound=pool_bindings_after(node, shape, choice),
        near=_added(node.near, choice.near),
    )


def _pinned(cells: tuple[Cell, ...], choice: Choice) -> tuple[Cell, ...]:
    """Return the cells without the amounts that a place takes of each."""
    if not any(map(any, choice.pinned)):
        return cells
    return tuple(
        cell._replace(amounts=amounts_left(cell.amounts, taken))
        for cell, taken in zip(cells, zip(*choice.pinned, strict=True), strict=True)
    )


def _cores_left(
    node: NodeState, shape: Shape, fit: Fit, choice: Choice, guest: Guest | None
) -> tuple[CoreClass, ...]:
    def left(c: CoreClass, take: CoreTake) -> CoreClass:
        return core_class_with_guest(
            with_exclusive_hold_on_cores(core_class_after(c, take), fit, take), shape, guest
        )

    return tuple(
        c if take is NO_CORES else left(c, take)
        for c, take in zip(node.cores, choice.cores, strict=True)
    )


def _added(a: InCells, b: InCells) -> InCells:
    """Return the sums of two tables of which either may be empty."""
    if not a or not b:
        return a or b
    return tuple(tuple(map(add, x, y)) for x, y in zip(a, b, strict=True))
