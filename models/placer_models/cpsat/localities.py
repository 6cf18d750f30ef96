"""Locality: packages, last-level caches, NUMA nodes that a pod should touch few of (C10, C11)."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ortools.sat.python.cp_model import CpModel, IntVar, LinearExpr

from placer_models.cpsat.assignment import Assignment, Expression, PlacementVariables
from placer_models.cpsat.cpus import existing_core_take_vars
from placer_models.cpsat.family import (
    Hint,
    KnownPlacement,
    ModelFamily,
    always,
    fits_of_shape,
    never,
)
from placer_models.cpsat.numa import cells_of_choice, existing_cell_vars
from placer_models.goals import CACHES, LOCALITY_NUMA_NODES, LOCALITY_PACKAGES, PACKAGES
from placer_models.problem.problem import Problem
from placer_models.rule_family import RuleFamilyName


@dataclass(frozen=True, slots=True)
class TouchedCoreGroupVariables:
    """The groups of core classes of a node that an assignment's only pod touches.

    Attributes:
        keys: The package, cache or cell that each group stands for.
        groups: The core classes of each group, by index.
        touched: One literal per group: whether the pod owns CPUs of it (in the part `close`:
            anything there).
        fewest: How many groups the pod needs on the empty node.

    """

    keys: tuple[int | None, ...]
    groups: tuple[tuple[int, ...], ...]
    touched: tuple[IntVar, ...]
    fewest: int


@dataclass(frozen=True, slots=True)
class LocalityVariables:
    """What an assignment's pod touches, each None if the pod has no such wish.

    An assignment whose pod has such a wish has at most one pod.

    Attributes:
        packages: Packages of its CPUs.
        caches: Last-level caches of its CPUs.
        cells: Cells of its CPUs, where the node has a NUMA strategy.
        close: Packages that hold anything of the pod, under default locality.

    """

    packages: TouchedCoreGroupVariables | None = None
    caches: TouchedCoreGroupVariables | None = None
    cells: TouchedCoreGroupVariables | None = None
    close: TouchedCoreGroupVariables | None = None


def existing_locality_vars(assignment: Assignment) -> LocalityVariables:
    """Return what the pod touches."""
    return assignment.part(LocalityVariables) or LocalityVariables()


def locality_vars(model: CpModel, problem: Problem, assignment: Assignment) -> LocalityVariables:
    """Create the literals of an assignment."""
    node, fit, name = problem.nodes[assignment.node], assignment.fit, assignment.name
    # A pod that owns no CPUs is where its memory and devices are.
    packages = [c.package for c in node.cores] if assignment.shape.owned_cpus else []
    return LocalityVariables(
        packages=_span(model, packages, fit.fewest_packages, f"package[{name}"),
        caches=_span(model, [c.cache for c in node.cores], fit.fewest_caches, f"cache[{name}"),
        cells=_span(model, [c.cell for c in node.cores], fit.fewest_cpu_cells, f"cell[{name}"),
        close=_span(
            model,
            packages,
            fit.locality and fit.locality.packages,
            f"close[{name}",
            [cell.package for cell in node.cells if cell.package is not None],
        ),
    )


def _span(
    model: CpModel,
    keys: Sequence[int | None],
    fewest: int | None,
    name: str,
    also: Iterable[int | None] = (),
) -> TouchedCoreGroupVariables | None:
    """Create a span of an assignment with its variables, or return None if there is no wish.

    Args:
        model: Gets the variables.
        keys: The group of each core class of the node.
        fewest: As in ``TouchedCoreGroupVariables``; None if there is no wish.
        name: Begins the names of the variables.
        also: Groups that the pod may touch other than by cores, even if they have no cores.

    """
    if fewest is None:
        return None
    members: defaultdict[int | None, list[int]] = defaultdict(list)
    for index, key in enumerate(keys):
        members[key].append(index)
    for key in also:
        members.setdefault(key, [])
    return TouchedCoreGroupVariables(
        keys=tuple(members),
        groups=tuple(map(tuple, members.values())),
        touched=tuple(model.new_bool_var(f"{name},{key}]") for key in members),
        fewest=fewest,
    )


def owned_cpus_are_in_touched_groups(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> None:
    """Owned CPUs come from packages, caches and cells that the pod counts as touched."""
    for assignment, span in _spans(x):
        cores = existing_core_take_vars(assignment)
        if not cores:
            continue
        classes = problem.nodes[assignment.node].cores
        for group, literal in zip(span.groups, span.touched, strict=True):
            taken = [cores[i].cpus(classes[i]) for i in group]
            room = sum(classes[i].cores * classes[i].free for i in group)
            most = min(assignment.shape.owned_cpus, room)
            model.add(LinearExpr.sum(taken) <= most * literal)


def a_pod_touches_enough_groups(model: CpModel, problem: Problem, x: PlacementVariables) -> None:
    """A pod touches no fewer groups than it needs on the empty node; this only helps the bound."""
    for assignment, span in _spans(x):
        model.add(LinearExpr.sum(list(span.touched)) >= span.fewest * assignment.count)


def a_pod_touches_the_packages_of_its_cells(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> None:
    """What a pod has on a NUMA node is in the package of the node's CPUs, if they share one."""
    for assignment in x.assignments:
        close = existing_locality_vars(assignment).close
        used_cells = existing_cell_vars(assignment).used
        if close is None:
            continue
        literals = dict(zip(close.keys, close.touched, strict=True))
        for cell, used in zip(problem.nodes[assignment.node].cells, used_cells, strict=False):
            if cell.package is not None:
                model.add(used <= literals[cell.package])


