"""What strategies count of who is on a node, and the rooms of ``usable``, by hand."""

from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest

from judge.hand import ALL_CPUS, node, pod, put, world
from placer.judge.breaches import breaches
from placer.judge.measure import measure
from placer.quota.choose import QuotaClassUse as Used
from placer.quota.choose import strategy_score_of_used_fractions, used_fractions_after_request
from placer_models.goals import TIERS_OF, USABLE
from placer_models.node_strategy import (
    MILLION,
    NodeStrategy,
    StrategyNodeLoad,
    StrategyPodRequest,
    mean_share_if_pod_came_alone,
    mean_share_score_sum,
    score_added_by_one_more,
    variance_score,
    variance_score_sum,
)
from placer_models.placement import Placement, PodPlacement
from placer_models.pod import Pod
from placer_models.policy import QosClass

LS, LSR, BE = QosClass.LS, QosClass.LSR, QosClass.BE


def worth(
    strategy: NodeStrategy, pods: list[Pod], places: list[PodPlacement], running: list[Pod]
) -> tuple[int, ...]:
    """Return the tiers of a strategy on two equal nodes n and m; what runs is on n."""
    there = [(one, put(one.name, ALL_CPUS, memory={0: 1})) for one in running]
    instance = world(*pods, nodes=(node("n"), node("m")), running=there)
    instance = replace(instance, strategy=strategy)
    assert breaches(instance, Placement(tuple(places))) == ()
    measured = dict(measure(instance, Placement(tuple(places))))
    return tuple(measured[tier] for tier in TIERS_OF[strategy])


def small(name: str, milli: int = 900) -> Pod:
    """Return an LS pod of a tenth of the node's CPUs, and an eighth of its memory."""
    return pod(name, milli / 1000, memory=1, qos=LS)


def at(name: str, on: str) -> PodPlacement:
    """Place a small pod."""
    return put(name, ALL_CPUS, on=on, memory={0: 1})


OWN = (100_000 + 125_000) // 2
"""Millionths of the mean share of a small pod alone on an empty node."""


def test_pack_counts_nodes_in_use_and_how_used_they_are() -> None:
    """
    Node n is in use already. A pod scores what it and what runs there ask for, as if alone.
    """
    pods, runs = [small("a"), small("b")], [small("r")]

    def packed(*places: PodPlacement) -> tuple[int, ...]:
        return worth(NodeStrategy.PACK, pods, list(places), runs)

    assert packed() == (1, 0)
    assert packed(at("a", "n"), at("b", "n")) == (1, 4 * OWN)
    assert packed(at("a", "n"), at("b", "m")) == (2, 3 * OWN)
    assert packed(at("a", "m"), at("b", "m")) == (2, 2 * OWN)


def test_spread_counts_pairs_of_which_one_is_new() -> None:
    """
    Two that run make no pair; one new pod makes two with them, a second two more and one.
    """
    pods, runs = [small("a"), small("b")], [small("r"), small("s")]

    def spread(*places: PodPlacement) -> tuple[int, ...]:
        return worth(NodeStrategy.SPREAD, pods, list(places), runs)

    assert spread() == (0, 0)
    assert spread(at("a", "n")) == (2, 3 * OWN)
    assert spread(at("a", "n"), at("b", "n")) == (5, 6 * OWN)
    assert spread(at("a", "n"), at("b", "m")) == (2, 4 * OWN)
    assert spread(at("a", "m"), at("b", "m")) == (1, 2 * OWN)


def test_least_requested_counts_what_comes_with_a_pod() -> None:
    """
    Both pods of a node see what both ask for, and what runs there.
    """
    pods, runs = [small("a"), small("b")], [small("r")]

    def least(*places: PodPlacement) -> tuple[int, ...]:
        return worth(NodeStrategy.LEAST_REQUESTED, pods, list(places), runs)

    assert least(at("a", "n")) == (2 * OWN,)
    assert least(at("a", "n"), at("b", "n")) == (6 * OWN,)
    assert least(at("a", "n"), at("b", "m")) == (3 * OWN,)
    assert least(at("a", "m"), at("b", "m")) == (4 * OWN,)


def test_most_balanced_counts_the_variance_of_shares() -> None:
    """
    0.1 of the CPUs and 0.125 of the memory lie 0.0125 from their mean; twice that for two.
    """
    pods = [small("a"), small("b")]

    def balanced(*places: PodPlacement) -> tuple[int, ...]:
        return worth(NodeStrategy.MOST_BALANCED, pods, list(places), [])

    assert balanced(at("a", "n")) == (156,)
    assert balanced(at("a", "n"), at("b", "n")) == (2 * 625,)
    assert balanced(at("a", "n"), at("b", "m")) == (2 * 156,)


