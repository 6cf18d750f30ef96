"""Which tiers an instance has, and in what order, told a second time from docs/rules.md."""

from collections.abc import Iterator
from dataclasses import replace
from random import Random

import pytest

from features.misfits import with_breaches
from moving_question import questions
from moving_worlds import mixed_moving_instance
from placer_models.cluster import Instance, Node
from placer_models.goals import (
    MOVES,
    USABLE,
    ObjectiveSense,
    all_tiers_most_important_first,
    placed_tier,
)
from placer_models.node_strategy import NodeStrategy
from placer_models.optional_tiers import tiers_asked_by_instance
from placer_models.pod import PodSpec
from placer_models.policy import ExclusivePolicy, PartitionPolicy, QosClass, RequiredOrPreferred
from placer_models.taints import TaintEffect
from second_tellings.drawing import mixed_worlds

IN_ORDER = (
    "opened",
    "moves",
    "exclusivity.cores",
    "exclusivity.numa-nodes",
    "affinity",
    "topology-spread",
    "alignment",
    "node-preference",
    "packages",
    "bind",
    "gathering",
    "caches",
    "joint",
    "partitions",
    "links.pod-minimum",
    "links.pod-sum",
    "links.gang-sum",
    "numa-strategy",
    "locality.numa-nodes",
    "locality.packages",
    "device-choice",
    "usable",
    "pack.nodes",
    "pack.used",
    "spread.pairs",
    "spread.used",
    "least-requested",
    "most-balanced",
    "expected",
)
"""The rows of the page after ``placed.priority-P``."""

ALWAYS = {"alignment", "bind", "links.pod-minimum", "links.pod-sum", "links.gang-sum"}
OF_STRATEGY = {
    "usable": {"usable"},
    "pack": {"pack.nodes", "pack.used"},
    "spread": {"spread.pairs", "spread.used"},
    "least-requested": {"least-requested"},
    "most-balanced": {"most-balanced"},
    "expected": {"expected"},
}
MORE_IS_BETTER = {"usable", "pack.used"}


def by_default(node: Node) -> ExclusivePolicy:
    """Return the exclusive policy that a scheduler's defaults give to a pod without a word."""
    found = node.defaults.exclusive
    by_core = found is ExclusivePolicy.PCPU_LEVEL
    on_arm = node.machine.topology.architecture == "aarch64"
    return ExclusivePolicy.NONE if by_core and on_arm else found


def of_pod(spec: PodSpec, instance: Instance) -> Iterator[str]:
    """Yield the tiers that a pod that waits asks for, beside these nodes."""
    nodes = instance.nodes
    if spec.qos in (QosClass.LSE, QosClass.LSR):
        if spec.exclusive is None or spec.exclusive_strength is RequiredOrPreferred.PREFERRED:
            own = {spec.exclusive} - {None}
            for policy in own or {by_default(node) for node in nodes}:
                yield from {
                    ExclusivePolicy.PCPU_LEVEL: ("exclusivity.cores",),
                    ExclusivePolicy.NUMA_NODE_LEVEL: (
                        "exclusivity.cores",
                        "exclusivity.numa-nodes",
                    ),
                }.get(policy, ())
        wishes = {wish.value for node in nodes for wish in spec.locality or node.locality}
        yield from ({"Package": "packages", "LLC": "caches"}[wish] for wish in wishes)
        if any((node.numa_strategy or node.defaults.numa_strategy) is not None for node in nodes):
            yield "numa-strategy"
    if any(term.strength is RequiredOrPreferred.PREFERRED for term in spec.affinity):
        yield "affinity"
    if any(one.strength is RequiredOrPreferred.PREFERRED for one in spec.spread):
        yield "topology-spread"
    soft = {t for n in nodes for t in n.taints if t.effect is TaintEffect.PREFER_NO_SCHEDULE}
    met = [taint for taint in soft if not any(one.tolerates(taint) for one in spec.tolerations)]
    if met or (spec.node_affinity is not None and spec.node_affinity.preferred):
        yield "node-preference"
    if spec.joint is not None and spec.joint.strength is RequiredOrPreferred.PREFERRED:
        yield "joint"
    asked = spec.requests.devices
    prefers = [node for node in nodes if node.partition_policy is PartitionPolicy.PREFER]
    if prefers and any(request.type == "gpu" for request in asked):
        yield "partitions"
    if spec.device_choice is not None and any(request.share is not None for request in asked):
        yield "device-choice"
    if spec.wants_locality:
        cells = [{cpu.numa_node for cpu in n.machine.topology.cpus} for n in nodes]
        homes = [{numa.id for numa in node.machine.topology.numa_nodes} for node in nodes]
        if any(len(cell | home) > 1 for cell, home in zip(cells, homes, strict=True)):
            yield "locality.numa-nodes"
        if any(len({cpu.package for cpu in n.machine.topology.cpus}) > 1 for n in nodes):
            yield "locality.packages"


