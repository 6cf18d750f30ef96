"""Exclusivity: cores and NUMA nodes that pods keep to themselves, and its two tiers (C9).

Whole cores are shared with nobody, so only single threads count. Running pods show in
the classes and cells as `held`. Of the pods that wait, two can meet only in a class that is
a single core; in any other class each core is counted by one of them at most.
Sharing cores of two threads is modelled by counts, in `core_pairs`.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from ortools.sat.python.cp_model import CpModel, IntVar, LinearExpr

from placer_models.cpsat.assignment import Assignment, Expression, PlacementVariables
from placer_models.cpsat.cpus import NodeSplitCoreVariables, existing_core_take_vars
from placer_models.cpsat.family import (
    Hint,
    KnownPlacement,
    ModelFamily,
    always,
    fits_of_shape,
    never,
    solver_hints_for_plain_variables,
)
from placer_models.goals import SHARED_CORES, SHARED_NUMA_NODES
from placer_models.policy import BindPolicy, ExclusivePolicy, RequiredOrPreferred
from placer_models.problem.node_state import CoreClass, CoreClassGranularity, NodeState
from placer_models.problem.problem import Choice, CoreTake, Problem, cells_of_cpus
from placer_models.rule_family import RuleFamilyName

_Place = tuple[RequiredOrPreferred | None, list[tuple[Assignment, Expression]]]
"""How running pods hold a core class or a cell, and the assignments that could be there."""


@dataclass(frozen=True, slots=True)
class AssignmentExclusivityVariables:
    """Where an assignment's pod could meet pods that it keeps apart from.

    Attributes:
        cores: For each core class, on how many of its cores the pod has single threads
            and counts as PCPULevel; 0 where it meets nobody. Empty if it never counts.
        cells: For each cell, whether the pod has CPUs there. Empty if the policy is
            not NUMANodeLevel; 0 for the cell of CPUs without a NUMA node.
        fell_back: Whether the pod counts as PCPULevel because it shares a NUMA node; None
            if that cannot happen.

    """

    cores: tuple[Expression, ...]
    cells: tuple[Expression, ...]
    fell_back: IntVar | None


def exclusivity_vars(
    model: CpModel, problem: Problem, assignment: Assignment
) -> AssignmentExclusivityVariables | None:
    """Create the variables of an assignment, or return None if its pod keeps apart from nobody."""
    node, fit, name = problem.nodes[assignment.node], assignment.fit, assignment.name
    if fit.apart is ExclusivePolicy.NONE:
        return None
    threads = [part.threads for part in existing_core_take_vars(assignment)]
    by_cell = fit.apart is ExclusivePolicy.NUMA_NODE_LEVEL
    fell_back = None
    if by_cell and not fit.apart_required:
        fell_back = model.new_bool_var(f"fell_back[{name}]")
    cores: tuple[Expression, ...] = ()
    if fit.keeps_cores:
        cores = tuple(
            _counted_cores(model, problem, c, taken, fell_back, f"on[{name},{i}]")
            for i, (c, taken) in enumerate(zip(node.cores, threads, strict=True))
        )
    cells: tuple[Expression, ...] = ()
    if by_cell:
        cells = tuple(
            0 if cell.numa_node is None else model.new_bool_var(f"in[{name},{i}]")
            for i, cell in enumerate(node.cells)
        )
    return AssignmentExclusivityVariables(cores, cells, fell_back)


def core_class_may_be_shared(problem: Problem, c: CoreClass) -> bool:
    """Return whether the class has two-thread cores on which several pods that mind may be."""
    return problem.granularity is CoreClassGranularity.PAIRS and c.paired


def _counted_cores(
    model: CpModel,
    problem: Problem,
    c: CoreClass,
    threads: Expression,
    fell_back: IntVar | None,
    name: str,
) -> Expression:
    several = problem.granularity >= CoreClassGranularity.PAIRS and not core_class_may_be_shared(
        problem, c
    )
    meets = c.held is not None or (several and c.free > 1)
    if not meets or isinstance(threads, int):
        return 0
    if c.free == 1 and fell_back is None:
        return threads  # each on a core of its own
    return model.new_int_var(0, c.cores, name)


def single_threads_are_on_counted_cores(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> None:
    """For a pod that counts as PCPULevel, the cores of its single threads are counted."""
    for assignment, guest in x.assignments_with(AssignmentExclusivityVariables):
        for c, part, counted in zip(
            problem.nodes[assignment.node].cores,
            existing_core_take_vars(assignment),
            guest.cores,
            strict=False,
        ):
            if isinstance(counted, int) or counted is part.threads:
                continue
            slack: Expression = 0
            if guest.fell_back is not None:
                slack = min(assignment.shape.owned_cpus, c.cores * c.free) * (1 - guest.fell_back)
            model.add(part.threads <= c.free * counted + slack)


def cpus_are_in_counted_cells(model: CpModel, problem: Problem, x: PlacementVariables) -> None:
    """For a pod under NUMANodeLevel, the NUMA nodes of its CPUs are counted."""
    for assignment, guest in x.assignments_with(AssignmentExclusivityVariables):
        classes = problem.nodes[assignment.node].cores
        for at, here in enumerate(guest.cells):
            taken = [
                part.cpus(c)
                for part, c in zip(existing_core_take_vars(assignment), classes, strict=True)
                if c.cell == at
            ]
            if taken and not isinstance(here, int):
                model.add(LinearExpr.sum(taken) <= assignment.shape.owned_cpus * here)


def who_shares_a_numa_node_falls_back(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> None:
    """A pod that only prefers NUMANodeLevel counts as PCPULevel once it is not alone."""
    for index, node in enumerate(problem.nodes):
        for at, (held, guests) in enumerate(_places(problem, x, index, by_core=False)):
            wishes = [(g, e) for g, e in guests if not g.fit.apart_required]
            if len(wishes) < 2 and held is None:
                continue
            shared: Expression = 1
            if held is None:
                shared = model.new_bool_var(f"shared[{node.name},{at}]")
                together = LinearExpr.sum([here for _, here in wishes])
                model.add(together <= 1 + (len(wishes) - 1) * shared)
            for assignment, here in wishes:
                guest = assignment.part(AssignmentExclusivityVariables)
                if guest is not None and guest.fell_back is not None:
                    model.add(guest.fell_back >= here + shared - 1)


def required_core_exclusivity_is_kept(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> None:
    """Of two pods that count as PCPULevel on one core, neither requires to be apart."""
    for index in range(len(problem.nodes)):
        _keep_apart(model, _places(problem, x, index, by_core=True))


def required_numa_exclusivity_is_kept(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> None:
    """Of two pods under NUMANodeLevel on one NUMA node, neither requires to be apart."""
    for index in range(len(problem.nodes)):
        _keep_apart(model, _places(problem, x, index, by_core=False))


def spread_threads_are_on_counted_cores(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> None:
    """Every core that a pod's threads touch is counted; this only helps the bound."""
    for assignment, guest in x.assignments_with(AssignmentExclusivityVariables):
        for part, counted in zip(existing_core_take_vars(assignment), guest.cores, strict=False):
            if isinstance(counted, int) or assignment.fit.bind is not BindPolicy.SPREAD_BY_PCPUS:
                continue
            slack: Expression = 0
            if guest.fell_back is not None:
                slack = assignment.shape.owned_cpus * (1 - guest.fell_back)
            model.add(part.touched <= counted + slack)


