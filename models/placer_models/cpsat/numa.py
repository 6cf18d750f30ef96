"""NUMA nodes: which of them a pod uses, and its memory and hugepages there (C12)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ortools.sat.python.cp_model import CpModel, LinearExpr

from placer_models.cpsat.assignment import Assignment, Variables
from placer_models.cpsat.cpus import cores_of
from placer_models.cpsat.devices import touched
from placer_models.cpsat.expression import Expression
from placer_models.cpsat.family import (
    Family,
    Hint,
    KnownPlaces,
    Value,
    always,
    fits_of,
    hints,
    never,
)
from placer_models.cpsat.shares import reach_of
from placer_models.goals import ALIGNMENT
from placer_models.node_state import NodeState
from placer_models.policy import AlignmentPolicy
from placer_models.problem import Choice, Problem
from placer_models.rule_family import RuleFamily
from placer_models.shares import follows_strategy


@dataclass(frozen=True, slots=True)
class CellGoods:
    """The cells that the pods of an assignment use, and what they have there.

    Attributes:
        used: One literal a cell of the node: the pod uses it; empty where nothing
            asks. There is one pod at most then.
        memory: Units from each cell; empty: it may come from anywhere.
        pages: For each page size, hugepages from each cell; empty as memory is.

    """

    used: tuple[Expression, ...]
    memory: tuple[Expression, ...]
    pages: tuple[tuple[Expression, ...], ...]


def goods_of(assignment: Assignment) -> CellGoods:
    """Return the cells that the pods use, and what they have there."""
    goods = assignment.part(CellGoods)
    assert goods is not None, "every assignment has them"
    return goods


def cell_goods(model: CpModel, problem: Problem, assignment: Assignment) -> CellGoods:
    """Create the variables of an assignment."""
    cells, name = problem.nodes[assignment.node].cells, assignment.name
    used = _used(model, problem.nodes[assignment.node], assignment)
    return CellGoods(
        used=used,
        memory=_pinned(
            model,
            [cell.memory for cell in cells],
            assignment.shape.memory,
            assignment,
            used,
            f"memory[{name}",
        ),
        pages=tuple(
            _pinned(
                model, [c.pages[size] for c in cells], need, assignment, used, f"pages{size}[{name}"
            )
            for size, need in enumerate(assignment.shape.pages)
        ),
    )


def _used(model: CpModel, node: NodeState, assignment: Assignment) -> tuple[Expression, ...]:
    """Return a literal per cell where something asks which cells the pod uses."""
    fit, shape = assignment.fit, assignment.shape
    if not fit.by_cell:
        return ()
    if not (fit.uses_cells(shape) or shape.devices or shape.shares):
        return ()
    if len(node.cells) == 1 and fit.uses_cells(shape):
        return (assignment.count,)
    return tuple(
        0
        if cell.numa_node is None and fit.cell_limit is not None
        else model.new_bool_var(f"used[{assignment.name},{i}]")
        for i, cell in enumerate(node.cells)
    )


def _pinned(
    model: CpModel,
    held: Sequence[int],
    need: int,
    assignment: Assignment,
    used: Sequence[Expression],
    name: str,
) -> tuple[Expression, ...]:
    """Return what the pod takes from each cell of a divisible good; empty: from anywhere.

    It is said where a policy asks which cells the pod, or a container of it, uses.

    Args:
        model: Gets the variables.
        held: What each cell has.
        need: What the pod asks for.
        assignment: Of the pod.
        used: A literal a cell; none where no policy asks.
        name: Begins the names of the variables.

    """
    if not need or not (used or assignment.fit.containers):
        return ()
    if used and (len(held) == 1 or assignment.fit.cell_limit == 1):
        return tuple(need * literal for literal in used)
    return tuple(
        model.new_int_var(0, min(amount, need), f"{name},{i}]") for i, amount in enumerate(held)
    )


def memory_fits(model: CpModel, problem: Problem, x: Variables) -> None:
    """Pinned parts take at most the memory of their cell.

    Pods without a policy take what is left anywhere, so this and the sums of nodes are enough.
    """
    for node, assignments in zip(problem.nodes, x.on_node, strict=True):
        if len(node.cells) == 1:
            continue
        for index, cell in enumerate(node.cells):
            pinned = [memory[index] for one in assignments if (memory := goods_of(one).memory)]
            if pinned:
                model.add(LinearExpr.sum(pinned) <= cell.memory)


def a_pod_has_the_memory_it_asks_for(model: CpModel, problem: Problem, x: Variables) -> None:
    """The parts in the cells sum to the request."""
    for assignment in x.assignments:
        memory = goods_of(assignment).memory
        if memory:
            model.add(LinearExpr.sum(list(memory)) == assignment.shape.memory * assignment.count)


def a_pod_uses_the_cells_it_takes_from(model: CpModel, problem: Problem, x: Variables) -> None:
    """CPUs, memory and devices come from cells that the pod counts as used."""
    for assignment in x.assignments:
        own = goods_of(assignment)
        if not own.used or own.used[0] is assignment.count:
            continue
        node = problem.nodes[assignment.node]
        for literal in own.used:
            model.add(literal <= assignment.count)
        cores = cores_of(assignment)
        for part, c in zip(cores, node.cores if cores else (), strict=True):
            most = min(assignment.shape.owned_cpus, c.cores * c.free)
            model.add(part.cpus(c) <= most * own.used[c.cell])
        for index, memory in enumerate(own.memory):
            if assignment.fit.cell_limit != 1:
                most = min(node.cells[index].memory, assignment.shape.memory)
                model.add(memory <= most * own.used[index])
        for index, bank in enumerate(node.banks):
            size = assignment.shape.count_of(bank.type)
            reach = reach_of(bank, assignment.shape)
            if follows_strategy(assignment.shape.shares, bank.type):
                size = sum(reach)
            for twin, cell in enumerate(bank.cells):
                if size and cell is not None:
                    count = touched(assignment, index, twin)
                    model.add(count <= min(reach[twin], size) * own.used[cell])


def hugepages_fit(model: CpModel, problem: Problem, x: Variables) -> None:
    """Pinned pages are at most those of their cell."""
    for size in range(len(problem.page_sizes)):
        for node, assignments in zip(problem.nodes, x.on_node, strict=True):
            takers = [assignment for assignment in assignments if assignment.shape.pages[size]]
            if not takers:
                continue
            for index, cell in enumerate(node.cells):
                pinned = [pages[index] for one in takers if (pages := goods_of(one).pages[size])]
                if pinned:
                    model.add(LinearExpr.sum(pinned) <= cell.pages[size])


def a_pod_has_the_hugepages_it_asks_for(model: CpModel, problem: Problem, x: Variables) -> None:
    """The parts in the cells sum to the request, size by size."""
    for assignment in x.assignments:
        for pages, need in zip(goods_of(assignment).pages, assignment.shape.pages, strict=True):
            if pages:
                model.add(LinearExpr.sum(list(pages)) == need * assignment.count)


def a_pod_uses_the_cells_of_its_hugepages(model: CpModel, problem: Problem, x: Variables) -> None:
    """Hugepages come from cells that the pod counts as used."""
    for assignment in x.assignments:
        own = goods_of(assignment)
        if not own.used or own.used[0] is assignment.count or assignment.fit.cell_limit == 1:
            continue
        cells = problem.nodes[assignment.node].cells
        for size, (pages, need) in enumerate(zip(own.pages, assignment.shape.pages, strict=True)):
            for part, cell, used in zip(pages, cells, own.used, strict=False):
                model.add(part <= min(cell.pages[size], need) * used)


def a_pod_keeps_to_its_cells(model: CpModel, problem: Problem, x: Variables) -> None:
    """SingleNUMANode and Restricted use no more NUMA nodes than their limit."""
    for assignment in x.assignments:
        used = goods_of(assignment).used
        if used and assignment.fit.cell_limit is not None:
            model.add(LinearExpr.sum(list(used)) <= assignment.fit.cell_limit * assignment.count)


def best_effort_needs_its_fewest_cells(model: CpModel, problem: Problem, x: Variables) -> None:
    """Fewer cells than the empty node needs are never enough; said for the bound's sake."""
    for assignment in x.assignments:
        used = goods_of(assignment).used
        if used and assignment.fit.alignment is AlignmentPolicy.BEST_EFFORT:
            model.add(LinearExpr.sum(list(used)) >= assignment.fit.fewest_cells * assignment.count)


