"""The decisions about containers that are aligned each for itself (C12)."""

from collections.abc import Iterator
from dataclasses import dataclass

from ortools.sat.python.cp_model import CpModel

from placer_models.container_fit import ContainerFit
from placer_models.cpsat.expression import Expression
from placer_models.problem import Fit, NodeState, Shape


@dataclass(frozen=True, slots=True)
class ContainerSeat:
    """One container of the pod of an assignment.

    Attributes:
        used: One literal a cell of the node: the container uses it.
        taken: For each good of its fit, how much from each cell, and last from no cell.

    """

    fit: ContainerFit
    used: tuple[Expression, ...]
    taken: tuple[tuple[Expression, ...], ...]


def container_seats(
    model: CpModel, node: NodeState, shape: Shape, fit: Fit, name: str
) -> tuple[ContainerSeat, ...]:
    """Create the variables of the containers; none where the pod is aligned as a whole."""
    return tuple(
        ContainerSeat(
            fit=container,
            used=tuple(
                0
                if cell.numa_node is None and container.cell_limit is not None
                else model.new_bool_var(f"used{name[:-1]},{position},{i}]")
                for i, cell in enumerate(node.cells)
            ),
            taken=tuple(
                tuple(
                    model.new_int_var(0, min(need, most), f"part{name[:-1]},{position},{good},{i}]")
                    if need and most
                    else 0
                    for i, most in enumerate(row)
                )
                for good, (need, row) in enumerate(
                    zip(container.need, supply(node, shape), strict=True)
                )
            ),
        )
        for position, container in enumerate(fit.containers)
    )


def supply(node: NodeState, shape: Shape) -> Iterator[list[int]]:
    """Yield for each good how much of it is free in each cell, and last in no cell."""
    cpus = [0] * len(node.cells)
    for c in node.cores:
        cpus[c.cell] += c.cores * c.free
    if shape.pool is not None:
        cpus = [cell.pool(shape.pool).milli for cell in node.cells]
    yield [*cpus, 0]
    yield [*(cell.memory for cell in node.cells), 0]
    for size in range(len(shape.pages)):
        yield [*(cell.pages[size] for cell in node.cells), 0]
    for kind, _ in shape.devices:
        devices = [0] * (len(node.cells) + 1)
        bank = node.bank(kind)
        for cell, free in zip(bank.cells, bank.free, strict=True) if bank else ():
            devices[-1 if cell is None else cell] += free
        yield devices
