"""Moves in outline: parts of a cluster that are worth solving because pods could move there.

The relaxed model says how many pods of each kind leave which nodes and where they could
go. That is a proposal: each part of it, nodes that exchange pods, is then solved exactly.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ortools.sat.python.cp_model import CpSolver

from placer.search.baseline import placed_pods_as_running
from placer.search.budget import SolveBudget
from placer.search.cp import optimise_expression, replace_solver_hints, solution_values
from placer.search.first_tier_bounds import (
    keep_tier_value,
    relaxed_no_change_solver_hints,
    relaxed_tier_expressions,
)
from placer.state.batch import build_problem
from placer_models.cluster import Instance
from placer_models.cpsat.relaxed import (
    RelaxedModel,
    RelaxedNodeSubclassVariables,
    build_relaxed_model,
    left_beside_stayers_and_shape_ask,
)
from placer_models.moves import vacated_homes
from placer_models.placement import Placement
from placer_models.pod import Gang
from placer_models.problem.problem import Problem

MovePart = tuple[set[str], list[Gang]]
"""Names of nodes, and gangs that wait and could have a place there."""


def suggest_moves_by_relaxation(
    instance: Instance, placement: Placement, budget: SolveBudget
) -> list[MovePart]:
    """Return parts in which running pods make room for gangs that wait.

    Args:
        instance: With homes of the running pods that may move.
        placement: Pods keep their places in it, except those that are at home.
        budget: Bounds the solves.

    """
    left = _left(instance, placement)
    if not left.gangs:
        return []
    problem = build_problem(left)
    relaxed = build_relaxed_model(problem, lambda: budget.over)
    solution = relaxed and _solved(problem, relaxed, budget)
    if not relaxed or not solution:
        return []
    return list(_parts(left, relaxed, _changes(relaxed, solution)))


def _left(instance: Instance, placement: Placement) -> Instance:
    """Return the question of what else could be placed if pods at home made room."""
    gone = vacated_homes(instance, placement)
    at_home = {home.key for home in instance.homes} - {home.key for home in gone}
    # If one pod of a gang has moved, all of them keep their places.
    at_home -= {
        pod.key
        for gang in instance.gangs
        if not at_home.issuperset(pod.key for pod in gang.pods)
        for pod in gang.pods
    }
    place_of = {place.key: place for place in placement.pods if place.key not in at_home}
    gangs = [gang for gang in instance.gangs if not any(p.key in place_of for p in gang.pods)]
    keys = {gang.key for gang in gangs}
    return replace(
        instance,
        gangs=tuple(gangs),
        groups=tuple(group for group in instance.groups if keys.issuperset(group.gangs)),
        running=(*instance.running, *placed_pods_as_running(instance.gangs, place_of)),
        homes=tuple(home for home in instance.homes if home.key in at_home),
        move_budget=instance.move_budget - len(gone),
    )


def _solved(problem: Problem, relaxed: RelaxedModel, budget: SolveBudget) -> CpSolver | None:
    """Return the best solution found, tier by tier, or None if none is found in time."""
    best: CpSolver | None = None
    tiers = problem.tiers
    replace_solver_hints(relaxed.model, relaxed_no_change_solver_hints(relaxed))
    expressions = relaxed_tier_expressions(problem, relaxed)
    for index, (tier, expression) in enumerate(zip(tiers, expressions, strict=False)):
        if budget.over:
            break
        share = budget.slice(len(expressions) - index)
        found = optimise_expression(relaxed.model, expression, tier.sense, budget, share).solution
        if found is None:
            break
        best = found
        replace_solver_hints(relaxed.model, solution_values(best))
        keep_tier_value(relaxed.model, tier, expression, best.value(expression))
    return best


@dataclass(slots=True)
class _Change:
    """What a proposal changes on one node.

    Attributes:
        node: Its index.
        has: Family -> how many of its pods are there in the end.
        leave: Family -> how many of its pods go.
        come: Family -> how many of its pods come.

    """

    node: int
    has: Counter[int]
    leave: Counter[int] = field(default_factory=Counter)
    come: Counter[int] = field(default_factory=Counter)


def _changes(relaxed: RelaxedModel, solution: CpSolver) -> list[_Change]:
    """Deal a solution out to the nodes; those at which nothing changes are left out."""
    dealt: Counter[int] = Counter()
    found = []
    for division in relaxed.divisions:
        nodes = division.alike.nodes
        first = dealt[nodes[0]]
        dealt[nodes[0]] += solution.value(division.there)
        residents = Counter(dict(division.alike.residents))
        here = [_Change(node, residents.copy()) for node in nodes[first : dealt[nodes[0]]]]
        for f, count in residents.items():
            leaving = count * len(here) - solution.value(division.stay.get(f, 0))
            for change in here:
                gone = min(leaving, count - division.held.get(f, 0))
                leaving -= gone
                change.leave[f] += gone
                change.has[f] -= gone
        for f in sorted(division.come, key=lambda f: -_size(relaxed, division, f)):
            for _ in range(solution.value(division.come[f])):
                roomy = (change for change in here if _has_room(relaxed, division, change, f))
                change = next(roomy, here[0])
                change.come[f] += 1
                change.has[f] += 1
        found += here
    return [change for change in found if +change.leave or +change.come]


def _size(relaxed: RelaxedModel, division: RelaxedNodeSubclassVariables, family: int) -> float:
    """Return the largest share of a resource of a node that a pod of the family takes."""
    asked = division.alike.demands[relaxed.families[family].shape] or {}
    return max((taken / has for has, taken in asked.values()), default=0.0)


def _has_room(
    relaxed: RelaxedModel, division: RelaxedNodeSubclassVariables, change: _Change, family: int
) -> bool:
    shape = relaxed.families[family].shape
    asked = left_beside_stayers_and_shape_ask(division.alike, change.has, relaxed.families, shape)
    return asked is not None and all(left >= taken for left, taken in asked.values())


def _parts(
    instance: Instance, relaxed: RelaxedModel, changes: Sequence[_Change]
) -> Iterator[MovePart]:
    """Yield the nodes that exchange pods, with the gangs that come to them."""
    gang_of = [gang for gang in instance.gangs for _ in gang.pods]
    waiting = {
        f: [gang_of[pod] for pod in family.pods]
        for f, family in enumerate(relaxed.families)
        if not family.at_home
    }
    joined = _Joined(len(changes))
    names: list[set[tuple[str, str]]] = [set() for _ in changes]
    at: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for i, change in enumerate(changes):
        for f, count in sorted(change.come.items()):
            for _ in range(count if f in waiting else 0):
                key = waiting[f].pop(0).key
                at[key].append(i)
                names[i].add(key)
    # All members of a gang, and all gangs of a group, are in one part.
    for keys in (*((key,) for key in at), *(group.gangs for group in instance.groups)):
        together = [i for key in keys for i in at.get(key, ())]
        for i in together:
            joined.join(together[0], i)
    _join_who_exchange(changes, waiting, joined)
    parts: defaultdict[int, list[int]] = defaultdict(list)
    for i in range(len(changes)):
        parts[joined.of(i)].append(i)
    for members in parts.values():
        coming = set().union(*(names[i] for i in members))
        gangs = [gang for gang in instance.gangs if gang.key in coming]
        if gangs:
            yield {instance.nodes[changes[i].node].name for i in members}, gangs


def _join_who_exchange(
    changes: Sequence[_Change], waiting: Mapping[int, object], joined: "_Joined"
) -> None:
    """Join each node that a pod leaves with one that a pod like it comes to, joined ones first."""
    free: defaultdict[int, list[int]] = defaultdict(list)
    for i, change in enumerate(changes):
        for f in change.come:
            if f not in waiting:
                free[f] += [i] * change.come[f]
    for i, change in enumerate(changes):
        for f in change.leave:
            for _ in range(change.leave[f]):
                near = (other for other in free[f] if joined.of(other) == joined.of(i))
                target = next(near, free[f][0])
                free[f].remove(target)
                joined.join(i, target)


class _Joined:
    """Numbers in sets that grow together."""

    def __init__(self, count: int) -> None:
        self._above = list(range(count))

    def of(self, number: int) -> int:
        """Return the number that stands for its set."""
        while self._above[number] != number:
            number = self._above[number]
        return number

    def join(self, a: int, b: int) -> None:
        """Make one set of two."""
        self._above[self.of(b)] = self.of(a)
