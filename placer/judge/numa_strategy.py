"""Tier ``numa-strategy``: how far the CPUs taken depart from the strategies of nodes."""

from collections import Counter
from collections.abc import Iterable
from typing import assert_never

from placer.judge.family import JudgedFamily
from placer.judge.scene import CellId, InstanceWithPlacement, JudgedNode, PlacedPod
from placer_models.goals import NUMA_STRATEGY
from placer_models.policy import BindPolicy, NodeBindPolicy, NumaStrategy

_Shares = Counter[CellId]
"""NUMA node -> CPUs."""


def numa_strategy_shortfall(scene: InstanceWithPlacement) -> int:
    """Return tier ``numa-strategy``, over nodes with a strategy and NUMA nodes to choose from."""
    total = 0
    for judged in scene.entered:
        strategy = _strategy_of(judged)
        if strategy is not None and len(judged.inside.cpus_in) > 1:
            total += _on_node(judged, strategy)
    return total


def _strategy_of(judged: JudgedNode) -> NumaStrategy | None:
    """Return the node's own strategy, or the scheduler's default where it has none."""
    return judged.node.numa_strategy or judged.node.defaults.numa_strategy


def _on_node(judged: JudgedNode, strategy: NumaStrategy) -> int:
    owners = [placed for placed in judged.new if placed.owned]
    shares = [_shares(judged, placed) for placed in owners]
    fewest = [_fewest(judged, placed) for placed in owners]
    beyond = sum(len(share) - least for share, least in zip(shares, fewest, strict=True))
    points = len(judged.inside.allocatable) ** 2
    match strategy:
        case NumaStrategy.MOST_ALLOCATED:
            return points * beyond + _free_beside(_free_before(judged), shares)
        case NumaStrategy.LEAST_ALLOCATED:
            own = sum(
                _pairs_of_parts(share.total(), least)
                for share, least in zip(shares, fewest, strict=True)
            )
            return points * beyond + _crowded(_free_before(judged), shares) - own
        case NumaStrategy.DISTRIBUTE_EVENLY:
            uneven = (
                _uneven(share, _cpus_apart(judged, placed))
                for share, placed in zip(shares, owners, strict=True)
            )
            return points * sum(uneven) + beyond
        case never:
            assert_never(never)


def _shares(judged: JudgedNode, placed: PlacedPod) -> _Shares:
    cpus = judged.inside.topology.cpu
    return Counter(cpus[cpu].numa_node for cpu in placed.owned if cpu in cpus)


def _fewest(judged: JudgedNode, placed: PlacedPod) -> int:
    """Return the fewest NUMA nodes of the empty node that hold the CPUs asked for."""
    return fewest_groups_holding_owned_cpus(placed, judged.inside.cpus_in.values())


def fewest_groups_holding_owned_cpus(placed: PlacedPod, sizes: Iterable[int]) -> int:
    """Return the fewest groups of CPUs, of these sizes, that hold the CPUs that a pod asks for."""
    missing = placed.requests.cpu_milli // 1000
    count = 0
    for size in sorted(sizes, reverse=True):
        if missing <= 0:
            break
        missing -= size
        count += 1
    return count


def _free_before(judged: JudgedNode) -> _Shares:
    """Return how many CPUs of each NUMA node running pods leave free."""
    running = frozenset[int]().union(*(t.owned for t in judged.placed_pods if not t.new))
    cpus = judged.inside.topology.cpu
    return Counter(cpus[cpu].numa_node for cpu in judged.inside.allocatable - running)


def _free_beside(free: _Shares, shares: list[_Shares]) -> int:
    """Sum up, over new CPUs, how many more CPUs their NUMA node had free than the fullest one."""
    fullest = min(free.values(), default=0)
    return sum(count * (free[cell] - fullest) for share in shares for cell, count in share.items())


def _crowded(free: _Shares, shares: list[_Shares]) -> int:
    """Count the pairs of each new CPU with another CPU in use in its NUMA node.

    In use are the new CPUs, and as many others as the NUMA node had fewer free than the idlest.
    """
    idlest = max(free.values(), default=0)
    taken = sum(shares, Counter())
    return sum(
        count * (count - 1) // 2 + count * (idlest - free[cell]) for cell, count in taken.items()
    )


def _pairs_of_parts(cpus: int, parts: int) -> int:
    """Return how many pairs of CPUs share a part if the parts are as equal as can be."""
    sizes = [cpus // parts + (part < cpus % parts) for part in range(parts)]
    return sum(size * (size - 1) // 2 for size in sizes)


def _uneven(share: _Shares, slack: int) -> int:
    cpus = share.values()
    return max(0, max(cpus, default=0) - min(cpus, default=0) - slack)


def _cpus_apart(judged: JudgedNode, placed: PlacedPod) -> int:
    """Return by how many CPUs even shares may differ: a core where whole ones are wanted."""
    wish, of_node = placed.pod.spec.bind, judged.node.cpu_bind
    if wish is BindPolicy.DEFAULT and of_node is NodeBindPolicy.NONE:
        wish = judged.node.defaults.bind
    whole = wish is BindPolicy.FULL_PCPUS or of_node is NodeBindPolicy.FULL_PCPUS_ONLY
    return most_threads_per_core(judged) if whole else 1


def most_threads_per_core(judged: JudgedNode) -> int:
    """Return the most threads that a core of the node has."""
    return max(map(len, judged.inside.topology.cores.values()))


def even_numa_cpu_counts(judged: JudgedNode, placed: PlacedPod) -> list[int]:
    """Return the CPUs of each NUMA node under DistributeEvenly, if as few as can be have them.

    Empty where the node has another strategy, or none.
    """
    if _strategy_of(judged) is not NumaStrategy.DISTRIBUTE_EVENLY:
        return []
    asked, parts = placed.requests.cpu_milli // 1000, _fewest(judged, placed)
    return [asked // parts + (part < asked % parts) for part in range(parts)]


JUDGED = JudgedFamily(tiers={NUMA_STRATEGY: numa_strategy_shortfall})
