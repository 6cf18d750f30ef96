"""Cores of two threads that pods share, modelled by counts (C9).

Of the broken cores of a class, a pod has both threads of some and one thread of others: its
singles. The pods that count as PCPULevel cover as many cores as they have singles, less
one for each core that two of them share. Other pods have what is left of each core, one
thread or two. With two threads per core these counts are enough: there is always a way of
dealing the threads out that matches them (`placer.counting.core_pairs`).
"""

from collections.abc import Iterator
from dataclasses import dataclass

from ortools.sat.python.cp_model import CpModel, IntVar, LinearExpr

from placer_models.cpsat.assignment import Assignment, Expression, PlacementVariables
from placer_models.cpsat.cpus import NodeSplitCoreVariables, existing_core_take_vars
from placer_models.cpsat.exclusivity import (
    AssignmentExclusivityVariables,
    core_class_may_be_shared,
    exclusivity_of_known_placement,
)
from placer_models.cpsat.family import (
    Hint,
    KnownPlacement,
    ModelFamily,
    always,
    never,
    solver_hints_for_plain_variables,
)
from placer_models.goals import SHARED_CORES
from placer_models.policy import BindPolicy
from placer_models.problem.problem import CoreTake, Problem
from placer_models.rule_family import RuleFamilyName


@dataclass(frozen=True, slots=True)
class HalfTakenCoreVariables:
    """The two-thread cores of which an assignment's pod has one thread.

    Attributes:
        of_class: For each core class with two free threads per core, on how many cores the
            pod has one of them and counts as PCPULevel; 0 for other classes.
        fell_back: Whether the pod counts because it shares a NUMA node; None if it counts
            anyway.

    """

    of_class: tuple[Expression, ...]
    fell_back: IntVar | None


Single = tuple[Assignment, HalfTakenCoreVariables, Expression]
"""An assignment, its singles that count, and how many cores its pod has one thread of."""


@dataclass(frozen=True, slots=True)
class CoreSplitBetweenPodsVariables:
    """For each node and core class, the cores of which two pods have one thread each.

    Both pods would rather not share. 0 where that is not counted by class.
    """

    of_node: tuple[tuple[Expression, ...], ...]


def half_core_vars(
    model: CpModel, problem: Problem, assignment: Assignment
) -> HalfTakenCoreVariables | None:
    """Create the counts of an assignment, or return None if its pod never counts as PCPULevel."""
    shape, guest = assignment.shape, assignment.part(AssignmentExclusivityVariables)
    if guest is None or not assignment.fit.keeps_cores:
        return None
    classes = zip(
        problem.nodes[assignment.node].cores, existing_core_take_vars(assignment), strict=True
    )
    return HalfTakenCoreVariables(
        tuple(
            model.new_int_var(0, min(c.cores, shape.owned_cpus), f"single[{assignment.name},{i}]")
            if core_class_may_be_shared(problem, c) and not isinstance(part.threads, int)
            else 0
            for i, (c, part) in enumerate(classes)
        ),
        guest.fell_back,
    )


