"""Whether the pods of a decision have a place on its nodes, found by trying everything (B16)."""

from dataclasses import replace

from brute_force import best_placement
from leaves import TooManyLeavesError
from placer.scheduling.decision import Decision
from placer_models.cluster import Instance
from placer_models.pod import PodSpec

PIN = "the-node-decided"
"""The label by which a node is asked for; nobody else asks for it."""

MOST_LEAVES = 3_000
"""Insides of nodes that are tried before a decision is given up."""


def can_be_confirmed(running: Instance, decision: Decision) -> bool | None:
    """Return whether all pods of a decision fit its nodes beside what runs; None: too many ways,
    or a pin would change the domains over which a pod spreads.

    Nothing is shared with the Scheduler but the words, and the judge.
    """
    node_of = {place.key: place.node for place in decision.placement.pods}
    if not set(node_of.values()) <= {node.name for node in running.nodes}:
        return False
    nodes = [
        replace(node, labels=tuple(sorted((*node.labels, (PIN, node.name)))))
        for node in running.nodes
    ]
    gangs = []
    decided = [pod for gang in decision.batch.gangs for pod in gang.pods if pod.key in node_of]
    if any(_spreads_by_selector(pod.spec) and _selects(pod.spec) for pod in decided):
        return None
    for gang in decision.batch.gangs:
        pods = tuple(
            replace(pod, spec=_pinned(pod.spec, node_of[pod.key]))
            for pod in gang.pods
            if pod.key in node_of
        )
        if pods:
            gangs.append(replace(gang, pods=pods, minimum=len(pods)))
    if not gangs:
        return True
    wanted = Instance(tuple(nodes), tuple(gangs), running=running.running)
    try:
        best = best_placement(wanted, MOST_LEAVES)
    except TooManyLeavesError:
        return None
    return len(best.placement.pods) == len(node_of)


def _pinned(spec: PodSpec, node: str) -> PodSpec:
    """Return the spec of a pod that may go to one node only, and spreads over those it did.

    A selector leaves nodes out of the domains of a spread that goes by selectors. A pod that has
    none leaves none out.
    """
    return replace(
        spec,
        node_selector=tuple(sorted((*spec.node_selector, (PIN, node)))),
        spread=tuple(replace(one, by_selector=False) for one in spec.spread),
    )


def _spreads_by_selector(spec: PodSpec) -> bool:
    return any(one.by_selector for one in spec.spread)


def _selects(spec: PodSpec) -> bool:
    return bool(spec.node_selector or spec.node_affinity)


def may_be_refused(running: Instance, decision: Decision) -> bool:
    """Return whether there is no place for all pods, as far as can be tried."""
    return not can_be_confirmed(running, decision)