def no_pod_uses_too_few_cells(model: CpModel, problem: Problem, x: PlacementVariables) -> None:
    """A pod uses no fewer cells than it needs on the empty node; this only helps the bound."""
    for assignment, fewest in _without_policy(x):
        model.add(
            LinearExpr.sum(list(existing_cell_vars(assignment).used)) >= fewest * assignment.count
        )


def numa_nodes_used_beyond_fewest_expr(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> Expression:
    """Count cells beyond the fewest, for pods with CPUs or devices under no policy as a whole."""
    return LinearExpr.sum(
        [
            LinearExpr.sum(list(existing_cell_vars(assignment).used)) - fewest * assignment.count
            for assignment, fewest in _without_policy(x)
        ]
    )


def packages_used_beyond_fewest_expr(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> Expression:
    """Count packages beyond the fewest of pods with CPUs or devices."""
    return LinearExpr.sum(
        [_beyond(one, existing_locality_vars(one).close) for one in x.assignments]
    )


def _without_policy(x: PlacementVariables) -> Iterator[tuple[Assignment, int]]:
    """Yield the assignments whose cells default locality counts, with the fewest they need."""
    for assignment in x.assignments:
        locality = assignment.fit.locality
        if existing_cell_vars(assignment).used and locality and locality.cells is not None:
            yield assignment, locality.cells


def packages_beyond_wished_fewest_expr(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> Expression:
    """Count packages beyond the fewest of pods that would like few."""
    return LinearExpr.sum(
        [_beyond(one, existing_locality_vars(one).packages) for one in x.assignments]
    )


def caches_beyond_wished_fewest_expr(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> Expression:
    """Count last-level caches beyond the fewest of pods that would like few."""
    return LinearExpr.sum(
        [_beyond(one, existing_locality_vars(one).caches) for one in x.assignments]
    )


def _beyond(assignment: Assignment, span: TouchedCoreGroupVariables | None) -> Expression:
    if span is None:
        return 0
    return LinearExpr.sum(list(span.touched)) - span.fewest * assignment.count


def _spans(x: PlacementVariables) -> Iterator[tuple[Assignment, TouchedCoreGroupVariables]]:
    for assignment in x.assignments:
        spans = existing_locality_vars(assignment)
        for span in (spans.packages, spans.caches, spans.cells, spans.close):
            if span is not None:
                yield assignment, span


def locality_solver_hints(
    problem: Problem, x: PlacementVariables, known: KnownPlacement
) -> Iterator[Hint]:
    """Yield hints for which packages, caches and cells pods touch."""
    for assignment, choices in known.at:
        spans = existing_locality_vars(assignment)
        for span in (spans.packages, spans.caches, spans.cells):
            for group, literal in zip(span.groups, span.touched, strict=True) if span else ():
                takes = [choice.cores[i] for choice in choices for i in group]
                yield literal.index, int(any(take.whole or take.threads for take in takes))
        if spans.close is not None:
            node = problem.nodes[assignment.node]
            found = {
                node.cells[cell].package
                for choice in choices
                for cell in cells_of_choice(problem, choice)
            }
            for choice in choices:
                for core, take in zip(node.cores, choice.cores, strict=True):
                    if take.whole or take.threads:
                        found.add(core.package)
            for package, literal in zip(spans.close.keys, spans.close.touched, strict=True):
                yield literal.index, int(package in found)


def has_no_locality_wish(problem: Problem, shape: int) -> bool:
    """Return whether pods of a shape have no wish to touch few packages, caches or cells."""
    return all(
        fit.locality is None
        and (fit.fewest_packages, fit.fewest_caches, fit.fewest_cpu_cells) == (None, None, None)
        for fit in fits_of_shape(problem, shape)
    )


FAMILY = ModelFamily(
    name=RuleFamilyName.LOCALITIES,
    decide=locality_vars,
    rules=(owned_cpus_are_in_touched_groups, a_pod_touches_the_packages_of_its_cells),
    cuts=(a_pod_touches_enough_groups, no_pod_uses_too_few_cells),
    tiers={
        PACKAGES: packages_beyond_wished_fewest_expr,
        CACHES: caches_beyond_wished_fewest_expr,
        LOCALITY_NUMA_NODES: numa_nodes_used_beyond_fewest_expr,
        LOCALITY_PACKAGES: packages_used_beyond_fewest_expr,
    },
    hint=locality_solver_hints,
    countable=has_no_locality_wish,
    plain=always,
    sees_links=never,
    exchangeable=always,
)
