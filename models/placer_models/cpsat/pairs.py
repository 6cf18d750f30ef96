"""Rules about who shares cores of two threads, by counts (C9).

Of the broken cores of a class a pod has both threads of some and one of others: its
singles. The pods that count as PCPULevel cover as many cores as they have singles, less
one for each core that two of them share; others have what is left of each core, one
thread or two. With two threads a core these counts are enough: some way of dealing the
threads out has them (`placer.realise.pairs`).
"""

from collections.abc import Iterator

from ortools.sat.python.cp_model import CpModel, LinearExpr

from placer_models.cpsat.assignment import Assignment, CoreSeat, Variables
from placer_models.cpsat.expression import Expression
from placer_models.cpsat.guests import Guest, counts_pairs
from placer_models.policy import BindPolicy
from placer_models.problem import Problem

Single = tuple[Assignment, Guest, Expression]
"""An assignment, its guest, and the cores of which its pod has one thread of two."""


def singles_of_pairs_are_counted(model: CpModel, problem: Problem, x: Variables) -> None:
    """A pod that counts as PCPULevel counts the cores of which it has one thread."""
    for node, at in _classes(problem):
        for assignment, guest, single in _singles(x, node, at):
            counted, part = guest.pairs[at], assignment.cores[at]
            most = min(problem.nodes[node].cores[at].cores, assignment.shape.owned_cpus)
            slack: Expression = 0
            if guest.fell_back is not None:
                slack = most * (1 - guest.fell_back)
            model.add(counted <= single)
            model.add(counted >= single - slack)
            if _spreads(assignment):
                model.add(2 * part.touched >= part.threads)


def pairs_have_room_for_singles(model: CpModel, problem: Problem, x: Variables) -> None:
    """The singles that count lie on cores of their own, but for those that are shared."""
    for node, at in _classes(problem):
        singles = _singles(x, node, at)
        if not singles:
            continue
        broken, shared = x.broken[node][at], x.paired[node][at]
        double = LinearExpr.sum([_double(assignment, at) for assignment, _, _ in singles])
        counted = LinearExpr.sum([guest.pairs[at] for _, guest, _ in singles])
        model.add(double + counted - shared <= broken)
        cores = problem.nodes[node].cores[at].cores
        for _, guest, single in singles:
            if guest.fell_back is not None:
                model.add(single + double + shared <= broken + 2 * cores * guest.fell_back)
        for assignment in x.on_node[node]:
            if (
                assignment.cores
                and _spreads(assignment)
                and not (assignment.guest and assignment.guest.pairs)
            ):
                model.add(assignment.cores[at].touched + double + shared <= broken)


def only_wishes_share_pairs(model: CpModel, problem: Problem, x: Variables) -> None:
    """Each shared core has a thread of two different pods, neither of which requires it."""
    for node, at in _classes(problem):
        shared = x.paired[node][at]
        if isinstance(shared, int):
            continue
        wishes = [
            guest.pairs[at]
            for assignment, guest, _ in _singles(x, node, at)
            if not assignment.shape.apart_required
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


def _singles(x: Variables, node: int, at: int) -> list[Single]:
    found: list[Single] = []
    for assignment in x.on_node[node]:
        guest = assignment.guest
        if guest is None or not guest.pairs or isinstance(guest.pairs[at], int):
            continue
        part: CoreSeat = assignment.cores[at]
        single = 2 * part.touched - part.threads if _spreads(assignment) else part.threads
        found.append((assignment, guest, single))
    return found


def _double(assignment: Assignment, at: int) -> Expression:
    """Return the cores of which the pod has both threads, beside those it takes whole."""
    part = assignment.cores[at]
    return part.threads - part.touched if _spreads(assignment) else 0


def _spreads(assignment: Assignment) -> bool:
    return assignment.fit.bind is BindPolicy.SPREAD_BY_PCPUS