def cells_beyond(model: CpModel, problem: Problem, x: Variables) -> Expression:
    """Count cells beyond the fewest of pods under BestEffort (tier ``alignment``)."""
    return LinearExpr.sum(
        [
            LinearExpr.sum(list(used)) - assignment.fit.fewest_cells * assignment.count
            for assignment in x.assignments
            if (used := goods_of(assignment).used)
            and assignment.fit.alignment is AlignmentPolicy.BEST_EFFORT
        ]
    )


def cells_of(problem: Problem, choice: Choice) -> Iterator[int]:
    """Yield the cells that the CPUs, the memory and the devices of a choice are in."""
    node = problem.nodes[choice.node]
    yield from choice.pool_cells
    for core, take in zip(node.cores, choice.cores, strict=True):
        if take.whole or take.threads:
            yield core.cell
    for i, amount in enumerate(choice.memory or ()):
        if amount:
            yield i
    for pages in choice.pages:
        yield from (i for i, count in enumerate(pages) if count)
    for index, bank in enumerate(node.banks):
        for cell, count in zip(bank.cells, choice.touched(index), strict=True):
            if count and cell is not None:
                yield cell


def cell_hints(problem: Problem, x: Variables, known: KnownPlaces) -> Iterator[Hint]:
    """Yield the cells that pods use, and what they take of each."""
    for assignment, choices in known.at:
        own = goods_of(assignment)
        memory = [choice.memory for choice in choices if choice.memory is not None]
        yield from hints(own.memory, [sum(of[i] for of in memory) for i in range(len(own.memory))])
        for size, pages in enumerate(own.pages):
            counts = [sum(c.pages[size][i] for c in choices) for i in range(len(pages))]
            yield from hints(pages, counts)
        if own.used and own.used[0] is not assignment.count:
            cells = {cell for choice in choices for cell in cells_of(problem, choice)}
            yield from hints(own.used, [int(i in cells) for i in range(len(own.used))])


