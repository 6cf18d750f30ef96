"""CPUs that pods own by id, and the tier of those taken against a preferred bind policy."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import assert_never

from placer.judge.family import Finding, JudgedFamily, pod_breach_finding
from placer.judge.numa_strategy import even_numa_cpu_counts, most_threads_per_core
from placer.judge.scene import InstanceWithPlacement, JudgedNode, PlacedPod
from placer_models.cpuset import CpuSet, format_cpu_list
from placer_models.goals import BIND
from placer_models.policy import BindPolicy, NodeBindPolicy
from placer_models.quantity import cpu_count_with_noun
from placer_models.topology import ARM, Topology

ALLOWED_BY_BIND_POLICY = {
    BindPolicy.FULL_PCPUS: "all online threads of a core or none",
    BindPolicy.SPREAD_BY_PCPUS: "at most one thread of a core",
}
"""Bind policy that may be required -> what a pod takes under it."""


def cpu_count_breaches(scene: InstanceWithPlacement) -> Iterator[Finding]:
    """An LSE or LSR pod owns exactly the CPUs it asks for, a whole number."""
    for _, placed in scene.newcomers:
        asked_milli = placed.requests.cpu_milli
        if placed.qos.owns_cpus and len(placed.owned) * 1000 != asked_milli:
            yield pod_breach_finding(
                placed,
                f"owns {cpu_count_with_noun(1000 * len(placed.owned))} "
                f"({format_cpu_list(placed.owned)}); an {placed.qos} pod owns exactly its "
                f"request, which is {asked_milli / 1000:g}",
            )


def cpu_allocatable_breaches(scene: InstanceWithPlacement) -> Iterator[Finding]:
    """Owned CPUs are online and not reserved."""
    for judged, placed in scene.newcomers:
        if outside := placed.owned - judged.inside.allocatable:
            yield pod_breach_finding(
                placed,
                f"owns CPUs {_reasons(judged, outside)}; node {judged.node.name!r} gives "
                f"{format_cpu_list(judged.inside.allocatable)}",
            )


def cpu_exclusive_breaches(scene: InstanceWithPlacement) -> Iterator[Finding]:
    """A CPU has one owner at most, running pods included."""
    for judged in scene.entered:
        owner: dict[int, PlacedPod] = {}
        for placed in judged.placed_pods:
            shared: dict[str, list[int]] = defaultdict(list)
            for cpu in placed.owned:
                first = owner.setdefault(cpu, placed)
                if first is not placed and (first.new or placed.new):
                    shared[first.title].append(cpu)
            for other, cpus in shared.items():
                yield pod_breach_finding(
                    placed,
                    f"owns CPUs {format_cpu_list(cpus)} of node {judged.node.name!r}, which pod "
                    f"{other!r} owns; a CPU has one owner",
                )


def cpu_bind_breaches(scene: InstanceWithPlacement) -> Iterator[Finding]:
    """Required FullPCPUs takes whole cores only, required SpreadByPCPUs one CPU of a core."""
    for judged, placed in scene.newcomers:
        spec = placed.pod.spec
        if not (spec.qos.owns_cpus and spec.bind_required):
            continue
        if wrong := cpus_against_bind_policy(judged.inside.topology, spec.bind, placed.owned):
            yield pod_breach_finding(
                placed,
                f"owns CPUs {format_cpu_list(wrong)} of node {judged.node.name!r} against its "
                f"required {spec.bind}, which takes {ALLOWED_BY_BIND_POLICY[spec.bind]}",
            )


def cpus_against_bind_policy(topology: Topology, policy: BindPolicy, cpus: CpuSet) -> CpuSet:
    """Return those of a pod's CPUs that a policy other than Default, if required, forbids."""
    if policy is BindPolicy.FULL_PCPUS:
        return cpus - cpus_with_all_siblings_in_set(topology, cpus)
    return cpus_with_sibling_in_set(topology, cpus)


def cpus_with_all_siblings_in_set(topology: Topology, cpus: CpuSet) -> CpuSet:
    """Return those of the CPUs whose cores are in the set with all online threads."""
    touched = {topology.cpu[cpu].core for cpu in cpus & topology.online}
    return frozenset().union(
        *(threads for core in touched if (threads := topology.cores[core]) <= cpus)
    )


