"""Holders of what a node lacks: the pods there without which it would have more of it (G7)."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from placer.counting.account import Account, account_of
from placer.explain.explanation import HoldingPod
from placer.search.budget import Budget
from placer.search.reasons.blocking import blocker_by_counting, blocker_of
from placer.search.reasons.question import (
    OtherPods,
    PodOnNode,
    is_kept_away_by_others,
    terms_keeping_pod_away,
)
from placer.search.reasons.register import REASON_RULES, all_demands_of, is_lacking_by_counting
from placer.search.reasons.stages import NodesAtStage
from placer.state.out_of_time import OutOfTimeError
from placer.state.requirements import PodRequirements
from placer_models.affinity import SYSTEM_NAMESPACE
from placer_models.cluster import RunningPod
from placer_models.placement import NamespacedName
from placer_models.reasons import RuleDemand
from placer_models.relations import domain_limits

PlacedKeys = frozenset[NamespacedName]
"""Keys of the pods that the answer places."""


def holders_of(
    demand: RuleDemand, stage: NodesAtStage, ask: PodRequirements, index: int, placed: PlacedKeys
) -> tuple[HoldingPod, ...]:
    """Return who holds what a node lacks of a demand that counting settles, those of most first."""
    asked = stage.question(ask, index)
    if demand.rule == "anti-affinity":
        return tuple(sorted(_kept_apart_by(asked, placed), key=lambda one: one.pod))
    amounts = REASON_RULES[demand.rule].amounts
    now = amounts(demand, asked, stage.account_at(index))
    found = []
    for runner, fewer, account in _without_each(asked):
        then = amounts(demand, fewer, account)
        if now is not None and then is not None:
            if then.left > now.left:
                found.append(_holder(runner, placed, then.left - max(0, now.left)))
        elif not is_lacking_by_counting(demand, fewer, account):
            found.append(_holder(runner, placed))
    return tuple(sorted(found, key=lambda one: (-(one.amount or 0), one.pod)))


def counting_pods(
    demand: RuleDemand, stage: NodesAtStage, ask: PodRequirements, index: int, placed: PlacedKeys
) -> tuple[HoldingPod, ...]:
    """Return the pods that count in the node's domain, where a limit of the pod's own is reached.

    Nobody holds what no pod counts for: the limits of others, and a node in no domain.
    """
    spec = stage.question(ask, index).spec
    found: dict[NamespacedName, HoldingPod] = {}
    for rule, limit in domain_limits(spec, ask.namespace):
        domain = limit.domain(stage.nodes[index])
        if domain is None or (rule, limit.said) != (demand.rule, demand.word):
            continue
        for node, runners in zip(stage.nodes, stage.running, strict=True):
            if limit.domain(node) != domain:
                continue
            for runner in runners:
                if limit.means(runner.pod.spec, runner.pod.namespace):
                    found[runner.pod.key] = _holder(runner, placed)
    return tuple(sorted(found.values(), key=lambda one: one.pod))


def in_the_way(
    stage: NodesAtStage, ask: PodRequirements, index: int, placed: PlacedKeys, budget: Budget
) -> tuple[HoldingPod, ...]:
    """Return the pods of a node each of which alone would have to go for a pod to fit there."""
    found = []
    try:
        for runner, fewer, account in _without_each(stage.question(ask, index)):
            demands = all_demands_of(fewer)
            kept_off = blocker_by_counting(fewer, account, demands)
            if kept_off is None and blocker_of(fewer, account, demands, budget) is None:
                found.append(_holder(runner, placed))
    except OutOfTimeError:
        pass  # those that are known are told
    return tuple(sorted(found, key=lambda one: one.pod))


def _without_each(asked: PodOnNode) -> Iterator[tuple[RunningPod, PodOnNode, Account]]:
    """Yield each pod of the node, and the node without it."""
    for number, runner in enumerate(asked.running):
        if runner.pod.namespace == SYSTEM_NAMESPACE:
            continue
        others = (*asked.running[:number], *asked.running[number + 1 :])
        yield runner, replace(asked, running=others), account_of(asked.node, others)


def _kept_apart_by(asked: PodOnNode, placed: PlacedKeys) -> Iterator[HoldingPod]:
    """Yield the pods on the node, and in its domains, that a pod would have to be apart from."""
    there = {runner.pod.key: (runner, True, list[str]()) for runner in asked.running}
    around = asked.crowd.domains if asked.crowd else {}
    for key, of_key in around.items():
        for runner in of_key.get(asked.node.topology_domain(key) or "", ()):
            there.setdefault(runner.pod.key, (runner, False, []))[2].append(key)
    for runner, is_here, keys in there.values():
        domains: dict[str, dict[str, Sequence[RunningPod]]] = {key: {} for key in around}
        for key in keys:
            domains[key][asked.node.topology_domain(key) or ""] = (runner,)
        crowd = OtherPods((runner,), domains)
        alone = replace(asked, running=(runner,) if is_here else (), crowd=crowd)
        if is_kept_away_by_others(alone) or any(terms_keeping_pod_away(alone)):
            yield _holder(runner, placed)


def _holder(runner: RunningPod, placed: PlacedKeys, amount: int | None = None) -> HoldingPod:
    return HoldingPod(runner.pod.key, amount, placed=runner.pod.key in placed)