def tiers(instance: Instance) -> list[str]:
    """Return the names of all tiers of an instance, most important first."""
    waiting = [pod.spec for gang in instance.gangs for pod in gang.pods]
    leaving = [running.pod.spec for running in instance.could_leave]
    found = ALWAYS | OF_STRATEGY[instance.strategy.value]
    for spec in dict.fromkeys([*waiting, *leaving]):
        found |= {tier for one in spec.each for tier in of_pod(one, instance)}
    found |= {"opened"} if any(node.offered for node in instance.nodes) else set()
    found |= {"moves"} if instance.move_budget > 0 else set()
    gangs = {(r.pod.namespace, r.placement.gang) for r in instance.could_leave}
    asking = [*instance.gangs, *(g for g in instance.running_gangs if g.key in gangs)]
    if any(
        rule.strength is RequiredOrPreferred.PREFERRED for gang in asking for rule in gang.levels
    ):
        found.add("gathering")
    priorities = sorted({gang.priority for gang in instance.gangs})
    placed = [f"placed.priority-{priority}" for priority in reversed(priorities)]
    return placed + [name for name in IN_ORDER if name in found]


@pytest.mark.parametrize("strategy", NodeStrategy)
def test_an_instance_has_the_tiers_of_the_page(strategy: NodeStrategy) -> None:
    """
    On tiny worlds in which the words of all families meet.
    """
    seen = set()
    for world in mixed_worlds():
        instance = replace(world, strategy=strategy)
        asked = tiers_asked_by_instance(instance)
        found = all_tiers_most_important_first((gang.priority for gang in instance.gangs), asked)
        expected = tiers(instance)
        seen.update(name.split("-")[0] for name in expected)

        assert [tier.name for tier in found] == expected, world.name
        assert {tier.name for tier in found if tier.sense is ObjectiveSense.MAXIMISE} == {
            name for name in expected if name.startswith("placed.") or name in MORE_IS_BETTER
        }
    assert len(seen) > 18


@pytest.mark.parametrize("batch", range(5))
def test_running_pods_in_breach_have_their_tiers(batch: int) -> None:
    """
    Those that could leave ask for tiers as those that wait do, with their gangs.
    """
    leaving = 0
    for seed in range(8 * batch, 8 * batch + 8):
        world = with_breaches(Random(f"tiers-{seed}"), mixed_moving_instance(seed))
        for instance in questions(world):
            leaving += len(instance.could_leave)
            asked = tiers_asked_by_instance(instance)
            priorities = [gang.priority for gang in instance.gangs]

            assert [
                tier.name for tier in all_tiers_most_important_first(priorities, asked)
            ] == tiers(instance)
    assert leaving


def test_of_two_values_the_better_is_by_the_sense_of_the_tier() -> None:
    """
    More points, or fewer moves; an equal value is no better.
    """
    for tier in (USABLE, placed_tier(0)):
        assert [tier.better(a, 2) for a in (1, 2, 3)] == [False, False, True]
    assert [MOVES.better(a, 2) for a in (1, 2, 3)] == [True, False, False]
