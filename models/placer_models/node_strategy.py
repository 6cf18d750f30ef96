"""Node strategies: which of the nodes that could take a pod is the best for it (B12, B13).

Those here look at what pods ask for and at nothing inside a node, so a node's worth follows
from the pods that are there (`expected` is told in `placer_models.expected`).
A *share* is (used + asked) / total of one resource class; scores
are in millionths, and each is rounded down once.
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from math import prod
from typing import NamedTuple


class NodeStrategy(StrEnum):
    """What the last tier of an answer looks at; the value is the word in files and commands."""

    USABLE = "usable"
    """What later pods can still have: GPU sets, MIG instances, whole cores, rooms."""

    PACK = "pack"
    """The fewest nodes in use, then the most used ones: whole nodes stay free."""

    SPREAD = "spread"
    """As few pods beside each other as possible, then the least used nodes."""

    LEAST_REQUESTED = "least-requested"
    """The lowest mean, over the classes asked for, of the shares that are then requested."""

    MOST_BALANCED = "most-balanced"
    """The lowest variance of these shares."""

    EXPECTED = "expected"
    """What expected pods can still use of GPUs: fill and scarcity prices."""


LOOK_AT_WHAT_IS_LEFT = frozenset({NodeStrategy.USABLE, NodeStrategy.EXPECTED})
"""The strategies that look at what is left on a node, and not at who is there."""

MILLION = 1_000_000
"""Scores are in millionths."""

FIRST_WEIGHT = 1_000 * MILLION
"""Weight in `pod_cost_by_node_strategy` of what a strategy counts first: above any score."""


class StrategyPodRequest(NamedTuple):
    """What a pod asks of a node, class by class.

    Attributes:
        amounts: What the pod takes of each class.
        classes: Indices of the classes that the pod asks for; its score looks at these only.

    """

    amounts: tuple[int, ...]
    classes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class StrategyNodeLoad:
    """Who is on a node, as strategies see it.

    Attributes:
        strategy: Any but ``usable`` and ``expected``, which look at what is left.
        running: How many pods ran there before the batch.
        used: What these pods asked for, of each class.
        total: What the node has of each class.
        new: (ask, how many pods of the batch there ask for that), ascending.

    """

    strategy: NodeStrategy
    running: int
    used: tuple[int, ...]
    total: tuple[int, ...]
    new: tuple[tuple[StrategyPodRequest, int], ...] = ()

    @property
    def newcomers(self) -> int:
        """How many pods of the batch are there."""
        return sum(count for _, count in self.new)

    def with_pod(self, ask: StrategyPodRequest) -> "StrategyNodeLoad":
        """Return the load with one more pod."""
        counts = dict(self.new)
        counts[ask] = counts.get(ask, 0) + 1
        return replace(self, new=tuple(sorted(counts.items())))


def mean_share_if_pod_came_alone(load: StrategyNodeLoad, ask: StrategyPodRequest) -> int:
    """Return the mean share of the classes asked for, if the pod came alone (B12)."""
    amounts = [load.used[c] + ask.amounts[c] for c in ask.classes]
    return _mean(amounts, [load.total[c] for c in ask.classes])


def score_added_by_one_more(
    load: StrategyNodeLoad, ask: StrategyPodRequest, other: StrategyPodRequest
) -> int:
    """Return by how much another pod of the batch on its node raises a pod's mean share."""
    amounts = [other.amounts[c] for c in ask.classes]
    return _mean(amounts, [load.total[c] for c in ask.classes])


def variance_score(load: StrategyNodeLoad, ask: StrategyPodRequest) -> int:
    """Return the variance of the shares of the classes asked for, after the batch (B13)."""
    count = len(ask.classes)
    if count < 2:
        return 0
    totals = [load.total[c] for c in ask.classes]
    whole = prod(totals)
    shares = [
        (load.used[c] + sum(n * a.amounts[c] for a, n in load.new)) * (whole // load.total[c])
        for c in ask.classes
    ]
    spread = count * sum(share * share for share in shares) - sum(shares) ** 2
    return MILLION * spread // (count * whole) ** 2


def _mean(amounts: list[int], totals: list[int]) -> int:
    """Return the mean of amounts / totals in millionths, rounded down; 0 where there are none."""
    if not amounts:
        return 0
    whole = prod(totals)
    shares = sum(a * (whole // total) for a, total in zip(amounts, totals, strict=True))
    return MILLION * shares // (len(amounts) * whole)


def one_if_node_in_use(load: StrategyNodeLoad) -> int:
    """Return 1 where any pod is, 0 elsewhere."""
    return int(load.running > 0 or bool(load.new))


def count_pod_pairs_with_new(load: StrategyNodeLoad) -> int:
    """Return how many pairs of pods on the node have at least one new pod."""
    new = load.newcomers
    return new * (new - 1) // 2 + new * load.running


def score_sum_if_each_came_alone(load: StrategyNodeLoad) -> int:
    """Return the sum of the scores that the new pods would have if each came alone."""
    return sum(count * mean_share_if_pod_came_alone(load, ask) for ask, count in load.new)


def mean_share_score_sum(load: StrategyNodeLoad) -> int:
    """Return the sum of the mean shares of the new pods, with all of them there."""
    beside = sum(
        count * (others - (other == ask)) * score_added_by_one_more(load, ask, other)
        for ask, count in load.new
        for other, others in load.new
    )
    return score_sum_if_each_came_alone(load) + beside


def variance_score_sum(load: StrategyNodeLoad) -> int:
    """Return the sum over the new pods of the variance of their shares."""
    return sum(count * variance_score(load, ask) for ask, count in load.new)


def pod_cost_by_node_strategy(load: StrategyNodeLoad, ask: StrategyPodRequest) -> int:
    """Return what one more pod costs on the node, never below 0; the greedy path chooses by it.

    Under ``most-balanced`` it is only the pod's own variance, because others may gain by it.
    """
    after = load.with_pod(ask)
    match load.strategy:
        case NodeStrategy.PACK:
            fuller = max(0, MILLION - mean_share_if_pod_came_alone(load, ask))
            return FIRST_WEIGHT * (one_if_node_in_use(after) - one_if_node_in_use(load)) + fuller
        case NodeStrategy.SPREAD:
            return FIRST_WEIGHT * (
                count_pod_pairs_with_new(after) - count_pod_pairs_with_new(load)
            ) + mean_share_if_pod_came_alone(load, ask)
        case NodeStrategy.LEAST_REQUESTED:
            return mean_share_score_sum(after) - mean_share_score_sum(load)
        case NodeStrategy.MOST_BALANCED:
            return variance_score(after, ask)
        case NodeStrategy.USABLE | NodeStrategy.EXPECTED:
            return 0
