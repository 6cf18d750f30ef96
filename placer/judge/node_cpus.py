"""Rules about the CPUs that a node lets pods own, whatever the pods say."""

from collections.abc import Iterator

from placer.judge.cpus import cpus_with_all_siblings_in_set, cpus_with_sibling_in_set
from placer.judge.family import Finding, JudgedFamily, pod_breach_finding
from placer.judge.scene import InstanceWithPlacement, JudgedNode, PlacedPod
from placer_models.cpuset import format_cpu_list
from placer_models.policy import BindPolicy, ExclusivePolicy, NodeBindPolicy, RequiredOrPreferred
from placer_models.topology import ARM

_ALLOWED = {
    NodeBindPolicy.FULL_PCPUS_ONLY: (BindPolicy.FULL_PCPUS, "all online threads of a core or none"),
    NodeBindPolicy.SPREAD_BY_PCPUS: (BindPolicy.SPREAD_BY_PCPUS, "at most one thread of a core"),
}
"""Policy of a node -> the required policy of pods that agrees with it, and what it allows."""


def node_cpu_bind_breaches(scene: InstanceWithPlacement) -> Iterator[Finding]:
    """A pod that owns CPUs keeps to the node's bind policy, and requires no other."""
    for judged, placed in scene.newcomers:
        if not placed.qos.owns_cpus or judged.node.cpu_bind is NodeBindPolicy.NONE:
            continue
        same, allowed = _ALLOWED[judged.node.cpu_bind]
        where = f"node {judged.node.name!r} is {judged.node.cpu_bind}"
        if _required(placed) not in (None, same):
            yield pod_breach_finding(
                placed, f"requires {placed.pod.spec.bind}, but {where}; they have to agree"
            )
        elif wrong := _against(judged, placed):
            yield pod_breach_finding(
                placed, f"owns CPUs {format_cpu_list(wrong)}, but {where}: a pod takes {allowed}"
            )


def arm_cpu_policy_breaches(scene: InstanceWithPlacement) -> Iterator[Finding]:
    """On Arm no pod is under SpreadByPCPUs, ConstrainedBurst or PCPULevel."""
    for judged, placed in scene.newcomers:
        if judged.inside.topology.architecture != ARM:
            continue
        if placed.pod.spec.constrained_burst:
            yield pod_breach_finding(
                placed,
                f"is on the aarch64 node {judged.node.name!r}, and it asks for ConstrainedBurst; "
                "aarch64 takes FullPCPUs",
            )
        if not placed.qos.owns_cpus:
            continue
        of_node = judged.node.cpu_bind is NodeBindPolicy.SPREAD_BY_PCPUS
        if of_node or placed.pod.spec.bind is BindPolicy.SPREAD_BY_PCPUS:
            whose = f"its node {judged.node.name!r}" if of_node else "it"
            yield pod_breach_finding(
                placed,
                f"is on the aarch64 node {judged.node.name!r}, and {whose} asks for "
                "SpreadByPCPUs; aarch64 takes FullPCPUs",
            )
        if placed.pod.spec.exclusive is ExclusivePolicy.PCPU_LEVEL:
            yield pod_breach_finding(
                placed,
                f"is on the aarch64 node {judged.node.name!r}, and it asks for PCPULevel; "
                "aarch64 takes NUMANodeLevel",
            )


def _required(placed: PlacedPod) -> BindPolicy | None:
    spec = placed.pod.spec
    is_wish = spec.bind_strength is RequiredOrPreferred.PREFERRED or spec.bind is BindPolicy.DEFAULT
    return None if is_wish else spec.bind


def _against(judged: JudgedNode, placed: PlacedPod) -> frozenset[int]:
    if judged.node.cpu_bind is NodeBindPolicy.FULL_PCPUS_ONLY:
        return placed.owned - cpus_with_all_siblings_in_set(judged.inside.topology, placed.owned)
    return cpus_with_sibling_in_set(judged.inside.topology, placed.owned)


JUDGED = JudgedFamily(
    rules={
        "node-cpu-bind": node_cpu_bind_breaches,
        "arm-cpu-policy": arm_cpu_policy_breaches,
    }
)
