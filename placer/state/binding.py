"""CPU binding: which threads of cores a pod may own on a node, by the pod's and node's policy."""

from dataclasses import dataclass

from placer.state.strategies import partial_core_cpus_if_numa_even
from placer_models.cluster import Node
from placer_models.cpuset import CpuSet
from placer_models.effective import pod_or_default_bind_policy
from placer_models.pod import PodSpec
from placer_models.policy import BindPolicy, ExclusivePolicy, HybridCoreKind, NodeBindPolicy
from placer_models.topology import ARM

_OF_NODE = {
    NodeBindPolicy.FULL_PCPUS_ONLY: BindPolicy.FULL_PCPUS,
    NodeBindPolicy.SPREAD_BY_PCPUS: BindPolicy.SPREAD_BY_PCPUS,
}


@dataclass(frozen=True, slots=True)
class EffectiveBindPolicy:
    """The bind policy that holds for a pod on a node.

    Attributes:
        policy: FULL_PCPUS or SPREAD_BY_PCPUS.
        required: Whether it may not be broken.
        asked: Whether the pod or the node names it; otherwise it is what Default stands for.
        rule: The name of the rule that requires it.
        remainder: How many CPUs even the empty node must place against a preferred policy.
        waived: How many more than these cost nothing: of Default, what even shares over NUMA
            nodes break.
        spread_wished: Whether the node takes only whole cores, but the pod would like one thread
            of each. The remainder is then that of this wish.

    """

    policy: BindPolicy
    required: bool
    asked: bool
    rule: str
    remainder: int
    spread_wished: bool = False
    waived: int = 0


def effective_bind_policy_on_node(spec: PodSpec, node: Node) -> EffectiveBindPolicy | str:
    """Return the policy that holds: the node's if it has one, else the pod's (C8, C10, C13).

    A pod that names none has the scheduler's default (C22). If pod and node exclude each other,
    return the name of the rule by which they do instead.
    """
    said = pod_or_default_bind_policy(spec, node)
    policy = BindPolicy.FULL_PCPUS if said is BindPolicy.DEFAULT else said
    on_arm = node.machine.topology.architecture == ARM
    if on_arm and spec.constrained_burst:
        return "arm-cpu-policy"
    if not spec.qos.owns_cpus:
        return EffectiveBindPolicy(
            policy, required=False, asked=False, rule="cpu-bind", remainder=0
        )
    of_node = _OF_NODE.get(node.cpu_bind)
    if spec.bind_required and of_node not in (None, policy):
        return "node-cpu-bind"
    if on_arm:
        spreads = BindPolicy.SPREAD_BY_PCPUS in (of_node, policy)
        if spreads or spec.exclusive is ExclusivePolicy.PCPU_LEVEL:
            return "arm-cpu-policy"
    if of_node is not None:
        wished = of_node is BindPolicy.FULL_PCPUS and policy is BindPolicy.SPREAD_BY_PCPUS
        return EffectiveBindPolicy(
            of_node,
            required=True,
            asked=True,
            rule="node-cpu-bind",
            remainder=_remainder(policy, spec, node) if wished else 0,
            spread_wished=wished,
        )
    if spec.bind_required:
        return EffectiveBindPolicy(policy, required=True, asked=True, rule="cpu-bind", remainder=0)
    remainder, by_default = _remainder(said, spec, node), said is BindPolicy.DEFAULT
    return EffectiveBindPolicy(
        policy,
        required=False,
        asked=not by_default,
        rule="cpu-bind",
        remainder=remainder,
        waived=max(0, partial_core_cpus_if_numa_even(spec, node) - remainder) if by_default else 0,
    )


def has_cores_for(binding: EffectiveBindPolicy, want: int, free: CpuSet, node: Node) -> bool:
    """Return whether ``want`` of the node's free CPUs can be taken under a required policy."""
    if not binding.required:
        return want <= len(free)
    if binding.policy is BindPolicy.SPREAD_BY_PCPUS:
        return want <= sum(1 for threads in node.machine.topology.cores.values() if threads & free)
    return bool(_whole_sums(free, node) >> want & 1)


def _remainder(said: BindPolicy, spec: PodSpec, node: Node) -> int:
    want = spec.requests.cpu_milli // 1000
    allocatable = node.machine.topology.online - node.reserved_cpus
    if said is BindPolicy.SPREAD_BY_PCPUS:
        cores = node.machine.topology.cores.values()
        return max(0, want - sum(1 for threads in cores if threads & allocatable))
    sums = _whole_sums(allocatable, node, by_thread=said is BindPolicy.DEFAULT)
    return want - (sums & ((2 << want) - 1)).bit_length() + 1


def _whole_sums(free: CpuSet, node: Node, *, by_thread: bool = False) -> int:
    """Return a number whose bit i says whether some wholly free cores have i threads together.

    Args:
        free: CPUs that may be taken.
        node: The node.
        by_thread: Whether efficiency cores may be taken in part.

    """
    sums = 1
    topology = node.machine.topology
    for threads in topology.cores.values():
        if by_thread and topology.cpu[min(threads)].kind is HybridCoreKind.EFFICIENCY:
            for _ in threads & free:
                sums |= sums << 1
        elif threads <= free:
            sums |= sums << len(threads)
    return sums