def test_only_classes_that_a_pod_asks_for_count() -> None:
    """
    A pod that asks for CPUs alone does not mind memory; BE pods have CPUs of their own.
    """
    cpu_only, best_effort = pod("a", 0.9, qos=LS), pod("a", 0.9, qos=BE)
    memory = pod("r", memory=1, qos=LS)

    def least(one: Pod, *running: Pod) -> tuple[int, ...]:
        places = [put("a", ALL_CPUS, on="n")]
        return worth(NodeStrategy.LEAST_REQUESTED, [one], places, list(running))

    assert least(cpu_only, memory) == (100_000,)
    assert least(cpu_only, small("r")) == (200_000,)
    assert least(best_effort, small("r")) == (100_000,)


def test_devices_count_by_what_is_asked_of_them() -> None:
    """
    One of four GPUs is a quarter of the class; the node's other devices say nothing.
    """
    runs = pod("r", gpus=1, memory=1, qos=LS)
    instance = world(
        pod("a", gpus=1, qos=LS),
        nodes=(node("n"),),
        running=[(runs, put("r", ALL_CPUS, gpus=[3], memory={0: 1}))],
    )
    instance = replace(instance, strategy=NodeStrategy.LEAST_REQUESTED)
    place = put("a", ALL_CPUS, gpus=[0])

    (score,) = (value for tier, value in measure(instance, Placement((place,)))[-1:])

    assert score == 500_000


@pytest.mark.parametrize("strategy", [NodeStrategy.LEAST_REQUESTED, NodeStrategy.MOST_BALANCED])
def test_one_pod_alone_is_the_rule_of_the_seed(strategy: NodeStrategy) -> None:
    """
    On random amounts: the exact score of the seed in millionths, rounded down.
    """
    for seed in range(500):
        rng = Random(seed)
        names = [f"c{i}" for i in range(rng.randint(1, 5))]
        uses = {name: Used(rng.randint(1, 10**12), rng.randint(0, 10**12)) for name in names}
        asked = {name: rng.randint(0, 10**11) for name in names}
        exact: Fraction = strategy_score_of_used_fractions(
            strategy, used_fractions_after_request(uses, asked)
        )
        load = StrategyNodeLoad(
            strategy,
            running=1,
            used=tuple(use.used for use in uses.values()),
            total=tuple(use.total for use in uses.values()),
        )
        alone = load.with_pod(StrategyPodRequest(tuple(asked.values()), tuple(range(len(names)))))

        scores = (
            mean_share_score_sum if strategy is NodeStrategy.LEAST_REQUESTED else variance_score_sum
        )
        assert scores(alone) == MILLION * exact.numerator // exact.denominator


def test_scores_of_pods_together_are_their_own_and_what_is_added() -> None:
    """
    The sum of what is rounded down once a pod and once a pair of pods; variances are exact.
    """
    a, b = StrategyPodRequest((1, 0), (0,)), StrategyPodRequest((1, 2), (0, 1))
    load = StrategyNodeLoad(NodeStrategy.LEAST_REQUESTED, 0, (1, 1), (3, 7))
    three = load.with_pod(a).with_pod(b).with_pod(b)

    assert mean_share_if_pod_came_alone(load, a) == MILLION * 2 // 3
    assert score_added_by_one_more(load, a, b) == MILLION // 3
    assert score_added_by_one_more(load, b, a) == MILLION // 6
    assert mean_share_score_sum(three) == (
        mean_share_if_pod_came_alone(load, a)
        + 2 * mean_share_if_pod_came_alone(load, b)
        + 2 * (MILLION // 3 + MILLION // 6)
        + 2 * score_added_by_one_more(load, b, b)
    )
    shares = [Fraction(4, 3), Fraction(5, 7)]
    mean = sum(shares) / 2
    assert variance_score(three, b) == int(MILLION * sum((s - mean) ** 2 for s in shares) / 2)


@pytest.mark.parametrize(
    ("cpu_milli", "memory", "quarters"),
    [(0, 0, 4), (1, 0, 3), (2250, 2, 3), (2251, 2, 2), (2250, 3, 2), (4500, 4, 2), (9000, 8, 0)],
)
def test_rooms_are_what_is_free_of_both(cpu_milli: int, memory: int, quarters: int) -> None:
    """
    A node of 9 CPUs and 8 bytes: its free quarters are the fewer of both, rounded down.
    """
    points = {0: 0, 1: 1, 2: 2 + 2, 3: 3 + 2, 4: 4 + 4 + 4}
    one = pod("a", cpu_milli / 1000, memory=memory, qos=LS)
    in_numa_nodes = {i: part for i, part in ((0, min(4, memory)), (1, memory - 4)) if part > 0}
    instance = world(one, nodes=(node("n"),))

    def usable(*places: PodPlacement) -> int:
        return dict(measure(instance, Placement(places)))[USABLE]

    taken = usable() - usable(put("a", ALL_CPUS, memory=in_numa_nodes))
    assert taken == points[4] - points[quarters]
