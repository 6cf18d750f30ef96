"""Rules about who shares cores of two threads, by counts (C9).

Of the broken cores of a class a pod has both threads of some and one of others: its
singles. The pods that count as PCPULevel cover as many cores as they have singles, less
one for each core that two of them share; others have what is left of each core, one
thread or two. With two threads a core these counts are enough: some way of dealing the
threads out has them (`placer.realise.pairs`).
"""

from collections.abc import Iterator

from ortools.sat.python.cp_model import CpModel, LinearExpr

from placer_models.cpsat.expression import Expression
from placer_models.cpsat.guests import Guest, counts_pairs
from placer_models.cpsat.variables import CoreSeat, Decisions, Seat
from placer_models.policy import BindPolicy
from placer_models.problem import Problem

Single = tuple[Seat, Guest, Expression]
"""A seat, its guest, and the cores of which its pod has one thread of two."""


def singles_of_pairs_are_counted(model: CpModel, problem: Problem, x: Decisions) -> None:
    """A pod that counts as PCPULevel counts the cores of which it has one thread."""
    for node, at in _classes(problem):
        for seat, guest, single in _singles(x, node, at):
            counted, part = guest.pairs[at], seat.cores[at]
            most = min(problem.nodes[node].cores[at].cores, seat.shape.owned_cpus)
            slack: Expression = 0
            if guest.fell_back is not None:
                slack = most * (1 - guest.fell_back)
            model.add(counted <= single)
            model.add(counted >= single - slack)
            if _spreads(seat):
                model.add(2 * part.touched >= part.threads)


def pairs_have_room_for_singles(model: CpModel, problem: Problem, x: Decisions) -> None:
    """The singles that count lie on cores of their own, but for those that are shared."""
    for node, at in _classes(problem):
        singles = _singles(x, node, at)
        if not singles:
            continue
        broken, shared = x.broken[node][at], x.paired[node][at]
        double = LinearExpr.sum([_double(seat, at) for seat, _, _ in singles])
        counted = LinearExpr.sum([guest.pairs[at] for _, guest, _ in singles])
        model.add(double + counted - shared <= broken)
        cores = problem.nodes[node].cores[at].cores
        for _, guest, single in singles:
            if guest.fell_back is not None:
                model.add(single + double + shared <= broken + 2 * cores * guest.fell_back)
        for seat in x.on_node[node]:
            if seat.cores and _spreads(seat) and not (seat.guest and seat.guest.pairs):
                model.add(seat.cores[at].touched + double + shared <= broken)


def only_wishes_share_pairs(model: CpModel, problem: Problem, x: Decisions) -> None:
    """Each shared core has a thread of two different pods, neither of which requires it."""
    for node, at in _classes(problem):
        shared = x.paired[node][at]
        if isinstance(shared, int):
            continue
        wishes = [
            guest.pairs[at]
            for seat, guest, _ in _singles(x, node, at)
            if not seat.shape.apart_required
        ]
        together = LinearExpr.sum(wishes)
        model.add(2 * shared <= together)
        for own in wishes:
            model.add(shared <= together - own)


def _classes(problem: Problem) -> Iterator[tuple[int, int]]:
    """Yield node and class wherever pods that mind are told apart by counts."""
    for index, node in enumerate(problem.nodes):
        for at, c in enumerate(node.cores):
            if counts_pairs(problem, c):
                yield index, at


def _singles(x: Decisions, node: int, at: int) -> list[Single]:
    found: list[Single] = []
    for seat in x.on_node[node]:
        guest = seat.guest
        if guest is None or not guest.pairs or isinstance(guest.pairs[at], int):
            continue
        part: CoreSeat = seat.cores[at]
        single = 2 * part.touched - part.threads if _spreads(seat) else part.threads
        found.append((seat, guest, single))
    return found


def _double(seat: Seat, at: int) -> Expression:
    """Return the cores of which the pod has both threads, beside those it takes whole."""
    part = seat.cores[at]
    return part.threads - part.touched if _spreads(seat) else 0


def _spreads(seat: Seat) -> bool:
    return seat.fit.bind is BindPolicy.SPREAD_BY_PCPUS
