"""Columns over the nodes: a quick look at which of them could host a shape at all."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from placer.greedy.residual import Residual, free_threads, whole_cores
from placer_models.policy import BindPolicy
from placer_models.problem import Fit, Problem, Shape

_ANY = np.iinfo(np.int64).min

_SAID_OTHERWISE = frozenset({2, 3, 4, 5})
"""Columns of CPUs, which the columns of milli CPUs count already."""


def device_types(problem: Problem) -> tuple[str, ...]:
    """Return every device type that some node has or some shape asks for."""
    had = {bank.type for node in problem.nodes for bank in node.banks}
    asked = {kind for shape in problem.shapes for kind, _ in shape.devices}
    asked |= {need.type for shape in problem.shapes for need in shape.shares}
    return tuple(sorted(had | asked))


def column_count(types: Sequence[str], extended: int) -> int:
    """Return how many numbers a row has; with so many extended resources."""
    return 8 + len(types) + extended


def spare_of(row: Sequence[int], largest: Sequence[int]) -> int:
    """Return how much of a node is free, in 1/1000 of the fleet's largest, added up."""
    return sum(
        1000 * max(0, have) // most
        for position, (have, most) in enumerate(zip(row, largest, strict=True))
        if most > 0 and position not in _SAID_OTHERWISE
    )


def row_of(residual: Residual, types: Iterable[str]) -> tuple[int, ...]:
    """Return what is left on a node, one number a column."""
    classes = list(zip(residual.layout.classes, residual.cores, strict=True))
    devices = {
        bank.type: sum(free)
        for bank, free in zip(residual.layout.banks, residual.devices, strict=True)
    }
    return (
        residual.pool_milli,
        residual.best_effort_milli,
        residual.pool_cpus,
        residual.best_effort_cpus,
        sum(free_threads(facts, left) for facts, left in classes),
        sum(whole_cores(facts, left) * facts.threads for facts, left in classes),
        residual.memory_total,
        *(devices.get(kind, 0) for kind in types),
        _percent_left(residual),
        *residual.extended,
    )


def _percent_left(residual: Residual) -> int:
    """Return what is left of devices that take shares; a free one has 100 percent."""
    return sum(
        100 * sum(free) + sum(left.slot.percent for of in slots for left in of if left.shared)
        for free, slots in zip(residual.devices, residual.slots, strict=True)
        if slots
    )


def _percent_asked(shape: Shape) -> int:
    """Return the percent of devices that the shares of a shape sum to."""
    return sum(need.count * (need.share.percent or 0) for need in shape.shares)


def least_row(shape: Shape, fits: Iterable[Fit | None], types: Iterable[str]) -> NDArray[np.int64]:
    """Return what a node has to have left, at least, to host a pod of the shape.

    Args:
        shape: What the pod asks for.
        fits: What that means on each kind of node; what holds on all is asked of all.
        types: Device types, one a column.

    """
    owned = shape.owned_cpus
    exclusive = owned if shape.exclusive else 0
    pool = 1000 * owned + shape.shared_milli
    best_effort = 1000 * exclusive + shape.best_effort_milli
    only_whole = all(
        fit.bind_required and fit.bind is BindPolicy.FULL_PCPUS for fit in fits if fit is not None
    )
    return np.array(
        [
            pool or _ANY,
            best_effort or _ANY,
            owned + shape.shared,
            exclusive + shape.best_effort,
            owned,
            owned if only_whole else 0,
            shape.memory,
            *(shape.whole_of(kind) for kind in types),
            _percent_asked(shape),
            *shape.extended,
        ],
        dtype=np.int64,
    )
