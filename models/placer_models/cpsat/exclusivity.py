"""Rules about cores and NUMA nodes that pods keep to themselves, and the two tiers (C9).

Whole cores are shared with nobody, so only single threads count. Running pods stand in
the classes and cells as `held`; of the pods that wait at most one counted core of a class
is on each of its cores, for a class that two of them could share is one core.
"""

from collections.abc import Callable, Iterator, Sequence

from ortools.sat.python.cp_model import CpModel, LinearExpr

from placer_models.cpsat.assignment import Assignment, Variables
from placer_models.cpsat.expression import Expression
from placer_models.cpsat.guests import Guest
from placer_models.policy import BindPolicy, Strength
from placer_models.problem import Problem

Place = tuple[Strength | None, list[tuple[Assignment, Expression]]]
"""How a core class or a cell is held by running pods, and who could be there."""


def single_threads_are_on_counted_cores(model: CpModel, problem: Problem, x: Variables) -> None:
    """A pod that counts as PCPULevel counts the cores of its single threads."""
    for assignment, guest in _guests(x):
        for c, part, counted in zip(
            problem.nodes[assignment.node].cores, assignment.cores, guest.cores, strict=False
        ):
            if isinstance(counted, int) or counted is part.threads:
                continue
            slack: Expression = 0
            if guest.fell_back is not None:
                slack = min(assignment.shape.owned_cpus, c.cores * c.free) * (1 - guest.fell_back)
            model.add(part.threads <= c.free * counted + slack)


def cpus_are_in_counted_cells(model: CpModel, problem: Problem, x: Variables) -> None:
    """A pod under NUMANodeLevel counts the NUMA nodes of its CPUs."""
    for assignment, guest in _guests(x):
        classes = problem.nodes[assignment.node].cores
        for at, here in enumerate(guest.cells):
            taken = [
                part.whole * c.threads + part.threads
                for part, c in zip(assignment.cores, classes, strict=True)
                if c.cell == at
            ]
            if taken and not isinstance(here, int):
                model.add(LinearExpr.sum(taken) <= assignment.shape.owned_cpus * here)


def who_shares_a_numa_node_falls_back(model: CpModel, problem: Problem, x: Variables) -> None:
    """A pod that only prefers NUMANodeLevel counts as PCPULevel once it is not alone."""
    for index, node in enumerate(problem.nodes):
        for at, (held, guests) in enumerate(_places(problem, x, index, _cells)):
            wishes = [(g, e) for g, e in guests if not g.shape.apart_required]
            if len(wishes) < 2 and held is None:
                continue
            shared: Expression = 1
            if held is None:
                shared = model.new_bool_var(f"shared[{node.name},{at}]")
                together = LinearExpr.sum([here for _, here in wishes])
                model.add(together <= 1 + (len(wishes) - 1) * shared)
            for assignment, here in wishes:
                if assignment.guest is not None and assignment.guest.fell_back is not None:
                    model.add(assignment.guest.fell_back >= here + shared - 1)


def required_cores_are_not_shared(model: CpModel, problem: Problem, x: Variables) -> None:
    """Of two pods that count as PCPULevel on a core none requires to be apart."""
    for index in range(len(problem.nodes)):
        _keep_apart(model, _places(problem, x, index, _cores))


def required_numa_nodes_are_not_shared(model: CpModel, problem: Problem, x: Variables) -> None:
    """Of two pods under NUMANodeLevel on a NUMA node none requires to be apart."""
    for index in range(len(problem.nodes)):
        _keep_apart(model, _places(problem, x, index, _cells))


def spread_threads_are_on_counted_cores(model: CpModel, problem: Problem, x: Variables) -> None:
    """A core that a pod touches is counted; said for the bound's sake."""
    for assignment, guest in _guests(x):
        for part, counted in zip(assignment.cores, guest.cores, strict=False):
            if isinstance(counted, int) or assignment.fit.bind is not BindPolicy.SPREAD_BY_PCPUS:
                continue
            slack: Expression = 0
            if guest.fell_back is not None:
                slack = assignment.shape.owned_cpus * (1 - guest.fell_back)
            model.add(part.touched <= counted + slack)


