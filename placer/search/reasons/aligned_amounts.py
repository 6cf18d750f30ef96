"""Amounts on the NUMA nodes that an alignment allows, by counting (C12)."""

from collections.abc import Sequence
from itertools import combinations
from math import comb

from placer.counting.account import Account
from placer.search.reasons.question import PodOnNode
from placer.search.reasons.register import REASON_RULES
from placer.state.alignment import aligned_milli_per_cpu, aligned_needs_and_cells, numa_node_limit
from placer_models.policy import BINDING, AlignmentPolicy, QosClass
from placer_models.reasons import RuleDemand

MOST_SETS = 2_000
"""The most sets of NUMA nodes that are looked through."""


def counting_settles_alignment(demand: RuleDemand, asked: PodOnNode) -> bool:
    """Return whether counting on NUMA nodes says all about an alignment beside amounts.

    It does for pods that own their CPUs or ask for none, if no pod of a pool runs beside them.
    """
    spec = asked.spec
    return (
        demand.rule == "alignment"
        and demand.word in BINDING
        and spec.qos.owns_cpus
        and not any(runner.pod.spec.qos in (QosClass.LS, QosClass.BE) for runner in asked.running)
    )


def has_numa_nodes_for_amounts(
    policy: str, asked: PodOnNode, account: Account, demands: Sequence[RuleDemand]
) -> bool | None:
    """Return whether some NUMA nodes that the policy allows hold all amounts, None if unknown.

    Args:
        policy: Restricted or SingleNUMANode.
        asked: A question that asks for these demands alone.
        account: What is left on the node.
        demands: The demands.

    """
    counts = []
    for demand in demands:
        rule = REASON_RULES[demand.rule]
        if not rule.inside:
            continue
        if rule.per_numa_node is None:
            return None
        counts.append(rule.per_numa_node(demand, asked, account))
    needs, _, real = aligned_needs_and_cells(
        asked.spec.requests,
        asked.node,
        milli_per_cpu=aligned_milli_per_cpu(asked.spec, asked.node, AlignmentPolicy(policy)),
    )
    most, possible = numa_node_limit(AlignmentPolicy(policy), real, needs)
    homes = [numa.id for numa in asked.node.machine.topology.numa_nodes]
    if not possible:
        return False
    if most is None or most > len(homes):
        return None if most is None else False
    if comb(len(homes), most) > MOST_SETS:
        return None
    return any(
        all(
            left.get(None, 0) + sum(left.get(home, 0) for home in some) >= want
            for want, left in counts
        )
        for some in combinations(homes, most)
    )
