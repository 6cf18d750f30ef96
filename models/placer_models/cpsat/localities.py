"""Rules and goals about packages, last-level caches and cells that a pod touches."""

from collections.abc import Iterator

from ortools.sat.python.cp_model import CpModel, LinearExpr

from placer_models.cpsat.expression import Expression
from placer_models.cpsat.span import Span
from placer_models.cpsat.variables import Decisions, Seat
from placer_models.problem import Problem


def a_pod_touches_the_groups_it_takes_from(model: CpModel, problem: Problem, x: Decisions) -> None:
    """Owned CPUs come from packages, caches and cells that the pod counts as touched."""
    for seat, span in _spans(x):
        if not seat.cores:
            continue
        classes = problem.nodes[seat.node].cores
        for group, literal in zip(span.groups, span.touched, strict=True):
            taken = [
                seat.cores[i].whole * classes[i].threads + seat.cores[i].threads for i in group
            ]
            room = sum(classes[i].cores * classes[i].free for i in group)
            most = min(seat.shape.owned_cpus, room)
            model.add(LinearExpr.sum(taken) <= most * literal)


def a_pod_touches_its_fewest_groups(model: CpModel, problem: Problem, x: Decisions) -> None:
    """Fewer groups than the empty node needs are never enough; said for the bound's sake."""
    for seat, span in _spans(x):
        model.add(LinearExpr.sum(list(span.touched)) >= span.fewest * seat.count)


def a_pod_touches_the_packages_of_its_cells(model: CpModel, problem: Problem, x: Decisions) -> None:
    """What a pod has on a NUMA node is in the package of its CPUs, if they are of one."""
    for seat in x.seats:
        if seat.close is None:
            continue
        literals = dict(zip(seat.close.keys, seat.close.touched, strict=True))
        for cell, used in zip(problem.nodes[seat.node].cells, seat.used, strict=False):
            if cell.package is not None:
                model.add(used <= literals[cell.package])


def a_pod_without_policy_needs_its_fewest_cells(
    model: CpModel, problem: Problem, x: Decisions
) -> None:
    """Fewer cells than the empty node needs are never enough; said for the bound's sake."""
    for seat, fewest in _without_policy(x):
        model.add(LinearExpr.sum(list(seat.used)) >= fewest * seat.count)


def held_in_numa_nodes(model: CpModel, problem: Problem, x: Decisions) -> Expression:
    """Count cells beyond the fewest of pods with CPUs or devices that no policy holds together."""
    return LinearExpr.sum(
        [
            LinearExpr.sum(list(seat.used)) - fewest * seat.count
            for seat, fewest in _without_policy(x)
        ]
    )


def held_in_packages(model: CpModel, problem: Problem, x: Decisions) -> Expression:
    """Count packages beyond the fewest of pods with CPUs or devices."""
    return LinearExpr.sum([_beyond(seat, seat.close) for seat in x.seats if seat.close])


def _without_policy(x: Decisions) -> Iterator[tuple[Seat, int]]:
    """Yield the seats of pods that locality by default looks at, with their fewest cells."""
    for seat in x.seats:
        if seat.used and seat.fit.locality and seat.fit.locality.cells is not None:
            yield seat, seat.fit.locality.cells


def packages(model: CpModel, problem: Problem, x: Decisions) -> Expression:
    """Count packages beyond the fewest of pods that would like few."""
    return LinearExpr.sum([_beyond(seat, seat.packages) for seat in x.seats if seat.packages])


def caches(model: CpModel, problem: Problem, x: Decisions) -> Expression:
    """Count last-level caches beyond the fewest of pods that would like few."""
    return LinearExpr.sum([_beyond(seat, seat.caches) for seat in x.seats if seat.caches])


def _beyond(seat: Seat, span: Span) -> Expression:
    return LinearExpr.sum(list(span.touched)) - span.fewest * seat.count


def _spans(x: Decisions) -> Iterator[tuple[Seat, Span]]:
    for seat in x.seats:
        yield from (
            (seat, span) for span in (seat.packages, seat.caches, seat.cells, seat.close) if span
        )
