"""Tier ``opened`` where pods are plain sums: nodes are bins, filled by whole patterns.

A model that counts pods node by node finds it hard to see that a few more nodes are
really needed; patterns of full nodes say it at once. They know the amounts of nodes only. What
else a rule may ask is left to the judge, and can only make more nodes needed, so the bound
holds for any batch that is placed as a whole.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass

from placer.packing.bins import Filling, PackingBin, PackingProblem
from placer.packing.fewest import pack_into_fewest_bins
from placer.packing.step_limit import PackingStepBudget
from placer.search.budget import SolveBudget
from placer.search.plain_pods import is_shape_barred_from_node, plain_choice_on
from placer_models.cpsat.families import takes_plain_amounts
from placer_models.problem.node_state import NodeState
from placer_models.problem.problem import Choices, Problem

STEP_LIMIT = 500_000
"""Steps that the search for fewer nodes may take; a few seconds."""


@dataclass(frozen=True, slots=True)
class FewestOpenedNodesResult:
    """A way to open few nodes.

    Attributes:
        choices: Places for the same pods.
        bound: The same pods never open fewer nodes than this.

    """

    choices: Choices
    bound: int


def open_fewest_nodes(
    problem: Problem, start: Choices, budget: SolveBudget
) -> FewestOpenedNodesResult | None:
    """Return places that open as few nodes as the steps allow, or None if patterns do not apply.

    Args:
        problem: The batch; its offered nodes must be alike, and its pods plain sums.
        start: Places that are known; the same pods get places.
        budget: Stops the search when it is over.

    """
    offered = [index for index, node in enumerate(problem.nodes) if node.offered]
    shapes = sorted({problem.pods[pod] for pod in start})
    if (
        not offered
        or not shapes
        or not all(takes_plain_amounts(problem, shape) for shape in shapes)
    ):
        return None
    if len({problem.nodes[index] for index in offered}) > 1:
        return None
    order = [index for index, node in enumerate(problem.nodes) if not node.offered]
    counts = Counter(problem.pods[pod] for pod in start)
    packing = PackingProblem(
        tuple(_bin(problem, problem.nodes[index], shapes) for index in order),
        _bin(problem, problem.nodes[offered[0]], shapes),
        tuple(counts[shape] for shape in shapes),
    )
    used = {choice.node for choice in start.values()}
    order += [index for index in offered if index in used]
    number_of = {index: number for number, index in enumerate(order)}
    filling = [[0] * len(shapes) for _ in order]
    for pod, choice in start.items():
        filling[number_of[choice.node]][shapes.index(problem.pods[pod])] += 1
    limit = PackingStepBudget(STEP_LIMIT, lambda: budget.over)
    packed = pack_into_fewest_bins(packing, filling, limit)
    order += [index for index in offered if index not in used]
    if len(packed.filling) > len(order):
        return None
    return FewestOpenedNodesResult(
        _choices(problem, start, shapes, order, packed.filling), packed.bound
    )


def _bin(problem: Problem, node: NodeState, shapes: list[int]) -> PackingBin:
    """Return the node as a bin; its last amount is of something that no node has."""
    sizes = (
        (
            *problem.shapes[shape].amounts_on(node),
            int(is_shape_barred_from_node(problem, shape, node)),
        )
        for shape in shapes
    )
    return PackingBin((*node.amounts, 0), tuple(sizes))


def _choices(
    problem: Problem, start: Choices, shapes: list[int], order: list[int], filling: Filling
) -> Choices:
    """Return which pods the things of a filling are: earlier pods on earlier nodes."""
    waiting: defaultdict[int, list[int]] = defaultdict(list)
    for pod in sorted(start, reverse=True):
        waiting[problem.pods[pod]].append(pod)
    choices = {}
    for index, counts in zip(order, filling, strict=False):
        place = plain_choice_on(problem, index)
        for shape, count in zip(shapes, counts, strict=True):
            for _ in range(count):
                choices[waiting[shape].pop()] = place
    return dict(sorted(choices.items()))