def a_remainder_is_on_a_core_of_its_own(model: CpModel, problem: Problem, x: Variables) -> None:
    """What fills no whole core is on a core that others may not share; for the bound's sake."""
    for assignment, guest in _guests(x):
        classes = problem.nodes[assignment.node].cores
        widths = {c.threads for c in classes}
        if not guest.cores or guest.fell_back is not None or len(widths) != 1:
            continue
        remainder = assignment.shape.owned_cpus % widths.pop()
        if remainder and assignment.fit.bind is BindPolicy.FULL_PCPUS:
            model.add(
                LinearExpr.sum([part.threads for part in assignment.cores])
                >= remainder * assignment.count
            )
            on = [
                part.threads if isinstance(counted, int) else counted
                for part, counted in zip(assignment.cores, guest.cores, strict=True)
            ]
            model.add(LinearExpr.sum(on) >= assignment.count)


def shared_cores(model: CpModel, problem: Problem, x: Variables) -> Expression:
    """Count pods on cores where another is before them."""
    one_by_one = _beyond_first(model, problem, x, _cores, "shared_core")
    return one_by_one + LinearExpr.sum([shared for node in x.paired for shared in node])


def shared_numa_nodes(model: CpModel, problem: Problem, x: Variables) -> Expression:
    """Count pods on NUMA nodes where another is before them."""
    return _beyond_first(model, problem, x, _cells, "shared_cell")


def _guests(x: Variables) -> Iterator[tuple[Assignment, Guest]]:
    return (
        (assignment, assignment.guest)
        for assignment in x.assignments
        if assignment.guest is not None
    )


def _cores(guest: Guest) -> Sequence[Expression]:
    return guest.cores


def _cells(guest: Guest) -> Sequence[Expression]:
    return guest.cells


def _places(
    problem: Problem, x: Variables, index: int, counted: Callable[[Guest], Sequence[Expression]]
) -> Iterator[Place]:
    """Yield each core class, or each cell, of a node with the assignments that could be there."""
    node = problem.nodes[index]
    here = [(s, counted(s.guest)) for s in x.on_node[index] if s.guest is not None]
    here = [(assignment, places) for assignment, places in here if places]
    holders = [c.held for c in node.cores] if counted is _cores else [c.held for c in node.cells]
    for at, held in enumerate(holders if here else ()):
        guests = [(assignment, places[at]) for assignment, places in here]
        yield (
            held,
            [(assignment, place) for assignment, place in guests if not isinstance(place, int)],
        )


def _keep_apart(model: CpModel, places: Iterator[Place]) -> None:
    for held, guests in places:
        demands = [here for assignment, here in guests if assignment.shape.apart_required]
        wishes = [here for assignment, here in guests if not assignment.shape.apart_required]
        if held is Strength.REQUIRED:
            for here in (*demands, *wishes):
                model.add(here == 0)
        elif held is Strength.PREFERRED:
            for here in demands:
                model.add(here == 0)
        elif demands:
            model.add(LinearExpr.sum(demands) <= 1)
            for here in wishes:
                model.add(here + LinearExpr.sum(demands) <= 1)


def _beyond_first(
    model: CpModel,
    problem: Problem,
    x: Variables,
    counted: Callable[[Guest], Sequence[Expression]],
    name: str,
) -> Expression:
    terms: list[Expression] = []
    for index, node in enumerate(problem.nodes):
        for at, (held, guests) in enumerate(_places(problem, x, index, counted)):
            here = LinearExpr.sum([place for _, place in guests])
            if held is not None:
                terms.append(here)
            elif len(guests) > 1:
                beyond = model.new_int_var(0, len(guests) - 1, f"{name}[{node.name},{at}]")
                first = x.broken[index][at] if counted is _cores else 1
                model.add(beyond >= here - first)
                terms.append(beyond)
    return LinearExpr.sum(terms)
