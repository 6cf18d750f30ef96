"""Amounts on the NUMA nodes that an alignment allows, by counting (C12)."""

from collections.abc import Sequence
from itertools import combinations
from math import comb

from placer.counting.account import Account
from placer.counting.node_resources import NODE_RESOURCES
from placer.search.reasons.question import Question
from placer.state.alignment import aligned, counted_per_cpu, limit_of
from placer_models.pod import PodSpec
from placer_models.policy import AlignmentPolicy, QosClass
from placer_models.reasons import Demand

COUNTED = ("cpu-count", "memory", "hugepages", "device-count")
"""Rules whose amounts come in parts from NUMA nodes, each without a look at the others."""

ELSEWHERE = (*NODE_RESOURCES, "shared-pool")
"""Rules whose amounts no NUMA node has."""

MOST_SETS = 2_000
"""The most sets of NUMA nodes that are looked through."""


def is_plain(demand: Demand, asked: Question) -> bool:
    """Return whether counting on NUMA nodes says all about an alignment beside amounts.

    It does for pods that own their CPUs or ask for none, if no pod of a pool runs beside them.
    """
    spec = asked.spec
    return (
        demand.rule == "alignment"
        and demand.word in (AlignmentPolicy.SINGLE_NUMA_NODE, AlignmentPolicy.RESTRICTED)
        and spec.qos.owns_cpus
        and not any(runner.pod.spec.qos in (QosClass.LS, QosClass.BE) for runner in asked.running)
    )


def meet(policy: str, asked: Question, account: Account, amounts: Sequence[Demand]) -> bool | None:
    """Return whether some NUMA nodes that the policy allows hold all amounts, None if unknown.

    Args:
        policy: Restricted or SingleNUMANode.
        asked: A question that asks for these amounts alone.
        account: What is left on the node.
        amounts: Demands of rules in ``COUNTED`` only.

    """
    needs, _, real = aligned(
        asked.spec.requests,
        asked.node,
        milli_per_cpu=counted_per_cpu(asked.spec, asked.node, AlignmentPolicy(policy)),
    )
    most, possible = limit_of(AlignmentPolicy(policy), real, needs)
    homes = [numa.id for numa in asked.node.machine.topology.numa_nodes]
    if not possible:
        return False
    if most is None or most > len(homes):
        return None if most is None else False
    if comb(len(homes), most) > MOST_SETS:
        return None
    rows = [_by_numa_node(demand, asked, account) for demand in amounts]
    wanted = [_need(demand, asked.spec) for demand in amounts]
    return any(
        all(
            row.get(None, 0) + sum(row.get(home, 0) for home in some) >= want
            for row, want in zip(rows, wanted, strict=True)
        )
        for some in combinations(homes, most)
    )


def _need(demand: Demand, spec: PodSpec) -> int:
    requests = spec.requests
    match demand.rule:
        case "cpu-count":
            return requests.cpu_milli // 1000
        case "memory":
            return requests.memory_bytes
        case "hugepages":
            return requests.pages_of(int(demand.subject))
        case _:
            return requests.count_of(demand.subject)


def _by_numa_node(demand: Demand, asked: Question, account: Account) -> dict[int | None, int]:
    """Return NUMA node -> what it has left; None -> what is on no NUMA node and binds no pod."""
    topology = asked.node.machine.topology
    found: dict[int | None, int] = {}

    def count(home: int | None, amount: int = 1) -> None:
        found[home] = found.get(home, 0) + amount

    match demand.rule:
        case "cpu-count":
            for cpu in account.cores.free_cpus:
                if (home := topology.cpu[cpu].numa_node) is not None:
                    count(home)
        case "memory":
            for home, amount in account.memory.bytes_in.items():
                count(home, max(0, amount))
        case "hugepages":
            for (home, size), amount in account.memory.pages.items():
                if size == int(demand.subject):
                    count(home, max(0, amount))
        case _:
            for device in account.devices.healthy:
                free = (device.type, device.minor) in account.devices.free
                if free and device.type == demand.subject:
                    count(device.numa_node)
    return found