def cpus_with_sibling_in_set(topology: Topology, cpus: CpuSet) -> CpuSet:
    """Return those of the CPUs that share a core with another of them."""
    core = {cpu: topology.cpu[cpu].core for cpu in cpus if cpu in topology.cpu}
    count = Counter(core.values())
    return frozenset(cpu for cpu in core if count[core[cpu]] > 1)


def _reasons(judged: JudgedNode, cpus: CpuSet) -> str:
    present = frozenset(judged.inside.topology.cpu)
    online = judged.inside.topology.online
    parts = (
        (cpus - present, "not on the machine"),
        (cpus & present - online, "offline"),
        (cpus & online & judged.node.reserved_cpus, "reserved"),
    )
    return ", ".join(f"{format_cpu_list(part)} ({why})" for part, why in parts if part)


def cpu_count_against_policy(scene: InstanceWithPlacement) -> int:
    """Return tier ``bind``: the sum over new pods that own CPUs and only prefer a policy."""
    return sum(
        _cpus_against(judged, placed)
        for judged, placed in scene.newcomers
        if placed.qos.owns_cpus and _is_preferred(judged, placed)
    )


def _is_preferred(judged: JudgedNode, placed: PlacedPod) -> bool:
    """Return whether the pod's own wish counts.

    A policy of the node takes precedence. The wish then counts only if another node would keep
    it better: SpreadByPCPUs on a node of whole cores.
    """
    spec = placed.pod.spec
    if judged.node.cpu_bind is NodeBindPolicy.NONE:
        return not spec.bind_required
    spreads = spec.bind is BindPolicy.SPREAD_BY_PCPUS and not spec.bind_required
    return spreads and judged.node.cpu_bind is NodeBindPolicy.FULL_PCPUS_ONLY


def _wish(judged: JudgedNode, placed: PlacedPod) -> BindPolicy:
    """Return the pod's own wish, or the scheduler's default, on a node that leaves it to them.

    SpreadByPCPUs is no default for Arm, where pods take whole cores.
    """
    own, default = placed.pod.spec.bind, judged.node.defaults.bind
    if own is not BindPolicy.DEFAULT:
        return own
    on_arm = judged.inside.topology.architecture == ARM
    return own if on_arm and default is BindPolicy.SPREAD_BY_PCPUS else default


def _cpus_against(judged: JudgedNode, placed: PlacedPod) -> int:
    """Return how many of the pod's CPUs are against its policy, beyond the unavoidable ones."""
    inside, asked = judged.inside, placed.requests.cpu_milli // 1000
    match _wish(judged, placed):
        case BindPolicy.DEFAULT:
            whole = cpus_with_all_siblings_in_set(inside.topology, placed.owned) | inside.efficient
            sizes = [len(core) for core in inside.whole_cores if not core & inside.efficient]
            sizes += [1] * len(inside.allocatable & inside.efficient)
            unavoidable, found = asked - _most(sizes, asked), len(placed.owned - whole)
            shares = even_numa_cpu_counts(judged, placed)
            by_shares = sum(share % most_threads_per_core(judged) for share in shares)
            if len(shares) > 1 and by_shares > unavoidable:
                return max(0, found - by_shares)
            return found - unavoidable
        case BindPolicy.FULL_PCPUS:
            whole = cpus_with_all_siblings_in_set(inside.topology, placed.owned)
            sizes = [len(core) for core in inside.whole_cores]
            return len(placed.owned - whole) - (asked - _most(sizes, asked))
        case BindPolicy.SPREAD_BY_PCPUS:
            cpus = inside.topology.cpu
            cores = {cpus[cpu].core for cpu in inside.allocatable}
            touched = {cpus[cpu].core for cpu in placed.owned if cpu in cpus}
            return len(placed.owned) - len(touched) - max(0, asked - len(cores))
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


JUDGED = JudgedFamily(
    rules={
        "cpu-count": cpu_count_breaches,
        "cpu-allocatable": cpu_allocatable_breaches,
        "cpu-exclusive": cpu_exclusive_breaches,
        "cpu-bind": cpu_bind_breaches,
    },
    tiers={BIND: cpu_count_against_policy},
)
