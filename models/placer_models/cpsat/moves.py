"""Running pods that may move: each stays, or counts against the budget of moves (G5).

What a pod holds at home is told apart from everything like it, so a pod with the counts
of its home has exactly what it had.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ortools.sat.python.cp_model import CpModel, IntVar, LinearExpr

from placer_models.cpsat.assignment import Assignment, Expression, PlacementVariables
from placer_models.cpsat.bound import BoundPodPoolVariables
from placer_models.cpsat.cpus import existing_core_take_vars
from placer_models.cpsat.devices import existing_device_vars
from placer_models.cpsat.family import Hint, KnownPlacement, ModelFamily, Value, always, never
from placer_models.cpsat.numa import existing_cell_vars
from placer_models.cpsat.shares import existing_share_vars
from placer_models.goals import MOVES
from placer_models.problem.problem import Choice, Choices, Problem
from placer_models.rule_family import RuleFamilyName

Good = tuple[int, int]
"""The indices of a node and of a dimension that cells have."""


@dataclass(frozen=True, slots=True)
class StayVariables:
    """Running pod that may move -> whether it stays; a pod that cannot stay has no entry."""

    of_pod: Mapping[int, IntVar]


def stay_vars(model: CpModel, problem: Problem, x: PlacementVariables) -> StayVariables:
    """Create a literal for each pod that could be at home."""
    if not problem.homes:
        return StayVariables({})
    at_home = {(pod, home.node) for pod, home in problem.homes if home is not None}
    pods = [(x.units[assignment.unit].pods[0], assignment.node) for assignment in x.assignments]
    return StayVariables(
        {pod: model.new_bool_var(f"stays[{pod}]") for pod, node in pods if (pod, node) in at_home}
    )


def a_running_pod_keeps_a_place(model: CpModel, problem: Problem, x: PlacementVariables) -> None:
    """A pod that runs now is placed, at home or elsewhere."""
    unit_of = _units_by_pod(x)
    for pod, _ in problem.homes:
        model.add(x.placed(unit_of[pod]) == 1)


def who_stays_has_what_it_had(model: CpModel, problem: Problem, x: PlacementVariables) -> None:
    """A pod that stays has exactly what it had at home."""
    for literal, assignment, home in _homes(problem, x):
        model.add(assignment.count == 1).only_enforce_if(literal)
        for taken, amount in _amounts(assignment, home):
            model.add(taken == amount).only_enforce_if(literal)


def who_stays_keeps_its_cells(model: CpModel, problem: Problem, x: PlacementVariables) -> None:
    """Amounts that no policy pins stay in their cells if their pod stays."""
    held_at_home: defaultdict[Good, list[tuple[IntVar, tuple[int, ...]]]] = defaultdict(list)
    for literal, assignment, home in _homes(problem, x):
        rows = zip(existing_cell_vars(assignment).pinned, home.pinned, strict=True)
        for dimension, (own, had) in enumerate(rows):
            if not own:
                held_at_home[assignment.node, dimension].append((literal, had))
    for (node, dimension), stayers in held_at_home.items():
        assignments = x.on_node[node]
        pinned = [existing_cell_vars(assignment).pinned[dimension] for assignment in assignments]
        for index, cell in enumerate(problem.nodes[node].cells):
            held = [had[index] * literal for literal, had in stayers if had[index]]
            others = [parts[index] for parts in pinned if parts]
            if held:
                model.add(LinearExpr.sum([*held, *others]) <= cell.amounts[dimension])


def no_more_pods_move_than_may(model: CpModel, problem: Problem, x: PlacementVariables) -> None:
    """The running pods that do not stay are within the budget."""
    if problem.homes:
        model.add(moved_pod_count_expr(model, problem, x) <= problem.move_budget)


def moved_pod_count_expr(model: CpModel, problem: Problem, x: PlacementVariables) -> Expression:
    """Count the running pods that do not stay (tier ``moves``)."""
    return len(problem.homes) - LinearExpr.sum(list(x.part(StayVariables).of_pod.values()))


def _units_by_pod(x: PlacementVariables) -> dict[int, int]:
    return {unit.pods[0]: index for index, unit in enumerate(x.units) if len(unit.pods) == 1}


def _homes(problem: Problem, x: PlacementVariables) -> Iterator[tuple[IntVar, Assignment, Choice]]:
    """Yield, for each pod that could stay, its literal, its assignment at home, and its home."""
    unit_of = _units_by_pod(x)
    for pod, home in problem.homes:
        if home is not None and pod in x.part(StayVariables).of_pod:
            assignment = next(s for s in x.of_unit[unit_of[pod]] if s.node == home.node)
            yield x.part(StayVariables).of_pod[pod], assignment, home


def _amounts(assignment: Assignment, home: Choice) -> Iterator[tuple[Expression, int]]:
    """Yield pairs of what the assignment takes and what the pod has at home."""
    cores, own = existing_core_take_vars(assignment), existing_cell_vars(assignment)
    pool = assignment.part(BoundPodPoolVariables)
    for part, had in zip(cores, home.cores[: len(cores)], strict=True):
        yield part.whole, had.whole
        yield part.threads, had.threads
    for taken, amounts in zip(existing_device_vars(assignment).whole, home.devices, strict=True):
        yield from zip(taken, amounts, strict=True)
    for share in existing_share_vars(assignment):
        yield share.count, int(share.take in home.shares)
    if pool is not None:
        yield from ((used, int(c in home.pool_cells)) for c, used in enumerate(pool.used))
    for row, had_there in zip(own.pinned, home.pinned, strict=True):
        if row:
            yield from zip(row, had_there, strict=True)


def stay_solver_hints(
    problem: Problem, x: PlacementVariables, known: KnownPlacement
) -> Iterator[Hint]:
    """Yield hints for which running pods stay."""
    homes = dict(problem.homes)
    for pod, literal in x.part(StayVariables).of_pod.items():
        yield literal.index, int(known.choices.get(pod) == homes[pod])


def homes_of_stayers(problem: Problem, x: PlacementVariables, value: Value) -> Choices:
    """Return the homes of the running pods that stay in a solution."""
    literals = x.part(StayVariables).of_pod
    return {
        pod: home
        for pod, home in problem.homes
        if home is not None and pod in literals and value(literals[pod])
    }


FAMILY = ModelFamily(
    name=RuleFamilyName.MOVES,
    decide_all=stay_vars,
    rules=(
        a_running_pod_keeps_a_place,
        who_stays_has_what_it_had,
        who_stays_keeps_its_cells,
        no_more_pods_move_than_may,
    ),
    tiers={MOVES: moved_pod_count_expr},
    hint=stay_solver_hints,
    countable=always,
    plain=always,
    sees_links=never,
    exchangeable=always,
)
