"""Rules and goals about packages, last-level caches and cells that a pod touches."""

from collections.abc import Iterator

from ortools.sat.python.cp_model import CpModel, LinearExpr

from placer_models.cpsat.assignment import Assignment, Variables
from placer_models.cpsat.expression import Expression
from placer_models.cpsat.span import Span
from placer_models.problem import Problem


def a_pod_touches_the_groups_it_takes_from(model: CpModel, problem: Problem, x: Variables) -> None:
    """Owned CPUs come from packages, caches and cells that the pod counts as touched."""
    for assignment, span in _spans(x):
        if not assignment.cores:
            continue
        classes = problem.nodes[assignment.node].cores
        for group, literal in zip(span.groups, span.touched, strict=True):
            taken = [
                assignment.cores[i].whole * classes[i].threads + assignment.cores[i].threads
                for i in group
            ]
            room = sum(classes[i].cores * classes[i].free for i in group)
            most = min(assignment.shape.owned_cpus, room)
            model.add(LinearExpr.sum(taken) <= most * literal)


def a_pod_touches_its_fewest_groups(model: CpModel, problem: Problem, x: Variables) -> None:
    """Fewer groups than the empty node needs are never enough; said for the bound's sake."""
    for assignment, span in _spans(x):
        model.add(LinearExpr.sum(list(span.touched)) >= span.fewest * assignment.count)


def a_pod_touches_the_packages_of_its_cells(model: CpModel, problem: Problem, x: Variables) -> None:
    """What a pod has on a NUMA node is in the package of its CPUs, if they are of one."""
    for assignment in x.assignments:
        if assignment.close is None:
            continue
        literals = dict(zip(assignment.close.keys, assignment.close.touched, strict=True))
        for cell, used in zip(problem.nodes[assignment.node].cells, assignment.used, strict=False):
            if cell.package is not None:
                model.add(used <= literals[cell.package])


def a_pod_without_policy_needs_its_fewest_cells(
    model: CpModel, problem: Problem, x: Variables
) -> None:
    """Fewer cells than the empty node needs are never enough; said for the bound's sake."""
    for assignment, fewest in _without_policy(x):
        model.add(LinearExpr.sum(list(assignment.used)) >= fewest * assignment.count)


def held_in_numa_nodes(model: CpModel, problem: Problem, x: Variables) -> Expression:
    """Count cells beyond the fewest of pods with CPUs or devices that no policy holds together."""
    return LinearExpr.sum(
        [
            LinearExpr.sum(list(assignment.used)) - fewest * assignment.count
            for assignment, fewest in _without_policy(x)
        ]
    )


def held_in_packages(model: CpModel, problem: Problem, x: Variables) -> Expression:
    """Count packages beyond the fewest of pods with CPUs or devices."""
    return LinearExpr.sum(
        [_beyond(assignment, assignment.close) for assignment in x.assignments if assignment.close]
    )


def _without_policy(x: Variables) -> Iterator[tuple[Assignment, int]]:
    """Yield the assignments of pods that locality by default looks at, with their fewest cells."""
    for assignment in x.assignments:
        if (
            assignment.used
            and assignment.fit.locality
            and assignment.fit.locality.cells is not None
        ):
            yield assignment, assignment.fit.locality.cells


def packages(model: CpModel, problem: Problem, x: Variables) -> Expression:
    """Count packages beyond the fewest of pods that would like few."""
    return LinearExpr.sum(
        [
            _beyond(assignment, assignment.packages)
            for assignment in x.assignments
            if assignment.packages
        ]
    )


def caches(model: CpModel, problem: Problem, x: Variables) -> Expression:
    """Count last-level caches beyond the fewest of pods that would like few."""
    return LinearExpr.sum(
        [
            _beyond(assignment, assignment.caches)
            for assignment in x.assignments
            if assignment.caches
        ]
    )


def _beyond(assignment: Assignment, span: Span) -> Expression:
    return LinearExpr.sum(list(span.touched)) - span.fewest * assignment.count


def _spans(x: Variables) -> Iterator[tuple[Assignment, Span]]:
    for assignment in x.assignments:
        yield from (
            (assignment, span)
            for span in (assignment.packages, assignment.caches, assignment.cells, assignment.close)
            if span
        )