def a_remainder_is_on_a_core_of_its_own(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> None:
    """CPUs that fill no whole core are on one that others may not share; for the bound only."""
    for assignment, guest in x.assignments_with(AssignmentExclusivityVariables):
        classes = problem.nodes[assignment.node].cores
        widths = {c.threads for c in classes}
        if not guest.cores or guest.fell_back is not None or len(widths) != 1:
            continue
        remainder = assignment.shape.owned_cpus % widths.pop()
        if remainder and assignment.fit.bind is BindPolicy.FULL_PCPUS:
            model.add(
                LinearExpr.sum([part.threads for part in existing_core_take_vars(assignment)])
                >= remainder * assignment.count
            )
            on = [
                part.threads if isinstance(counted, int) else counted
                for part, counted in zip(
                    existing_core_take_vars(assignment), guest.cores, strict=True
                )
            ]
            model.add(LinearExpr.sum(on) >= assignment.count)


def pod_count_sharing_cores_expr(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> Expression:
    """Count the pods on each core beyond the first; pods that run there come first."""
    return _beyond_first(model, problem, x, "shared_core", by_core=True)


def pod_count_sharing_numa_nodes_expr(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> Expression:
    """Count the pods on each NUMA node beyond the first; pods that run there come first."""
    return _beyond_first(model, problem, x, "shared_cell", by_core=False)


def _places(
    problem: Problem, x: PlacementVariables, index: int, *, by_core: bool
) -> Iterator[_Place]:
    """Yield each core class, or each cell, of a node with the assignments that could be there."""
    node = problem.nodes[index]
    here = [
        (assignment, places)
        for assignment in x.on_node[index]
        if (guest := assignment.part(AssignmentExclusivityVariables))
        and (places := guest.cores if by_core else guest.cells)
    ]
    holders = [c.held for c in node.cores] if by_core else [c.held for c in node.cells]
    for at, held in enumerate(holders if here else ()):
        guests = [(assignment, places[at]) for assignment, places in here]
        yield (
            held,
            [(assignment, place) for assignment, place in guests if not isinstance(place, int)],
        )


def _keep_apart(model: CpModel, places: Iterator[_Place]) -> None:
    for held, guests in places:
        demands = [here for assignment, here in guests if assignment.fit.apart_required]
        wishes = [here for assignment, here in guests if not assignment.fit.apart_required]
        if held is RequiredOrPreferred.REQUIRED:
            for here in (*demands, *wishes):
                model.add(here == 0)
        elif held is RequiredOrPreferred.PREFERRED:
            for here in demands:
                model.add(here == 0)
        elif demands:
            model.add(LinearExpr.sum(demands) <= 1)
            for here in wishes:
                model.add(here + LinearExpr.sum(demands) <= 1)


def _beyond_first(
    model: CpModel, problem: Problem, x: PlacementVariables, name: str, *, by_core: bool
) -> Expression:
    terms: list[Expression] = []
    for index, node in enumerate(problem.nodes):
        for at, (held, guests) in enumerate(_places(problem, x, index, by_core=by_core)):
            here = LinearExpr.sum([place for _, place in guests])
            if held is not None:
                terms.append(here)
            elif len(guests) > 1:
                beyond = model.new_int_var(0, len(guests) - 1, f"{name}[{node.name},{at}]")
                first = x.part(NodeSplitCoreVariables).of_node[index][at] if by_core else 1
                model.add(beyond >= here - first)
                terms.append(beyond)
    return LinearExpr.sum(terms)


@dataclass(frozen=True, slots=True)
class ExclusivitySolverHint:
    """What an assignment's pod meets in a known placement.

    Attributes:
        guest: The pod's variables.
        choice: Its place; None if it is not there, or does not count as PCPULevel.
        cells: The cells of the NUMA nodes that its CPUs are on, where that is counted.
        fell: Whether it shares one of them.

    """

    assignment: Assignment
    guest: AssignmentExclusivityVariables
    choice: Choice | None
    cells: frozenset[int]
    fell: bool


def exclusivity_of_known_placement(
    problem: Problem, known: KnownPlacement
) -> Iterator[ExclusivitySolverHint]:
    """Yield what each pod that keeps apart meets; it is the only one in its assignment."""
    on_node: defaultdict[
        int, list[tuple[Assignment, AssignmentExclusivityVariables, Choice | None]]
    ]
    on_node = defaultdict(list)
    for assignment, choices in known.at:
        guest = assignment.part(AssignmentExclusivityVariables)
        if guest is not None:
            there = choices[0] if choices else None
            on_node[assignment.node].append((assignment, guest, there))
    for index, here in on_node.items():
        node = problem.nodes[index]
        cells = [_cells_in(node, guest, choice) for _, guest, choice in here]
        guests = Counter(cell for used in cells for cell in used)
        for (assignment, guest, choice), used in zip(here, cells, strict=True):
            fell = any(guests[c] > 1 or node.cells[c].held is not None for c in used)
            counts = choice if guest.fell_back is None or fell else None
            yield ExclusivitySolverHint(assignment, guest, counts, used, fell)


def exclusivity_solver_hints(
    problem: Problem, x: PlacementVariables, known: KnownPlacement
) -> Iterator[Hint]:
    """Yield hints for what the pods that keep apart meet."""
    for met in exclusivity_of_known_placement(problem, known):
        guest = met.guest
        if guest.fell_back is not None:
            yield guest.fell_back.index, int(met.fell)
        yield from solver_hints_for_plain_variables(
            guest.cells, [int(cell in met.cells) for cell in range(len(guest.cells))]
        )
        for i, counted in enumerate(guest.cores):
            take = met.choice.cores[i] if met.choice else CoreTake()
            yield from solver_hints_for_plain_variables(
                [counted], [take.touched if take.threads else 0]
            )


def _cells_in(
    node: NodeState, guest: AssignmentExclusivityVariables, choice: Choice | None
) -> frozenset[int]:
    """Return the cells of the NUMA nodes that the pod's CPUs are on, where that is counted."""
    if choice is None or not guest.cells:
        return frozenset()
    return frozenset(cells_of_cpus(node, choice.cores))


def has_no_exclusive_policy(problem: Problem, shape: int) -> bool:
    """Return whether a shape has no exclusive policy on any node."""
    return all(fit.apart is ExclusivePolicy.NONE for fit in fits_of_shape(problem, shape))


FAMILY = ModelFamily(
    name=RuleFamilyName.EXCLUSIVITY,
    decide=exclusivity_vars,
    rules=(
        single_threads_are_on_counted_cores,
        cpus_are_in_counted_cells,
        who_shares_a_numa_node_falls_back,
        required_core_exclusivity_is_kept,
        required_numa_exclusivity_is_kept,
    ),
    cuts=(spread_threads_are_on_counted_cores, a_remainder_is_on_a_core_of_its_own),
    tiers={
        SHARED_CORES: pod_count_sharing_cores_expr,
        SHARED_NUMA_NODES: pod_count_sharing_numa_nodes_expr,
    },
    hint=exclusivity_solver_hints,
    countable=has_no_exclusive_policy,
    plain=always,
    sees_links=never,
    exchangeable=always,
)
