"""Reasons about CPUs: how many, owned or shared, and which of them."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace

from placer.counting.account import Account
from placer.search.reasons.amounts import with_changed_requests
from placer.search.reasons.question import PodOnNode, has_pool_bound_pods
from placer.search.reasons.rule import (
    CPU,
    AskedAndLeft,
    PerNumaNode,
    ReasonRule,
    Said,
    nothing_per_numa_node,
    only_demands_of_rule,
    owned_cpu_count,
    rule_demand_key,
    rule_demand_text,
)
from placer_models.bound import numa_nodes_bound_to
from placer_models.cluster import RunningPod
from placer_models.cpuset import CpuSet
from placer_models.effective import effective_exclusive_policy
from placer_models.kubernetes.insides import is_node_topology_known
from placer_models.message_text import count_with_noun
from placer_models.pod import PodSpec
from placer_models.policy import (
    BindPolicy,
    ExclusivePolicy,
    NodeBindPolicy,
    QosClass,
    RequiredOrPreferred,
)
from placer_models.reasons import RuleDemand
from placer_models.topology import ARM

_NOWHERE: CpuSet = frozenset()

_WHOLE_NODE = "whole-node"
"""The word of a pool that is all CPUs of its node."""


def _floats(_: RuleDemand, asked: PodOnNode) -> bool:
    """Return whether CPUs are counted for the node as a whole, because no pod is bound there."""
    return not has_pool_bound_pods(asked)


def _owned(asked: PodOnNode) -> Iterator[RuleDemand]:
    if asked.spec.qos.owns_cpus and asked.spec.requests.cpu_milli:
        yield RuleDemand("cpu-count")


def _without_cpus(asked: PodOnNode, _: RuleDemand) -> PodOnNode:
    return with_changed_requests(asked, lambda requests: replace(requests, cpu_milli=0))


def _cpu_amounts(_: RuleDemand, asked: PodOnNode, account: Account) -> AskedAndLeft:
    return AskedAndLeft(asked.spec.requests.cpu_milli, 1000 * len(account.cores.free_cpus), CPU)


def _own_said(spec: PodSpec) -> str:
    return count_with_noun(owned_cpu_count(spec), "CPU")


def _cpus_per_numa_node(_: RuleDemand, asked: PodOnNode, account: Account) -> PerNumaNode:
    cpu = asked.node.machine.topology.cpu
    homes = (cpu[i].numa_node for i in account.cores.free_cpus)
    return owned_cpu_count(asked.spec), Counter(home for home in homes if home is not None)


def _shared_pool(asked: PodOnNode) -> Iterator[RuleDemand]:
    spec = asked.spec
    beside = any(runner.pod.spec.qos is QosClass.LS for runner in asked.running)
    if spec.qos is QosClass.LS or (spec.qos.owns_cpus and spec.requests.cpu_milli and beside):
        # Where no inside is known there is one pool: the node's CPUs.
        whole = spec.qos is QosClass.LS and not is_node_topology_known(asked.node)
        yield RuleDemand("shared-pool", word=_WHOLE_NODE if whole else "")


def _best_effort_pool(asked: PodOnNode) -> Iterator[RuleDemand]:
    spec = asked.spec
    beside = any(runner.pod.spec.qos is QosClass.BE for runner in asked.running)
    if spec.qos is QosClass.BE or (spec.qos is QosClass.LSE and spec.requests.cpu_milli and beside):
        yield RuleDemand("be-pool")


def _without_pool(qos: QosClass) -> Callable[[PodOnNode, RuleDemand], PodOnNode]:
    """Return what drops the need for a pool: of the pod itself, or of the pods that run there.

    A pod without that need counts as an owner of no CPUs instead. Bound pods keep theirs.
    """

    def without(asked: PodOnNode, demand: RuleDemand) -> PodOnNode:
        if asked.spec.qos is qos:
            asked = _without_cpus(asked, demand)
            if asked.spec.constrained_burst:
                return asked
            none = replace(
                asked.spec,
                qos=QosClass.LSR,
                bind=BindPolicy.DEFAULT,
                exclusive=ExclusivePolicy.NONE,
            )
            return replace(asked, spec=none, node=replace(asked.node, cpu_bind=NodeBindPolicy.NONE))

        def freed(runner: RunningPod) -> RunningPod:
            spec = runner.pod.spec
            if spec.qos is not qos or numa_nodes_bound_to(runner.placement, spec, asked.node):
                return runner
            owner = replace(spec, qos=QosClass.LSR, constrained_burst=False)
            return replace(
                runner,
                pod=replace(runner.pod, spec=owner),
                placement=replace(runner.placement, cpuset=_NOWHERE),
            )

        return replace(asked, running=tuple(map(freed, asked.running)))

    return without


def _pool_amounts(left_milli: int, spec: PodSpec) -> AskedAndLeft | None:
    """Return what a pod of a pool asks of it; who would own CPUs asks for no amount of it."""
    return None if spec.qos.owns_cpus else AskedAndLeft(spec.requests.cpu_milli, left_milli, CPU)


def _pool_column(demand: RuleDemand, spec: PodSpec) -> Hashable:
    """Say that the amount decides if there is one: then a pool without CPUs has too little, too."""
    asks = spec.requests.cpu_milli > 0 and not spec.qos.owns_cpus
    return rule_demand_key(demand, spec) if asks else None


def _milli(demand: RuleDemand, spec: PodSpec) -> str:
    if spec.qos.owns_cpus:
        return rule_demand_text(demand, spec)
    return _cpus_said(spec)


def _cpus_said(spec: PodSpec) -> str:
    return count_with_noun(spec.requests.cpu_milli / 1000, "CPU")


def say_which_pool_is_short(
    demand: RuleDemand, others: Sequence[RuleDemand], spec: PodSpec
) -> Said:
    """Say which pool would be too small, whether the pod shares its CPUs or takes them away."""
    if spec.qos.owns_cpus:
        text = f"{demand.name} needs CPUs that the pod would own, {owned_cpu_count(spec)} of them"
        return text, only_demands_of_rule("cpu-count", others)
    milli = spec.requests.cpu_milli
    if milli and demand.word == _WHOLE_NODE:
        return f"CPU: asks {milli / 1000:g}", ()
    return f"{demand.name} {f'asks {_cpus_said(spec)}' if milli else 'is empty'}", ()


def _bind(asked: PodOnNode) -> Iterator[RuleDemand]:
    if asked.spec.qos.owns_cpus and asked.spec.bind_required:
        yield RuleDemand("cpu-bind", word=asked.spec.bind)


def _without_bind(asked: PodOnNode, _: RuleDemand) -> PodOnNode:
    return replace(asked, spec=replace(asked.spec, bind_strength=RequiredOrPreferred.PREFERRED))


def _say_bind(_: RuleDemand, others: Sequence[RuleDemand], spec: PodSpec) -> Said:
    return _bound("cpu-bind", others, spec, full=spec.bind is BindPolicy.FULL_PCPUS)


def _node_bind(asked: PodOnNode) -> Iterator[RuleDemand]:
    if asked.spec.qos.owns_cpus and asked.node.cpu_bind is not NodeBindPolicy.NONE:
        yield RuleDemand("node-cpu-bind", word=asked.node.cpu_bind)


def _without_node_bind(asked: PodOnNode, _: RuleDemand) -> PodOnNode:
    return replace(asked, node=replace(asked.node, cpu_bind=NodeBindPolicy.NONE))


def _say_node_bind(demand: RuleDemand, others: Sequence[RuleDemand], spec: PodSpec) -> Said:
    if of_pod := only_demands_of_rule("cpu-bind", others):
        return f"node-cpu-bind: pod asks {spec.bind}, node has {demand.word}", of_pod
    full = demand.word == NodeBindPolicy.FULL_PCPUS_ONLY
    return _bound("node-cpu-bind", others, spec, full=full)


def _bound(rule: str, others: Sequence[RuleDemand], spec: PodSpec, *, full: bool) -> Said:
    policy = BindPolicy.FULL_PCPUS if full else BindPolicy.SPREAD_BY_PCPUS
    how = "in whole cores, to the very count" if full else "each on a core of its own"
    return f"{rule} {policy} asks {_own_said(spec)} {how}", only_demands_of_rule(
        "cpu-count", others
    )


def _apart_by(rule: str, policy: ExclusivePolicy) -> Callable[[PodOnNode], Iterable[RuleDemand]]:
    """Return what asks to be apart from others, where the policy holds for the pod on the node."""

    def asked(question: PodOnNode) -> Iterator[RuleDemand]:
        spec = question.spec
        if spec.qos.owns_cpus and effective_exclusive_policy(spec, question.node) is policy:
            yield RuleDemand(rule)

    return asked


def _not_exclusive(asked: PodOnNode, _: RuleDemand) -> PodOnNode:
    return replace(asked, spec=replace(asked.spec, exclusive=ExclusivePolicy.NONE))


def _say_apart(demand: RuleDemand, others: Sequence[RuleDemand], spec: PodSpec) -> Said:
    text = f"{demand.name} asks {_own_said(spec)} apart from other pods"
    return text, only_demands_of_rule("cpu-count", others)


def _on_arm(asked: PodOnNode) -> Iterator[RuleDemand]:
    on_arm = asked.node.machine.topology.architecture == ARM
    if on_arm and (asked.spec.qos.owns_cpus or asked.spec.constrained_burst):
        yield RuleDemand("arm-cpu-policy")


def _not_on_arm(asked: PodOnNode, _: RuleDemand) -> PodOnNode:
    machine = asked.node.machine
    elsewhere = replace(machine, topology=replace(machine.topology, architecture="x86_64"))
    return replace(asked, node=replace(asked.node, machine=elsewhere))


def _say_arm(_: RuleDemand, others: Sequence[RuleDemand], spec: PodSpec) -> Said:
    if spec.constrained_burst:
        burst = only_demands_of_rule("constrained-burst", others)
        return f"arm-cpu-policy: {ARM} takes FullPCPUs, not ConstrainedBurst", burst
    if exclusive := only_demands_of_rule("exclusive-cores", others):
        return f"arm-cpu-policy: {ARM} takes NUMANodeLevel, not PCPULevel", exclusive
    text = f"arm-cpu-policy: {ARM} takes FullPCPUs, not SpreadByPCPUs"
    return text, only_demands_of_rule("node-cpu-bind", others)


def _of_pool(
    name: str, asked: Callable[[PodOnNode], Iterator[RuleDemand]], qos: QosClass
) -> ReasonRule:
    return ReasonRule(
        name=name,
        asked=asked,
        without=_without_pool(qos),
        brief=_milli,
        said=say_which_pool_is_short,
        lacks=lambda _, asked, account: account.pools.of(qos).is_short_of(asked.spec),
        settles=_floats,
        amounts=lambda _, asked, account: _pool_amounts(
            account.pools.of(qos).left_milli, asked.spec
        ),
        column=_pool_column,
        needs="cpu-count",
        is_amount=True,
        per_numa_node=nothing_per_numa_node if qos is QosClass.LS else None,
    )


AMOUNTS = (
    ReasonRule(
        name="cpu-count",
        asked=_owned,
        without=_without_cpus,
        brief=lambda _, spec: _own_said(spec),
        said=lambda _, __, spec: (f"cpu-count asks {_own_said(spec)} of its own", ()),
        lacks=lambda _, asked, account: (
            asked.spec.requests.cpu_milli > 1000 * len(account.cores.free_cpus)
        ),
        settles=_floats,
        amounts=_cpu_amounts,
        is_amount=True,
        per_numa_node=_cpus_per_numa_node,
    ),
    _of_pool("shared-pool", _shared_pool, QosClass.LS),
    _of_pool("be-pool", _best_effort_pool, QosClass.BE),
)

WHICH = (
    ReasonRule(name="cpu-bind", asked=_bind, without=_without_bind, said=_say_bind),
    ReasonRule(
        name="node-cpu-bind", asked=_node_bind, without=_without_node_bind, said=_say_node_bind
    ),
    ReasonRule(
        name="exclusive-cores",
        asked=_apart_by("exclusive-cores", ExclusivePolicy.PCPU_LEVEL),
        without=_not_exclusive,
        said=_say_apart,
    ),
    ReasonRule(
        name="exclusive-numa-nodes",
        asked=_apart_by("exclusive-numa-nodes", ExclusivePolicy.NUMA_NODE_LEVEL),
        without=_not_exclusive,
        said=_say_apart,
    ),
)

ON_ARM = (ReasonRule(name="arm-cpu-policy", asked=_on_arm, without=_not_on_arm, said=_say_arm),)
