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
        yield from ((seat, span) for span in (seat.packages, seat.caches, seat.cells) if span)
