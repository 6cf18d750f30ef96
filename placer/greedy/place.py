"""The greedy answer to a batch, one priority level after the other."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from placer.greedy.cache import GreedyCache
from placer.greedy.gang_order import (
    Order,
    gang_pods_most_demanding_first,
    largest_gang_first_key,
    most_value_gang_first_key,
)
from placer.greedy.gather import gather_on_one_node
from placer.greedy.levels import node_mask_for_next_gang_member, place_gang_by_network_levels
from placer.greedy.node_table import GreedyNodeTable
from placer.greedy.scorer import NodeScorer
from placer.state.out_of_time import Stop
from placer_models.goals import MEMBER_ABOVE_POINTS, MEMBER_OF_MINIMUM_POINTS
from placer_models.network import GangNetworkLevelRuleKind
from placer_models.problem.problem import Choice, Choices, Problem
from placer_models.problem.tasks import ProblemGang
from placer_models.records import record


@record(frozen=True, slots=True)
class GreedyGangsPlacedTogether:
    """Gangs that are placed all together or not at all: a gang group, or one gang.

    Attributes:
        gangs: Their indices.
        level: Index of the priority of the most important of them.

    """

    gangs: tuple[int, ...]
    level: int


def place_greedily(
    problem: Problem,
    *,
    order: Order = largest_gang_first_key,
    cache: GreedyCache | None = None,
    stop: Stop | None = None,
    scorer: NodeScorer | None = None,
) -> Choices:
    """Return places for as much of the batch as the greedy path finds room for.

    Every answer keeps every rule. Where something of a priority level finds no place, a
    few other orders are tried and the best is kept, by the level's value in tier 1.

    Args:
        problem: The batch.
        order: Which gangs of a level come first.
        cache: What is kept of earlier batches; the answer does not depend on it.
        stop: Asked for each pod whether the time is over, if nobody has to have an answer.
        scorer: Chooses among nodes in place of the node strategy; the problem was built ``scored``.

    Raises:
        OutOfTimeError: It was over.

    """
    cache = GreedyCache() if cache is None else cache
    table = cache.table_of(problem)
    table.stop = stop
    table.score_by(scorer)
    if _is_one_pod(problem):
        choice = table.find(0)
        cache.keep(table)
        return {} if choice is None else {0: choice}
    units = placement_units_by_priority(problem)
    for level in range(len(problem.priorities)):
        _fill_level(table, level, units[level], order)
    if table.affinity is not None:
        # Gangs whose pods need company may find it by now.
        for level in range(len(problem.priorities)):
            late = [unit for unit in units[level] if not _is_placed(table, unit)]
            _run(table, level, _Attempt(_sorted(late, problem, order), minima_first=False))
    choices = table.choices
    cache.keep(table)
    return choices


def _is_one_pod(problem: Problem) -> bool:
    """Return whether a single pod waits, with no other order to try and no group to be in."""
    if len(problem.pods) != 1 or len(problem.gangs) != 1:
        return False
    (gang,) = problem.gangs
    return gang.minimum == 1 and not (gang.levels or gang.gathered)


def placement_units_by_priority(problem: Problem) -> dict[int, list[GreedyGangsPlacedTogether]]:
    """Return the units of each level."""
    members: defaultdict[tuple[bool, int], list[int]] = defaultdict(list)
    for index, gang in enumerate(problem.gangs):
        members[gang.group is not None, index if gang.group is None else gang.group].append(index)
    units: defaultdict[int, list[GreedyGangsPlacedTogether]] = defaultdict(list)
    for gangs in members.values():
        level = min(problem.gangs[index].level for index in gangs)
        units[level].append(GreedyGangsPlacedTogether(tuple(gangs), level))
    return units


@record(frozen=True, slots=True)
class _Attempt:
    """One way to fill a level.

    Attributes:
        units: The units in the order in which they are placed.
        minima_first: Members above a minimum wait until every unit has had its turn.

    """

    units: tuple[GreedyGangsPlacedTogether, ...]
    minima_first: bool


def _fill_level(
    table: GreedyNodeTable, level: int, units: Sequence[GreedyGangsPlacedTogether], order: Order
) -> None:
    """Place the units of a level, and the members above the minima of its gangs."""
    mark = table.mark()
    best: tuple[tuple[int, ...], list[tuple[int, Choice]]] | None = None
    for attempt in _attempts(table, level, units, order):
        table.undo(mark)
        _run(table, level, attempt)
        value = _value(table, level)
        if best is None or value > best[0]:
            best = (value, table.since(mark))
        if _complete(table, level, units):
            break
    if best is not None and best[1] != table.since(mark):
        table.undo(mark)
        for pod, choice in best[1]:
            table.take(pod, choice)


def _attempts(
    table: GreedyNodeTable, level: int, units: Sequence[GreedyGangsPlacedTogether], order: Order
) -> Iterator[_Attempt]:
    """Yield ways to fill the level, to be tried as long as the last one left something to place."""
    problem = table.problem
    usual = _sorted(units, problem, order)
    yield _Attempt(usual, minima_first=False)
    failed = tuple(unit for unit in usual if not _is_placed(table, unit))
    if any(len(gang.pods) > gang.minimum for gang in _gangs(problem, level)):
        yield _Attempt(usual, minima_first=True)
    if failed and len(failed) < len(usual):
        rest = tuple(unit for unit in usual if unit not in failed)
        yield _Attempt((*failed, *rest), minima_first=True)
    if failed:
        yield _Attempt(_sorted(units, problem, most_value_gang_first_key), minima_first=True)


def _sorted(
    units: Sequence[GreedyGangsPlacedTogether], problem: Problem, order: Order
) -> tuple[GreedyGangsPlacedTogether, ...]:
    """Return the units, and the gangs in each of them, in the order."""
    if len(units) == 1 and len(units[0].gangs) == 1:
        return tuple(units)
    key = order(problem)
    found = []
    for unit in units:
        gangs = sorted(unit.gangs, key=lambda index: (key(problem.gangs[index]), index))
        found.append(GreedyGangsPlacedTogether(tuple(gangs), unit.level))
    return tuple(sorted(found, key=lambda unit: (key(problem.gangs[unit.gangs[0]]), unit.gangs)))


def _gangs(problem: Problem, level: int) -> list[ProblemGang]:
    return [gang for gang in problem.gangs if gang.level == level]


def _is_placed(table: GreedyNodeTable, unit: GreedyGangsPlacedTogether) -> bool:
    return all(
        any(table.place_of(pod) for pod in table.problem.gangs[index].pods) for index in unit.gangs
    )


def _complete(
    table: GreedyNodeTable, level: int, units: Sequence[GreedyGangsPlacedTogether]
) -> bool:
    """Return whether nothing of the level is left to place."""
    return all(_is_placed(table, unit) for unit in units) and all(
        table.place_of(pod) for gang in _gangs(table.problem, level) for pod in gang.pods
    )


def _run(table: GreedyNodeTable, level: int, attempt: _Attempt) -> None:
    gangs = table.problem.gangs
    for unit in attempt.units:
        placed = _place_minima(table, unit, alone=attempt.minima_first)
        if placed and not attempt.minima_first:
            for index in unit.gangs:
                if gangs[index].level == level:
                    _place_rest(table, gangs[index])
    above = [gang for gang in _gangs(table.problem, level) if len(gang.pods) > gang.minimum]
    for gang in sorted(above, key=lambda gang: -gang.weight):
        _place_rest(table, gang)


def _place_minima(table: GreedyNodeTable, unit: GreedyGangsPlacedTogether, *, alone: bool) -> bool:
    """Place the minimum of each gang of the unit; nothing stays placed if one fails."""
    gangs = [table.problem.gangs[index] for index in unit.gangs]
    mark = table.mark()
    for ordered in (gangs, gangs[::-1]):
        if all(_place_minimum(table, g, alone=alone or len(gangs) > 1) for g in ordered):
            return True
        table.undo(mark)
        if len(gangs) == 1:
            break
    return False


def _place_minimum(table: GreedyNodeTable, gang: ProblemGang, *, alone: bool) -> bool:
    """Place as many members as the gang needs; return whether that worked.

    Args:
        table: The nodes; nothing stays placed if it did not work.
        gang: The gang, of which nothing is placed yet.
        alone: Whether the members above the minimum are not to be placed along with it.

    """
    if gang.levels or (gang.gathered and table.affinity is not None):
        counted = any(task.grouping is GangNetworkLevelRuleKind.MULTIPLES for task in gang.levels)
        most = gang.minimum if alone and not counted else len(gang.pods)
        return place_gang_by_network_levels(table, gang, most)
    if gang.gathered:
        found = gather_on_one_node(table, gang.pods, gang.minimum)
        for pod, choice in found[: gang.minimum] if alone else found:
            table.take(pod, choice)
        return bool(found)
    hardest = gang_pods_most_demanding_first(table.problem, gang.pods)
    mark = table.mark()
    for pods in (hardest, hardest[::-1]):
        if _place_members(table, pods, gang.minimum) == gang.minimum:
            return True
        table.undo(mark)
        if len(gang.pods) == gang.minimum:
            break
    return False


def _place_members(table: GreedyNodeTable, pods: Sequence[int], most: int) -> int:
    """Place pods in turn until ``most`` are placed. Return how many are."""
    placed = 0
    for pod in pods:
        if placed == most:
            break
        choice = table.find(pod)
        if choice is not None:
            table.take(pod, choice)
            placed += 1
    return placed


def _place_rest(table: GreedyNodeTable, gang: ProblemGang) -> None:
    """Place the members that have no place yet, if the gang has its minimum."""
    places = [place for pod in gang.pods if (place := table.place_of(pod))]
    if len(places) < gang.minimum or not places:
        return
    missing = [pod for pod in gang.pods if table.place_of(pod) is None]
    waiting = gang_pods_most_demanding_first(table.problem, missing)
    if gang.levels or (gang.gathered and table.affinity is not None):
        _place_rest_at_levels(table, gang, waiting)
        return
    if not gang.gathered:
        _place_members(table, waiting, len(waiting))
        return
    node = places[0].node
    for pod in waiting:
        bid = table.bid(table.problem.pods[pod], table.state(node))
        if bid is not None:
            table.take(pod, bid.choice.on(node))


def _place_rest_at_levels(
    table: GreedyNodeTable, gang: ProblemGang, waiting: Sequence[int]
) -> None:
    """Place members on nodes where the levels that the gang asks for allow one more."""
    if any(task.grouping is GangNetworkLevelRuleKind.MULTIPLES for task in gang.levels):
        return  # They come together with the minimum, or not at all.
    for pod in waiting:
        choice = table.find(pod, node_mask_for_next_gang_member(table, gang))
        if choice is not None:
            table.take(pod, choice)


def _value(table: GreedyNodeTable, level: int) -> tuple[int, ...]:
    """Return the values in tier 1 of this level and of those after it."""
    points = [0] * len(table.problem.priorities)
    for gang in table.problem.gangs:
        placed = sum(table.place_of(pod) is not None for pod in gang.pods)
        if placed:
            above = placed - gang.minimum
            points[gang.level] += gang.weight * (
                MEMBER_OF_MINIMUM_POINTS * gang.minimum + MEMBER_ABOVE_POINTS * above
            )
    return tuple(points[level:])
