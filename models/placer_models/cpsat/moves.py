"""Running pods that may move: each stays, or counts against the budget (G5).

What a pod holds at home is told apart from all that is like it, so a pod with the counts
of its home has just what it had.
"""

from collections import defaultdict
from collections.abc import Iterator

from ortools.sat.python.cp_model import CpModel, IntVar, LinearExpr

from placer_models.cpsat.expression import Expression
from placer_models.cpsat.variables import Decisions, Seat
from placer_models.problem import Choice, Problem


def a_running_pod_keeps_a_place(model: CpModel, problem: Problem, x: Decisions) -> None:
    """A pod that runs now is placed, at home or elsewhere."""
    unit_of = _units_by_pod(x)
    for pod, _ in problem.homes:
        model.add(x.placed(unit_of[pod]) == 1)


def who_stays_has_what_it_had(model: CpModel, problem: Problem, x: Decisions) -> None:
    """A pod stays only in its very place."""
    for literal, seat, home in _homes(problem, x):
        model.add(seat.count == 1).only_enforce_if(literal)
        for taken, amount in _amounts(seat, home):
            model.add(taken == amount).only_enforce_if(literal)


def who_stays_keeps_its_cells(model: CpModel, problem: Problem, x: Decisions) -> None:
    """Memory and hugepages that no policy pins are pinned by who stays."""
    goods: defaultdict[tuple[int, int | None], list[tuple[IntVar, tuple[int, ...]]]] = defaultdict(
        list
    )
    for literal, seat, home in _homes(problem, x):
        if not seat.memory and home.memory is not None:
            goods[seat.node, None].append((literal, home.memory))
        for size, pages in enumerate(home.pages):
            if not seat.pages[size]:
                goods[seat.node, size].append((literal, pages))
    for (node, kind), stayers in goods.items():
        seats = x.on_node[node]
        pinned = [seat.memory if kind is None else seat.pages[kind] for seat in seats]
        for index, cell in enumerate(problem.nodes[node].cells):
            held = [had[index] * literal for literal, had in stayers if had[index]]
            others = [parts[index] for parts in pinned if parts]
            if held:
                has = cell.memory if kind is None else cell.pages[kind]
                model.add(LinearExpr.sum([*held, *others]) <= has)


def no_more_pods_move_than_may(model: CpModel, problem: Problem, x: Decisions) -> None:
    """The running pods that do not stay are within the budget."""
    if problem.homes:
        model.add(pods_moved(model, problem, x) <= problem.move_budget)


def pods_moved(model: CpModel, problem: Problem, x: Decisions) -> Expression:
    """Count the running pods that do not stay (tier ``moves``)."""
    return len(problem.homes) - LinearExpr.sum(list(x.stays.values()))


def _units_by_pod(x: Decisions) -> dict[int, int]:
    return {unit.pods[0]: index for index, unit in enumerate(x.units) if len(unit.pods) == 1}


def _homes(problem: Problem, x: Decisions) -> Iterator[tuple[IntVar, Seat, Choice]]:
    """Yield whether a pod stays, its seat at home, and what it has there."""
    unit_of = _units_by_pod(x)
    for pod, home in problem.homes:
        if home is not None and pod in x.stays:
            seat = next(s for s in x.of_unit[unit_of[pod]] if s.node == home.node)
            yield x.stays[pod], seat, home


def _amounts(seat: Seat, home: Choice) -> Iterator[tuple[Expression, int]]:
    """Yield what the seat takes with what the pod has at home."""
    for part, had in zip(seat.cores, home.cores[: len(seat.cores)], strict=True):
        yield part.whole, had.whole
        yield part.threads, had.threads
    for taken, amounts in zip(seat.devices, home.devices, strict=True):
        yield from zip(taken, amounts, strict=True)
    for share in seat.takes:
        yield share.count, int(share.take in home.shares)
    if seat.pool is not None:
        yield from ((used, int(c in home.pool_cells)) for c, used in enumerate(seat.pool.used))
    if seat.memory and home.memory is not None:
        yield from zip(seat.memory, home.memory, strict=True)
    for pages, had_pages in zip(seat.pages, home.pages, strict=False):
        if pages:
            yield from zip(pages, had_pages, strict=True)
