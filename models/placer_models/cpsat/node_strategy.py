"""Node strategies: the last tier counts rooms left, or what the instance's strategy does (B12)."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, pairwise, product
from math import prod

from ortools.sat.python.cp_model import CpModel, IntVar, LinearExpr

from placer_models.cpsat.assignment import Assignment, Expression, PlacementVariables, pods_expr
from placer_models.cpsat.family import ModelFamily, always, never
from placer_models.cpsat.opened import hold_to_what_a_used_node_has
from placer_models.goals import (
    LEAST_REQUESTED,
    MOST_BALANCED,
    PACK_NODES,
    PACK_USED,
    SPREAD_PAIRS,
    SPREAD_USED,
    USABLE,
)
from placer_models.node_strategy import (
    StrategyNodeLoad,
    StrategyPodRequest,
    mean_share_if_pod_came_alone,
    score_added_by_one_more,
    variance_score_sum,
)
from placer_models.problem.dimensions import SHARED_POOL
from placer_models.problem.node_state import NodeState
from placer_models.problem.problem import Problem
from placer_models.problem.rooms import POINTS, room_points
from placer_models.rule_family import RuleFamilyName

MOST_TANGENTS = 16
"""The most lines below a square; larger squares are also given to the solver as products."""


def usable_points_of_rooms_expr(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> Expression:
    """Count the points of the rooms that pods leave (tier ``usable``)."""
    nodes = zip(problem.nodes, x.on_node, strict=True)
    return LinearExpr.sum([_rooms_left(model, node, here) for node, here in nodes])


def _rooms_left(model: CpModel, node: NodeState, assignments: Sequence[Assignment]) -> Expression:
    now = room_points(node.rooms, node.pool_milli, node.memory)
    wants = [(each.shape.amounts_on(node)[SHARED_POOL], each.shape.memory) for each in assignments]
    if not now or not any(map(any, wants)):
        return now
    steps = [(0, 0), *node.rooms[: POINTS.index(now)]]
    free = [model.new_bool_var(f"room[{node.name},{j}]") for j in range(1, len(steps))]
    for fewer, more in pairwise(free):
        model.add_implication(more, fewer)
    for side, left in enumerate((node.pool_milli, node.memory)):
        kept = [
            (after[side] - before[side]) * literal
            for (before, after), literal in zip(pairwise(steps), free, strict=True)
        ]
        taken = [
            want[side] * assignment.count
            for want, assignment in zip(wants, assignments, strict=True)
        ]
        model.add(LinearExpr.sum(kept) + LinearExpr.sum(taken) <= left)
    return LinearExpr.weighted_sum(free, [b - a for a, b in pairwise(POINTS[: len(steps)])])


def used_node_count_expr(model: CpModel, problem: Problem, x: PlacementVariables) -> Expression:
    """Count the nodes with any pod."""
    terms: list[Expression] = []
    for node, load, assignments in _loads(problem, x):
        if load.running:
            terms.append(1)
        elif assignments:
            used = model.new_bool_var(f"in_use[{node.name}]")
            for assignment in assignments:
                model.add(assignment.count <= assignment.most * used)
            hold_to_what_a_used_node_has(model, node, assignments, used)
            terms.append(used)
    return LinearExpr.sum(terms)


def score_sum_if_each_came_alone_expr(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> Expression:
    """Sum the scores of the new pods, each taken alone."""
    return LinearExpr.sum(
        [
            mean_share_if_pod_came_alone(load, _ask(assignment)) * assignment.count
            for _, load, assignments in _loads(problem, x)
            for assignment in assignments
        ]
    )


def spread_strategy_pod_pairs_expr(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> Expression:
    """Count the pairs of pods on one node of which one is new, or both are."""
    terms: list[Expression] = []
    for node, load, assignments in _loads(problem, x):
        count = pods_expr(assignments)
        most = min(len(problem.pods), sum(assignment.most for assignment in assignments))
        terms += [load.running * count, _pairs_of(model, count, most, f"pairs[{node.name}]")]
    return LinearExpr.sum(terms)


def summed_mean_node_usage_expr(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> Expression:
    """Sum the mean shares of the new pods, counting with all of them in place."""
    terms = [score_sum_if_each_came_alone_expr(model, problem, x)]
    for node, load, assignments in _loads(problem, x):
        groups = _groups(model, problem, node, assignments)
        for i, (ask, count, most) in enumerate(groups):
            each = 2 * score_added_by_one_more(load, ask, ask)
            if each and most > 1:
                terms.append(each * _pairs_of(model, count, most, f"pairs[{node.name},{i}]"))
        for (i, a), (j, b) in combinations(enumerate(groups), 2):
            each = score_added_by_one_more(load, a[0], b[0]) + score_added_by_one_more(
                load, b[0], a[0]
            )
            if each:
                both = model.new_int_var(0, a[2] * b[2], f"both[{node.name},{i},{j}]")
                model.add_multiplication_equality(both, [a[1], b[1]])
                terms.append(each * both)
    return LinearExpr.sum(terms)


def summed_node_usage_variances_expr(
    model: CpModel, problem: Problem, x: PlacementVariables
) -> Expression:
    """Sum the variances of the new pods' shares, looked up by how many pods are on each node."""
    terms: list[Expression] = []
    for node, load, assignments in _loads(problem, x):
        groups = _groups(model, problem, node, assignments)
        rows = {
            counts: variance_score_sum(_with(load, [ask for ask, _, _ in groups], counts))
            for counts in product(*(range(most + 1) for _, _, most in groups))
        }
        highest = max(rows.values())
        if highest:
            found = model.new_int_var(0, highest, f"variances[{node.name}]")
            model.add_allowed_assignments(
                [*(count for _, count, _ in groups), found],
                [(*counts, value) for counts, value in rows.items()],
            )
            terms.append(found)
    return LinearExpr.sum(terms)


