"""What the model has to know about a pod that keeps apart from others (C9)."""

from collections.abc import Sequence
from dataclasses import dataclass

from ortools.sat.python.cp_model import CpModel, IntVar

from placer_models.cpsat.expression import Expression
from placer_models.policy import ExclusivePolicy
from placer_models.problem import CoreClass, NodeState, Problem, Shape
from placer_models.telling import Telling


@dataclass(frozen=True, slots=True)
class Guest:
    """Where the pod of an assignment could meet pods that it keeps apart from.

    Attributes:
        cores: For each core class, on how many of its cores the pod has single threads
            and counts as PCPULevel; 0 where it meets nobody. Empty: it never counts.
        pairs: For each core class of two free threads, on how many of its cores the pod
            has one and counts as PCPULevel; 0 of other classes. Empty as `cores`.
        cells: For each cell, whether the pod has CPUs there. Empty where the policy is
            not NUMANodeLevel; 0 for the place of CPUs without a NUMA node.
        fell_back: The pod counts as PCPULevel because it shares a NUMA node; None where
            it cannot.

    """

    cores: tuple[Expression, ...]
    pairs: tuple[Expression, ...]
    cells: tuple[Expression, ...]
    fell_back: IntVar | None


def guest_of(
    model: CpModel,
    problem: Problem,
    node: NodeState,
    shape: Shape,
    threads: Sequence[Expression],
    name: str,
) -> Guest | None:
    """Create the variables of an assignment; None where its pod keeps apart from nobody."""
    if shape.apart is ExclusivePolicy.NONE:
        return None
    by_cell = shape.apart is ExclusivePolicy.NUMA_NODE_LEVEL
    fell_back = None
    if by_cell and not shape.apart_required:
        fell_back = model.new_bool_var(f"fell_back{name}")
    cores: tuple[Expression, ...] = ()
    pairs: tuple[Expression, ...] = ()
    if shape.keeps_cores:
        pairs = tuple(
            model.new_int_var(0, min(c.cores, shape.owned_cpus), f"single{name[:-1]},{i}]")
            if counts_pairs(problem, c) and not isinstance(taken, int)
            else 0
            for i, (c, taken) in enumerate(zip(node.cores, threads, strict=True))
        )
        cores = tuple(
            _cores(model, problem, c, taken, fell_back, f"on{name[:-1]},{i}]")
            for i, (c, taken) in enumerate(zip(node.cores, threads, strict=True))
        )
    cells: tuple[Expression, ...] = ()
    if by_cell:
        cells = tuple(
            0 if cell.numa_node is None else model.new_bool_var(f"in{name[:-1]},{i}]")
            for i, cell in enumerate(node.cells)
        )
    return Guest(cores, pairs, cells, fell_back)


def counts_pairs(problem: Problem, c: CoreClass) -> bool:
    """Return whether several pods that mind may be on cores of two threads of the class."""
    return problem.telling is Telling.PAIRS and c.paired


def paired_cores(
    model: CpModel, problem: Problem, node: NodeState, guests: Sequence[Guest | None]
) -> tuple[Expression, ...]:
    """Create a count of cores that two pods share against a wish, for each core class."""
    minding = sum(guest is not None and bool(guest.pairs) for guest in guests)
    return tuple(
        model.new_int_var(0, c.cores, f"paired[{node.name},{i}]")
        if minding > 1 and counts_pairs(problem, c)
        else 0
        for i, c in enumerate(node.cores)
    )


def _cores(
    model: CpModel,
    problem: Problem,
    c: CoreClass,
    threads: Expression,
    fell_back: IntVar | None,
    name: str,
) -> Expression:
    several = problem.telling >= Telling.PAIRS and not counts_pairs(problem, c)
    meets = c.held is not None or (several and c.free > 1)
    if not meets or isinstance(threads, int):
        return 0
    if c.free == 1 and fell_back is None:
        return threads  # each on a core of its own
    return model.new_int_var(0, c.cores, name)