def read_cells(
    problem: Problem, assignment: Assignment, places: Sequence[Choice], value: Value
) -> Sequence[Choice]:
    """Read memory and hugepages; pods that are counted together take them from anywhere."""
    own = goods_of(assignment)
    if len(places) > 1:
        return places
    (place,) = places
    if own.memory:
        place = replace(place, memory=tuple(map(value, own.memory)))
    if any(own.pages):
        none = (0,) * len(problem.nodes[assignment.node].cells)
        pages = tuple(tuple(map(value, of_size)) or none for of_size in own.pages)
        place = replace(place, pages=pages)
    return [place]


def has_one_cell(problem: Problem, thing: int) -> bool:
    """Return whether no policy has to choose cells for pods of a shape, one by one."""
    return not any(
        fit.alignment is not AlignmentPolicy.NONE
        and (len(node.cells) > 1 or not fit.uses_cells(problem.shapes[thing]))
        for node in problem.nodes
        if (fit := problem.fits[thing][node.kind]) is not None
    )


def takes_memory_from_anywhere(problem: Problem, thing: int) -> bool:
    """Return whether a shape has no policy and asks for no hugepages."""
    policies = {fit.alignment for fit in fits_of(problem, thing)}
    return policies <= {AlignmentPolicy.NONE} and not any(problem.shapes[thing].pages)


FAMILY = Family(
    name=RuleFamily.NUMA,
    decide=cell_goods,
    rules=(
        memory_fits,
        a_pod_has_the_memory_it_asks_for,
        a_pod_uses_the_cells_it_takes_from,
        hugepages_fit,
        a_pod_has_the_hugepages_it_asks_for,
        a_pod_uses_the_cells_of_its_hugepages,
        a_pod_keeps_to_its_cells,
    ),
    cuts=(best_effort_needs_its_fewest_cells,),
    tiers={ALIGNMENT: cells_beyond},
    hint=cell_hints,
    read=read_cells,
    countable=has_one_cell,
    plain=takes_memory_from_anywhere,
    sees_links=never,
    exchangeable=always,
)
