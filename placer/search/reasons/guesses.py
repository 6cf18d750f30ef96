"""Guesses of where running pods have their memory, and what may be otherwise without them (C12).

A pod that a policy binds to NUMA nodes has its CPUs where its memory is. So where it was guessed to
have it decides about owned CPUs, bound CPUs and memory of one NUMA node, and not about sums.
"""

from collections.abc import Iterable

from placer.search.reasons.register import REASON_RULES
from placer_models.bound import numa_nodes_bound_to
from placer_models.cluster import Node, RunningPod
from placer_models.effective import effective_alignment_policy
from placer_models.pod import PodSpec
from placer_models.policy import BINDING
from placer_models.reasons import Blocker


def blocker_depends_on_guess(
    blocker: Blocker, spec: PodSpec, node: Node, running: Iterable[RunningPod]
) -> bool:
    """Return whether a blocker might not be there, were the memory of running pods elsewhere."""
    rules = [REASON_RULES[demand.rule] for demand in (blocker.demand, *blocker.others)]
    return any(rule.binds_to_numa_nodes for rule in rules) and fit_depends_on_guessed_numa_nodes(
        spec, node, running, memory=any(rule.takes_memory for rule in rules)
    )


def fit_depends_on_guessed_numa_nodes(
    spec: PodSpec, node: Node, running: Iterable[RunningPod], *, memory: bool = True
) -> bool:
    """Return whether guesses may decide if a pod has a place on a node.

    Args:
        spec: What the pod asks for.
        node: The node.
        running: What runs there.
        memory: Whether its memory and hugepages count.

    """
    guessed = [runner for runner in running if runner.guessed]
    if not guessed:
        return False
    asked = spec.requests
    aligned = effective_alignment_policy(spec, node) in BINDING
    if aligned and memory and (asked.memory_bytes or asked.hugepages):
        return True
    takes_cpus = asked.cpu_milli > 0 and (spec.qos.owns_cpus or aligned or spec.constrained_burst)
    return takes_cpus and any(numa_nodes_bound_to(r.placement, r.pod.spec, node) for r in guessed)