def two_pod_core_vars(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> CoreSplitBetweenPodsVariables:
    """Create, for each core class, a count of cores that two pods share against their wish."""
    found = []
    for node, here in zip(problem.nodes, x.on_node, strict=True):
        minding = sum(assignment.part(HalfTakenCoreVariables) is not None for assignment in here)
        found.append(
            tuple(
                model.new_int_var(0, c.cores, f"paired[{node.name},{i}]")
                if minding > 1 and core_class_may_be_shared(problem, c)
                else 0
                for i, c in enumerate(node.cores)
            )
        )
    return CoreSplitBetweenPodsVariables(tuple(found))


def singles_of_pairs_are_counted(model: CpModel, problem: Problem, x: PlacementVariables) -> None:
    """A pod that counts as PCPULevel counts the cores of which it has one thread."""
    for node, at in _classes(problem):
        for assignment, guest, single in _singles(x, node, at):
            counted, part = guest.of_class[at], existing_core_take_vars(assignment)[at]
            most = min(problem.nodes[node].cores[at].cores, assignment.shape.owned_cpus)
            slack: Expression = 0
            if guest.fell_back is not None:
                slack = most * (1 - guest.fell_back)
            model.add(counted <= single)
            model.add(counted >= single - slack)
            if _spreads(assignment):
                model.add(2 * part.touched >= part.threads)


def single_threads_have_own_cores(model: CpModel, problem: Problem, x: PlacementVariables) -> None:
    """The singles that count are on cores of their own, except for those that are shared."""
    for node, at in _classes(problem):
        singles = _singles(x, node, at)
        if not singles:
            continue
        broken = x.part(NodeSplitCoreVariables).of_node[node][at]
        shared = x.part(CoreSplitBetweenPodsVariables).of_node[node][at]
        double = LinearExpr.sum([_double(assignment, at) for assignment, _, _ in singles])
        counted = LinearExpr.sum([guest.of_class[at] for _, guest, _ in singles])
        model.add(double + counted - shared <= broken)
        most = 2 * problem.nodes[node].cores[at].cores
        for _, guest, single in singles:
            if guest.fell_back is not None:
                model.add(single + double + shared <= broken + most * guest.fell_back)
        for assignment in x.on_node[node]:
            cores = existing_core_take_vars(assignment)
            if cores and _spreads(assignment) and not assignment.part(HalfTakenCoreVariables):
                model.add(cores[at].touched + double + shared <= broken)


def only_willing_pods_share_cores(model: CpModel, problem: Problem, x: PlacementVariables) -> None:
    """Each shared core has threads of two different pods, neither of which requires to be apart."""
    for node, at in _classes(problem):
        shared = x.part(CoreSplitBetweenPodsVariables).of_node[node][at]
        if isinstance(shared, int):
            continue
        wishes = [
            guest.of_class[at]
            for assignment, guest, _ in _singles(x, node, at)
            if not assignment.fit.apart_required
        ]
        together = LinearExpr.sum(wishes)
        model.add(2 * shared <= together)
        for own in wishes:
            model.add(shared <= together - own)


def _classes(problem: Problem) -> Iterator[tuple[int, int]]:
    """Yield the indices of node and core class wherever cores that pods share are counted."""
    for index, node in enumerate(problem.nodes):
        for at, c in enumerate(node.cores):
            if core_class_may_be_shared(problem, c):
                yield index, at


def _singles(x: PlacementVariables, node: int, at: int) -> list[Single]:
    found: list[Single] = []
    for assignment in x.on_node[node]:
        guest = assignment.part(HalfTakenCoreVariables)
        if guest is None or isinstance(guest.of_class[at], int):
            continue
        part = existing_core_take_vars(assignment)[at]
        single = 2 * part.touched - part.threads if _spreads(assignment) else part.threads
        found.append((assignment, guest, single))
    return found


def _double(assignment: Assignment, at: int) -> Expression:
    """Return how many cores the pod has both threads of, beside those that it takes whole."""
    part = existing_core_take_vars(assignment)[at]
    return part.threads - part.touched if _spreads(assignment) else 0


def _spreads(assignment: Assignment) -> bool:
    return assignment.fit.bind is BindPolicy.SPREAD_BY_PCPUS


def core_count_shared_by_two_pods_expr(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> Expression:
    """Count the cores that two pods share (tier ``shared-cores``)."""
    return LinearExpr.sum(
        [shared for node in x.part(CoreSplitBetweenPodsVariables).of_node for shared in node]
    )


def core_pair_solver_hints(
    problem: Problem, x: PlacementVariables, known: KnownPlacement
) -> Iterator[Hint]:
    """Yield hints for how many two-thread cores the pods that count have one thread of."""
    for met in exclusivity_of_known_placement(problem, known):
        singles = met.assignment.part(HalfTakenCoreVariables)
        for i, counted in enumerate(singles.of_class if singles else ()):
            take = met.choice.cores[i] if met.choice else CoreTake()
            yield from solver_hints_for_plain_variables(
                [counted], [2 * take.touched - take.threads]
            )


FAMILY = ModelFamily(
    name=RuleFamilyName.CORE_PAIRS,
    decide=half_core_vars,
    decide_all=two_pod_core_vars,
    rules=(
        singles_of_pairs_are_counted,
        single_threads_have_own_cores,
        only_willing_pods_share_cores,
    ),
    tiers={SHARED_CORES: core_count_shared_by_two_pods_expr},
    hint=core_pair_solver_hints,
    countable=always,
    plain=always,
    sees_links=never,
    exchangeable=always,
)
