"""The whole model of a batch: every family's variables, rules and goals."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

from ortools.sat.python.cp_model import CpModel, LinearExpr

from placer_models.cpsat.assignment import Assignment, Expression, PlacementVariables, PodUnit
from placer_models.cpsat.families import FAMILIES, may_be_counted_together
from placer_models.cpsat.family import AddRule
from placer_models.cpsat.gangs import placed_tier_points_of_priority_expr
from placer_models.cpsat.stoppable import ModelBuildTimeoutError, ModelStoppableWhileBuilt
from placer_models.problem.problem import Problem

RULES: tuple[AddRule, ...] = tuple(rule for family in FAMILIES for rule in family.rules)
"""What every placement obeys; without any one of them a wrong placement gets through."""

CUTS: tuple[AddRule, ...] = tuple(cut for family in FAMILIES for cut in family.cuts)
"""What only helps the search: some best placement obeys all of it, so that no tier suffers."""


@dataclass(frozen=True, slots=True)
class BatchModel:
    """A Problem as CP-SAT sees it.

    Attributes:
        tiers: One expression per tier, in the order of `goals.all_tiers_most_important_first`.

    """

    model: CpModel
    variables: PlacementVariables
    tiers: tuple[Expression, ...]


def build_batch_model(
    problem: Problem,
    *,
    tiers: int | None = None,
    rules: tuple[AddRule, ...] = RULES,
    cuts: tuple[AddRule, ...] = CUTS,
    stop: Callable[[], bool] | None = None,
) -> BatchModel | None:
    """Build the model without solving it, or return None if it is stopped before the end.

    Args:
        problem: The batch.
        tiers: How many tiers it is for, from the first on; None for all.
        rules: What placements obey; tests leave some out.
        cuts: What helps the search.
        stop: Asked now and then whether the time is over: a large model takes long to build.

    """
    model = ModelStoppableWhileBuilt(stop or (lambda: False))
    try:
        x = create_variables(model, problem)
        for rule in (*rules, *cuts):
            model.go_on()
            rule(model, problem, x)
        batch = BatchModel(model, x, tuple(islice(_tiers(model, problem, x), tiers)))
        model.go_on()
    except ModelBuildTimeoutError:
        return None
    model.ask_no_more()
    return batch


def create_variables(model: ModelStoppableWhileBuilt, problem: Problem) -> PlacementVariables:
    """Create the variables, but none for a unit on a node that has no room for any of its pods.

    Raises:
        ModelBuildTimeoutError: The time is over.

    """
    units = pod_units_of(problem)
    assignments: list[Assignment] = []
    for index, unit in enumerate(units):
        for node in range(len(problem.nodes)):
            model.step()
            most = most_pods_by_each_resource(problem, unit.shape, node, len(unit.pods))
            if most > 0:
                assignments.append(_assignment(model, problem, index, unit, node, most))
    of_unit: list[list[Assignment]] = [[] for _ in units]
    on_node: list[list[Assignment]] = [[] for _ in problem.nodes]
    for assignment in assignments:
        of_unit[assignment.unit].append(assignment)
        on_node[assignment.node].append(assignment)
    x = PlacementVariables(
        units, tuple(assignments), tuple(map(tuple, of_unit)), tuple(map(tuple, on_node))
    )
    for family in FAMILIES:
        if family.decide_all is not None:
            model.go_on()
            part = family.decide_all(model, problem, x)
            x.parts[type(part)] = part
    return x


def _assignment(
    model: CpModel, problem: Problem, index: int, unit: PodUnit, node: int, most: int
) -> Assignment:
    fit = problem.fits[unit.shape][problem.nodes[node].kind]
    assert fit is not None, "there is room for it"
    name = f"{unit.pods[0]},{problem.nodes[node].name}"
    count = model.new_int_var(0, most, f"count[{name}]")
    shape = problem.shape_on(unit.shape, problem.nodes[node])
    assignment = Assignment(index, node, shape, fit, count, most, name)
    for family in FAMILIES:
        part = family.decide and family.decide(model, problem, assignment)
        if part is not None:
            assignment.parts[type(part)] = part
    return assignment


def most_pods_by_each_resource(problem: Problem, shape: int, index: int, most: int) -> int:
    """Return how many pods of a shape the node could host by each resource alone, up to `most`."""
    node = problem.nodes[index]
    if problem.fits[shape][node.kind] is None or problem.affinity.bars(shape, index):
        return 0
    for family in FAMILIES:
        if family.room is not None:
            most = family.room(problem, shape, node, most)
            if most <= 0:
                return 0
    return most


def _tiers(
    model: ModelStoppableWhileBuilt, problem: Problem, x: PlacementVariables
) -> Iterator[Expression]:
    """Yield one expression per tier: the sum of what families count for it."""
    levels = len(problem.priorities)
    for level in range(levels):
        yield placed_tier_points_of_priority_expr(problem, x, level)
    for tier in problem.tiers[levels:]:
        terms = []
        for family in FAMILIES:
            if tier in family.tiers:
                model.go_on()
                terms.append(family.tiers[tier](model, problem, x))
        yield LinearExpr.sum(terms) if len(terms) > 1 else terms[0]


def pod_units_of(problem: Problem) -> tuple[PodUnit, ...]:
    """Group the pods of a Problem into units, in the order of their first pods."""
    alike: defaultdict[tuple[int | None, int, int, int, int | None], list[int]] = defaultdict(list)
    at_home = {pod for pod, _ in problem.homes}
    for index, gang in enumerate(problem.gangs):
        # Equal lone pods are as interchangeable as equal members of one gang.
        alone = len(gang.pods) == 1 and gang.group is None
        lone = alone and not gang.gathered and not gang.levels
        owner = None if lone else index
        for pod in gang.pods:
            # No other pod is equal to a pod with a home.
            home = pod if pod in at_home else None
            alike[owner, problem.pods[pod], gang.level, gang.weight, home].append(pod)
    together = [may_be_counted_together(problem, index) for index in range(len(problem.shapes))]
    units = []
    for family, ((owner, shape, level, weight, _), pods) in enumerate(alike.items()):
        for members in [tuple(pods)] if together[shape] else [(pod,) for pod in pods]:
            units.append(PodUnit(members, shape, owner, family, level, weight))
    return tuple(sorted(units, key=lambda unit: unit.pods[0]))
