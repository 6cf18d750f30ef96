"""The rule about LS pods that stay in the shared pool of some NUMA nodes (C8)."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping

from placer.judge.cells import policy_of
from placer.judge.finding import Finding
from placer.judge.scene import Scene, Site, Tenant
from placer_models.cpuset import CpuSet, format_cpu_list
from placer_models.policy import AlignmentPolicy

Homes = frozenset[int]
"""The NUMA nodes in whose shared pool a pod runs."""


def constrained_burst(scene: Scene) -> Iterator[Finding]:
    """A constrained pod runs in all the shared pool of NUMA nodes that holds its limit.

    And the requests of such pods can be shared out over their NUMA nodes.
    """
    for site in scene.touched():
        tenants = [t for t in site.tenants if t.pod.spec.constrained_burst]
        if tenants:
            for tenant in tenants:
                yield from _is_held(site, tenant)
            yield from _requests_fit(site, tenants)


def burst_pool(site: Site, tenant: Tenant) -> CpuSet:
    """Return the shared pool on the NUMA nodes of the pod's cpuset."""
    topology = site.inside.topology
    homes = _homes(site, tenant)
    pool = topology.online - site.taken
    return frozenset(cpu for cpu in pool if topology.cpu[cpu].numa_node in homes)


def _homes(site: Site, tenant: Tenant) -> Homes:
    known = site.inside.topology.cpu
    homes = {known[cpu].numa_node for cpu in tenant.place.cpuset if cpu in known}
    return frozenset(home for home in homes if home is not None)


def _is_held(site: Site, tenant: Tenant) -> Iterator[Finding]:
    who, node = f"ConstrainedBurst pod {tenant.title!r}", site.node.name
    pool, limit = burst_pool(site, tenant), tenant.pod.spec.burst_cpus
    if tenant.new and policy_of(site, tenant) is not AlignmentPolicy.NONE:
        yield Finding(
            tenant.title,
            f"{who} is on node {node!r}, which aligns by {site.node.alignment}; it goes to nodes "
            "without a NUMA policy",
        )
    if tenant.new and (tenant.place.cpuset != pool or not pool):
        yield Finding(
            tenant.title,
            f"{who} runs on CPUs {_text(tenant.place.cpuset)}; it runs in all of the shared pool "
            f"of its NUMA nodes on node {node!r}, which is {_text(pool)}",
        )
    cpu = site.inside.topology.cpu
    owned_anew = [
        cpu[c].numa_node for t in site.new for c in t.owned if c in cpu and t is not tenant
    ]
    taken = _homes(site, tenant).intersection(owned_anew)
    if len(pool) < limit and (tenant.new or taken):
        yield Finding(
            tenant.title,
            f"{who} has the {len(pool)} CPUs {_text(pool)} of node {node!r}; "
            f"its limit needs {limit}",
        )
    emptied = sorted(taken - {cpu[c].numa_node for c in pool})
    if emptied:
        yield Finding(
            tenant.title,
            f"{who} has no CPU left on NUMA node {emptied[0]} of node {node!r}, where it runs; "
            "leave it one",
        )


def _requests_fit(site: Site, tenants: list[Tenant]) -> Iterator[Finding]:
    """Where running pods do not fit by themselves, nobody new may take CPUs."""
    asked = [(_homes(site, t), t.requests.cpu_milli) for t in tenants]
    cpu = site.inside.topology.cpu
    free = Counter(cpu[c].numa_node for c in site.inside.allocatable - site.taken)
    takes = any(t.owned for t in site.new) or any(t.new and t.requests.cpu_milli for t in tenants)
    room = {home: 1000 * count for home, count in free.items() if home is not None}
    short = _short(room, asked) if takes else 0
    if short:
        yield Finding(
            site.node.name,
            f"the ConstrainedBurst pods of node {site.node.name!r} ask for "
            f"{sum(milli for _, milli in asked) / 1000:g} CPUs; their NUMA nodes lack "
            f"{short / 1000:g} of them",
        )


def _short(room: Mapping[int, int], asked: list[tuple[Homes, int]]) -> int:
    """Return by how much the requests exceed the room, each within its NUMA nodes.

    As a flow: every request is raised by paths that move others over, depth first.
    """
    left = dict(room)
    held: list[Counter[int]] = [Counter() for _ in asked]

    def raise_by(pod: int, amount: int, seen: set[int]) -> int:
        for home in sorted(asked[pod][0] - seen):
            seen.add(home)
            direct = min(amount, left.get(home, 0))
            if direct:
                left[home] -= direct
                held[pod][home] += direct
                return direct
            for other in _holders(home):
                moved = raise_by(other, min(amount, held[other][home]), seen)
                if moved:
                    held[other][home] -= moved
                    held[pod][home] += moved
                    return moved
        return 0

    def _holders(home: int) -> Collection[int]:
        return [i for i, mine in enumerate(held) if mine[home] > 0]

    short = 0
    for pod, (_, milli) in enumerate(asked):
        missing = milli
        while missing and (got := raise_by(pod, missing, set())):
            missing -= got
        short += missing
    return short


def _text(cpus: CpuSet) -> str:
    return format_cpu_list(cpus) or "none"
