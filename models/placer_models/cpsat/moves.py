"""Running pods that may move: each stays, or counts against the budget (G5).

What a pod holds at home is told apart from all that is like it, so a pod with the counts
of its home has just what it had.
"""

from collections import defaultdict
from collections.abc import Iterator

from ortools.sat.python.cp_model import CpModel, IntVar, LinearExpr

from placer_models.cpsat.assignment import Assignment, Variables
from placer_models.cpsat.expression import Expression
from placer_models.problem import Choice, Problem


def a_running_pod_keeps_a_place(model: CpModel, problem: Problem, x: Variables) -> None:
    """A pod that runs now is placed, at home or elsewhere."""
    unit_of = _units_by_pod(x)
    for pod, _ in problem.homes:
        model.add(x.placed(unit_of[pod]) == 1)


def who_stays_has_what_it_had(model: CpModel, problem: Problem, x: Variables) -> None:
    """A pod stays only in its very place."""
    for literal, assignment, home in _homes(problem, x):
        model.add(assignment.count == 1).only_enforce_if(literal)
        for taken, amount in _amounts(assignment, home):
            model.add(taken == amount).only_enforce_if(literal)


def who_stays_keeps_its_cells(model: CpModel, problem: Problem, x: Variables) -> None:
    """Memory and hugepages that no policy pins are pinned by who stays."""
    goods: defaultdict[tuple[int, int | None], list[tuple[IntVar, tuple[int, ...]]]] = defaultdict(
        list
    )
    for literal, assignment, home in _homes(problem, x):
        if not assignment.memory and home.memory is not None:
            goods[assignment.node, None].append((literal, home.memory))
        for size, pages in enumerate(home.pages):
            if not assignment.pages[size]:
                goods[assignment.node, size].append((literal, pages))
    for (node, kind), stayers in goods.items():
        assignments = x.on_node[node]
        pinned = [
            assignment.memory if kind is None else assignment.pages[kind]
            for assignment in assignments
        ]
        for index, cell in enumerate(problem.nodes[node].cells):
            held = [had[index] * literal for literal, had in stayers if had[index]]
            others = [parts[index] for parts in pinned if parts]
            if held:
                has = cell.memory if kind is None else cell.pages[kind]
                model.add(LinearExpr.sum([*held, *others]) <= has)


def no_more_pods_move_than_may(model: CpModel, problem: Problem, x: Variables) -> None:
    """The running pods that do not stay are within the budget."""
    if problem.homes:
        model.add(pods_moved(model, problem, x) <= problem.move_budget)


def pods_moved(model: CpModel, problem: Problem, x: Variables) -> Expression:
    """Count the running pods that do not stay (tier ``moves``)."""
    return len(problem.homes) - LinearExpr.sum(list(x.stays.values()))


def _units_by_pod(x: Variables) -> dict[int, int]:
    return {unit.pods[0]: index for index, unit in enumerate(x.units) if len(unit.pods) == 1}


def _homes(problem: Problem, x: Variables) -> Iterator[tuple[IntVar, Assignment, Choice]]:
    """Yield whether a pod stays, its assignment at home, and what it has there."""
    unit_of = _units_by_pod(x)
    for pod, home in problem.homes:
        if home is not None and pod in x.stays:
            assignment = next(s for s in x.of_unit[unit_of[pod]] if s.node == home.node)
            yield x.stays[pod], assignment, home


def _amounts(assignment: Assignment, home: Choice) -> Iterator[tuple[Expression, int]]:
    """Yield what the assignment takes with what the pod has at home."""
    for part, had in zip(assignment.cores, home.cores[: len(assignment.cores)], strict=True):
        yield part.whole, had.whole
        yield part.threads, had.threads
    for taken, amounts in zip(assignment.devices, home.devices, strict=True):
        yield from zip(taken, amounts, strict=True)
    for share in assignment.takes:
        yield share.count, int(share.take in home.shares)
    if assignment.pool is not None:
        yield from (
            (used, int(c in home.pool_cells)) for c, used in enumerate(assignment.pool.used)
        )
    if assignment.memory and home.memory is not None:
        yield from zip(assignment.memory, home.memory, strict=True)
    for pages, had_pages in zip(assignment.pages, home.pages, strict=False):
        if pages:
            yield from zip(pages, had_pages, strict=True)
