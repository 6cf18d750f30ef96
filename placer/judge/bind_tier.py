"""Tier ``bind``: CPUs taken against a preferred bind policy."""

from collections import Counter
from collections.abc import Iterable
from typing import assert_never

from placer.judge.cpus import in_whole_cores
from placer.judge.scene import Scene, Site, Tenant
from placer_models.policy import BindPolicy, NodeBindPolicy, Strength


def cpus_against_policy(scene: Scene) -> int:
    """Return the sum over newly placed pods that own CPUs and only prefer a policy."""
    return sum(
        _against(site, tenant)
        for site, tenant in scene.newcomers()
        if tenant.qos.owns_cpus and _is_preferred(site, tenant)
    )


def _is_preferred(site: Site, tenant: Tenant) -> bool:
    """Return whether the pod's own wish counts.

    Where the node has a policy that holds, and the wish counts only if it would be better
    kept elsewhere: SpreadByPCPUs on a node of whole cores.
    """
    spec = tenant.pod.spec
    if site.node.cpu_bind is NodeBindPolicy.NONE:
        return spec.bind is BindPolicy.DEFAULT or spec.bind_strength is Strength.PREFERRED
    spreads = spec.bind is BindPolicy.SPREAD_BY_PCPUS and not spec.bind_required
    return spreads and site.node.cpu_bind is NodeBindPolicy.FULL_PCPUS_ONLY


def _against(site: Site, tenant: Tenant) -> int:
    """Return the pod's CPUs against its policy, less those that no choice could avoid."""
    inside, asked = site.inside, tenant.requests.cpu_milli // 1000
    match tenant.pod.spec.bind:
        case BindPolicy.DEFAULT:
            whole = in_whole_cores(inside.topology, tenant.owned) | inside.efficient
            sizes = [len(core) for core in inside.whole_cores if not core & inside.efficient]
            sizes += [1] * len(inside.allocatable & inside.efficient)
            return len(tenant.owned - whole) - (asked - _most(sizes, asked))
        case BindPolicy.FULL_PCPUS:
            whole = in_whole_cores(inside.topology, tenant.owned)
            sizes = [len(core) for core in inside.whole_cores]
            return len(tenant.owned - whole) - (asked - _most(sizes, asked))
        case BindPolicy.SPREAD_BY_PCPUS:
            cpus = inside.topology.cpu
            cores = {cpus[cpu].core for cpu in inside.allocatable}
            touched = {cpus[cpu].core for cpu in tenant.owned if cpu in cpus}
            return len(tenant.owned) - len(touched) - max(0, asked - len(cores))
        case never:
            assert_never(never)


def _most(sizes: Iterable[int], asked: int) -> int:
    """Return the largest sum of some of the sizes that is at most what is asked for."""
    within = (1 << (asked + 1)) - 1
    sums = 1  # bit i: some choice of cores has i threads
    for size, count in Counter(sizes).items():
        for _ in range(min(count, asked // size)):
            sums |= (sums << size) & within
    return sums.bit_length() - 1