def mean_score_product_count(problem: Problem) -> int:
    """Return how many products `mean_share_score_sum` has to give the solver."""
    return sum(len(asks) * (len(asks) - 1) // 2 for asks in _asks(problem))


def variance_table_row_count(problem: Problem) -> int:
    """Return how many rows the tables of `summed_node_usage_variances_expr` have together."""
    return sum(prod(count + 1 for count in asks.values()) for asks in _asks(problem))


def _asks(problem: Problem) -> Iterator[Mapping[StrategyPodRequest, int]]:
    """Yield for each node: what pods could ask of it -> how many pods could ask for that."""
    pods = Counter(problem.pods)
    by_kind: dict[int, Counter[StrategyPodRequest]] = {}
    for node in problem.nodes:
        if node.kind not in by_kind:
            asks = by_kind[node.kind] = Counter()
            for shape, fits in enumerate(problem.fits):
                fit = fits[node.kind]
                if fit is not None and fit.ask is not None:
                    asks[fit.ask] += pods[shape]
        yield by_kind[node.kind]


def _loads(
    problem: Problem, x: PlacementVariables
) -> Iterator[tuple[NodeState, StrategyNodeLoad, tuple[Assignment, ...]]]:
    for node, assignments in zip(problem.nodes, x.on_node, strict=True):
        assert node.load is not None
        yield node, node.load, assignments


def _ask(assignment: Assignment) -> StrategyPodRequest:
    assert assignment.fit.ask is not None
    return assignment.fit.ask


_Group = tuple[StrategyPodRequest, IntVar, int]
"""What some pods equally ask of a node, how many of them come there, and how many could at most."""


def _groups(
    model: CpModel, problem: Problem, node: NodeState, assignments: Sequence[Assignment]
) -> list[_Group]:
    alike: dict[StrategyPodRequest, list[Assignment]] = {}
    for assignment in assignments:
        alike.setdefault(_ask(assignment), []).append(assignment)
    groups = []
    for i, (ask, members) in enumerate(alike.items()):
        most = min(len(problem.pods), sum(assignment.most for assignment in members))
        count = members[0].count
        if len(members) > 1:
            count = model.new_int_var(0, most, f"alike[{node.name},{i}]")
            model.add(count == pods_expr(members))
        groups.append((ask, count, most))
    return groups


def _with(
    load: StrategyNodeLoad, asks: Sequence[StrategyPodRequest], counts: Sequence[int]
) -> StrategyNodeLoad:
    for ask, count in zip(asks, counts, strict=True):
        for _ in range(count):
            load = load.with_pod(ask)
    return load


def _pairs_of(model: CpModel, count: Expression, most: int, name: str) -> Expression:
    """Return the number of pairs of `count` pods, or more; it is exact where it is minimised."""
    if most < 2:
        return 0
    pairs = model.new_int_var(0, most * (most - 1) // 2, name)
    for j in range(1, min(most, MOST_TANGENTS)):
        model.add(pairs >= j * count - j * (j + 1) // 2)
    if most > MOST_TANGENTS:
        square = model.new_int_var(0, most * most, f"square:{name}")
        model.add_multiplication_equality(square, [count, count])
        model.add(2 * pairs == square - count)
    return pairs


FAMILY = ModelFamily(
    name=RuleFamilyName.NODE_STRATEGY,
    tiers={
        USABLE: usable_points_of_rooms_expr,
        PACK_NODES: used_node_count_expr,
        PACK_USED: score_sum_if_each_came_alone_expr,
        SPREAD_PAIRS: spread_strategy_pod_pairs_expr,
        SPREAD_USED: score_sum_if_each_came_alone_expr,
        LEAST_REQUESTED: summed_mean_node_usage_expr,
        MOST_BALANCED: summed_node_usage_variances_expr,
    },
    countable=always,
    plain=always,
    sees_links=never,
    exchangeable=always,
)
