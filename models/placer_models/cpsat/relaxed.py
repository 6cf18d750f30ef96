"""Relaxed model: a bound on the first tiers for batches too large for the whole model.

Equal nodes are one class and equal pods one family; the model counts the pods of a family on
a class. Resources are summed over the class, and every way of cutting a node into slots
bounds how many pods of at least that size it takes. Where running pods may move, the nodes
of a class are divided by which pods stay there: a large pod has room only where all pods in
its way leave. Every placement is a solution, so no placement can reach what the relaxed
model cannot.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod

from ortools.sat.python.cp_model import CpModel, IntVar, LinearExpr

from placer_models.cpsat.assignment import Expression
from placer_models.cpsat.classes import (
    Counting,
    Demands,
    RelaxedEqualPods,
    RelaxedNodeClass,
    equal_node_groups,
    equal_pod_groups,
    node_groups_limited_to_resources,
)
from placer_models.cpsat.stoppable import ModelBuildTimeoutError, ModelStoppableWhileBuilt
from placer_models.goals import MEMBER_ABOVE_POINTS, MEMBER_OF_MINIMUM_POINTS
from placer_models.problem.problem import Problem


@dataclass(frozen=True, slots=True)
class RelaxedNodeSubclassVariables:
    """Nodes of a class on which equally many pods of each family stay.

    Attributes:
        alike: The class.
        there: How many of the class's nodes these are.
        held: Family -> how many of its pods stay on each of these nodes.
        stay: Family -> how many of its pods stay on all these nodes together. A family that
            is not in `held` as well may stay on any of them.
        come: Family -> how many of its pods come to these nodes.

    """

    alike: RelaxedNodeClass
    there: Expression
    held: Mapping[int, int]
    stay: Mapping[int, Expression]
    come: Mapping[int, IntVar]


@dataclass(frozen=True, slots=True)
class RelaxedModel:
    """The relaxed model of a batch.

    Attributes:
        families: The families of pods, by index.
        classes: The classes of nodes, by index.
        divisions: The divisions of all classes of nodes.
        levels: One expression for each priority level: its points.
        opened: What tier ``opened`` counts.
        moves: What tier ``moves`` counts.

    """

    model: CpModel
    families: Sequence[RelaxedEqualPods]
    classes: Sequence[RelaxedNodeClass]
    divisions: Sequence[RelaxedNodeSubclassVariables]
    levels: tuple[Expression, ...]
    opened: Expression
    moves: Expression


MOST_COUNTS = 100_000
"""The most families x divisions of nodes that are modelled: where all nodes differ, and there are
as many different pods, there is no relaxed bound."""


def build_relaxed_model(problem: Problem, stop: Callable[[], bool]) -> RelaxedModel | None:
    """Build the relaxed model without solving it.

    Args:
        problem: The batch.
        stop: Asked now and then whether the time is over.

    Returns:
        The model, or None if it would be too large or building it was stopped.

    """
    families = equal_pod_groups(problem)
    classes = equal_node_groups(problem, families, stop)
    if classes is None:
        return None
    if len(families) * sum(min(len(alike.nodes), _ways(alike)) for alike in classes) > MOST_COUNTS:
        return None
    return _within_time(problem, families, classes, stop)


def relaxed_model_of_resources(
    problem: Problem,
    relaxed: RelaxedModel,
    counted: Collection[tuple[str, int]],
    stop: Callable[[], bool],
) -> RelaxedModel | None:
    """Build the relaxed model again, with some resources alone.

    Args:
        problem: The batch.
        relaxed: Its relaxed model.
        counted: (resource, index of the class of nodes of which it counts).
        stop: As in `build_relaxed_model`.

    """
    classes = node_groups_limited_to_resources(relaxed.classes, counted)
    return _within_time(problem, relaxed.families, classes, stop)


def _within_time(
    problem: Problem,
    families: Sequence[RelaxedEqualPods],
    classes: Sequence[RelaxedNodeClass],
    stop: Callable[[], bool],
) -> RelaxedModel | None:
    model = ModelStoppableWhileBuilt(stop)
    try:
        relaxed = _written(model, problem, families, classes)
    except ModelBuildTimeoutError:
        return None
    model.ask_no_more()
    return relaxed


def _written(
    model: CpModel,
    problem: Problem,
    families: Sequence[RelaxedEqualPods],
    classes: Sequence[RelaxedNodeClass],
) -> RelaxedModel:
    """Write the model of families of pods on classes of nodes."""
    divisions: list[RelaxedNodeSubclassVariables] = []
    for c, alike in enumerate(classes):
        for division in _divisions(model, alike, families, str(c)):
            _fill(model, division, families)
            divisions.append(division)
    placed = []
    for f, family in enumerate(families):
        total = LinearExpr.sum(
            [
                count
                for d in divisions
                for count in (d.come.get(f), d.stay.get(f))
                if count is not None
            ]
        )
        # Pods that run now are placed in any case.
        model.add(total == len(family.pods) if family.at_home else total <= len(family.pods))
        placed.append(total)
    staying = LinearExpr.sum([count for d in divisions for count in d.stay.values()])
    moves = len(problem.homes) - staying
    if problem.homes:
        model.add(moves <= problem.move_budget)
    opened = LinearExpr.sum([d.there for d in divisions if d.alike.offered])
    levels = _levels(model, problem, families, placed)
    return RelaxedModel(model, families, classes, divisions, levels, opened, moves)


def _ways(alike: RelaxedNodeClass) -> int:
    """Return the number of ways in which pods can stay on a node of the class."""
    return prod(count + 1 for _, count in alike.residents)


def _divisions(
    model: CpModel, alike: RelaxedNodeClass, families: Sequence[RelaxedEqualPods], name: str
) -> Iterator[RelaxedNodeSubclassVariables]:
    """Yield the divisions of a class, with a variable for each family that may come.

    Where pods can stay in more ways than there are nodes, each node is a division of its own,
    with a variable for how many pods of each family stay there.
    """
    residents = alike.residents
    if not residents or len(alike.nodes) < _ways(alike):
        apart = [replace(alike, nodes=(node,)) for node in alike.nodes] if residents else [alike]
        for one in apart:
            label = f"{name}/{one.nodes[0]}"
            there = _there(model, one, label)
            stay: dict[int, Expression] = {
                f: model.new_int_var(0, count, f"stay[{f},{label}]") for f, count in residents
            }
            yield RelaxedNodeSubclassVariables(
                one, there, {}, stay, _come(model, one, there, {}, families, label)
            )
        return
    copies = len(alike.nodes)
    parts = []
    for way in product(*(range(count + 1) for _, count in residents)):
        held = {f: count for (f, _), count in zip(residents, way, strict=True) if count}
        label = f"{name}/{'.'.join(map(str, way))}"
        parts.append(there := model.new_int_var(0, copies, f"there[{label}]"))
        stay = {f: count * there for f, count in held.items()}
        yield RelaxedNodeSubclassVariables(
            alike, there, held, stay, _come(model, alike, there, held, families, label)
        )
    total = LinearExpr.sum(parts)
    # An offered node that is not opened has no pods.
    model.add(total <= copies if alike.offered else total == copies)


def _there(model: CpModel, alike: RelaxedNodeClass, name: str) -> Expression:
    """Return how many nodes of a class are there: all, or the opened ones if they are offered."""
    copies = len(alike.nodes)
    return model.new_int_var(0, copies, f"opened[{name}]") if alike.offered else copies


def _come(
    model: CpModel,
    alike: RelaxedNodeClass,
    there: Expression,
    held: Mapping[int, int],
    families: Sequence[RelaxedEqualPods],
    name: str,
) -> dict[int, IntVar]:
    """Return how many pods of each family come to the nodes, for families with room there."""
    come = {}
    for f, family in enumerate(families):
        asked = left_beside_stayers_and_shape_ask(alike, held, families, family.shape)
        slots = 0 if asked is None else _slots(asked, len(family.pods))
        if slots:
            most = min(len(family.pods), len(alike.nodes) * slots)
            come[f] = model.new_int_var(0, most, f"count[{f},{name}]")
            if isinstance(there, IntVar):
                model.add(come[f] <= slots * there)
    return come


def left_beside_stayers_and_shape_ask(
    alike: RelaxedNodeClass,
    held: Mapping[int, int],
    families: Sequence[RelaxedEqualPods],
    shape: int,
) -> Demands | None:
    """Return what a shape takes, and what is left for it beside the pods that stay."""
    asked = alike.demands[shape]
    if asked is None:
        return None
    stayers = [(alike.demands[families[f].shape] or {}, count) for f, count in held.items()]
    return {
        name: (free - sum(n * d[name][1] for d, n in stayers if name in d), taken)
        for name, (free, taken) in asked.items()
    }


def _slots(demands: Demands, most: int) -> int:
    """Return how many pods the node holds, each resource by itself."""
    return min((free // taken for free, taken in demands.values()), default=most)


def _fill(
    model: CpModel, division: RelaxedNodeSubclassVariables, families: Sequence[RelaxedEqualPods]
) -> None:
    """Bound what the pods of a division of nodes take of each resource."""
    takers: defaultdict[Counting, list[tuple[int, Expression]]] = defaultdict(list)
    has: dict[Counting, int] = {}
    loose = [(f, count) for f, count in division.stay.items() if f not in division.held]
    for f, count in (*division.come.items(), *loose):
        asked = left_beside_stayers_and_shape_ask(
            division.alike, division.held, families, families[f].shape
        )
        for name, (free, taken) in (asked or {}).items():
            takers[name].append((taken, count))
            has[name] = free
    for name, free in has.items():
        _fits(model, free, division.there, takers[name])


def _fits(
    model: CpModel, free: int, copies: Expression, takers: list[tuple[int, Expression]]
) -> None:
    """Hold the sum to what the nodes have, and pods of at least each size to the nodes' slots."""
    model.add(LinearExpr.sum([demand * var for demand, var in takers]) <= free * copies)
    for size in sorted({demand for demand, _ in takers}):
        slots = free // size
        large = [(demand // size, var) for demand, var in takers if demand >= size]
        model.add(LinearExpr.sum([units * var for units, var in large]) <= slots * copies)


def _levels(
    model: CpModel,
    problem: Problem,
    families: Sequence[RelaxedEqualPods],
    placed: list[LinearExpr],
) -> tuple[Expression, ...]:
    """Return the points of each priority level.

    A gang reaches its minimum or stays out, and the gangs of a group all do the same.
    """
    terms: list[list[Expression]] = [[] for _ in problem.priorities]
    of_gang: defaultdict[int, list[LinearExpr]] = defaultdict(list)
    gang_of = {pod: index for index, gang in enumerate(problem.gangs) for pod in gang.pods}
    for family, total in zip(families, placed, strict=True):
        gang = problem.gangs[gang_of[family.pods[0]]]
        if family.gang is None:
            terms[gang.level].append(gang.weight * MEMBER_OF_MINIMUM_POINTS * total)
        else:
            of_gang[family.gang].append(total)
    groups: dict[int, IntVar] = {}
    for index, totals in of_gang.items():
        gang = problem.gangs[index]
        reached = model.new_bool_var(f"reached[{index}]")
        members = LinearExpr.sum(totals)
        model.add(members >= gang.minimum * reached)
        model.add(members <= len(gang.pods) * reached)
        if gang.group is not None:
            model.add(reached == groups.setdefault(gang.group, reached))
        lead = (MEMBER_OF_MINIMUM_POINTS - MEMBER_ABOVE_POINTS) * gang.minimum
        points = lead * reached + MEMBER_ABOVE_POINTS * members
        terms[gang.level].append(gang.weight * points)
    return tuple(LinearExpr.sum(level) for level in terms)
