"""Rules about the CPUs that a node lets pods own, whatever the pods say."""

from collections.abc import Iterator

from placer.judge.cpus import ALLOWED_BY_BIND_POLICY, cpus_against_bind_policy
from placer.judge.family import Finding, JudgedFamily, pod_breach_finding
from placer.judge.scene import InstanceWithPlacement, JudgedNode, PlacedPod
from placer_models.cpuset import format_cpu_list
from placer_models.policy import BindPolicy, ExclusivePolicy, NodeBindPolicy
from placer_models.topology import ARM

_SAME = {
    NodeBindPolicy.FULL_PCPUS_ONLY: BindPolicy.FULL_PCPUS,
    NodeBindPolicy.SPREAD_BY_PCPUS: BindPolicy.SPREAD_BY_PCPUS,
}
"""Policy of a node -> the required policy of pods that agrees with it."""


def node_cpu_bind_breaches(scene: InstanceWithPlacement) -> Iterator[Finding]:
    """A pod that owns CPUs keeps to the node's bind policy, and requires no other."""
    for judged, placed in scene.newcomers:
        if not placed.qos.owns_cpus or judged.node.cpu_bind is NodeBindPolicy.NONE:
            continue
        spec, same = placed.pod.spec, _SAME[judged.node.cpu_bind]
        where = f"node {judged.node.name!r} is {judged.node.cpu_bind}"
        if spec.bind_required and spec.bind is not same:
            yield pod_breach_finding(
                placed, f"requires {spec.bind}, but {where}; they have to agree"
            )
        elif wrong := cpus_against_bind_policy(judged.inside.topology, same, placed.owned):
            yield pod_breach_finding(
                placed,
                f"owns CPUs {format_cpu_list(wrong)}, but {where}: "
                f"a pod takes {ALLOWED_BY_BIND_POLICY[same]}",
            )


def arm_cpu_policy_breaches(scene: InstanceWithPlacement) -> Iterator[Finding]:
    """On Arm no pod is under SpreadByPCPUs, ConstrainedBurst or PCPULevel."""
    for judged, placed in scene.newcomers:
        if judged.inside.topology.architecture == ARM:
            for who, asked, taken in _refused_on_arm(judged, placed):
                yield pod_breach_finding(
                    placed,
                    f"is on the aarch64 node {judged.node.name!r}, and {who} asks for {asked}; "
                    f"aarch64 takes {taken}",
                )


def _refused_on_arm(judged: JudgedNode, placed: PlacedPod) -> Iterator[tuple[str, str, str]]:
    """Yield who asks for what Arm does not take, what that is, and what Arm takes."""
    spec = placed.pod.spec
    if spec.constrained_burst:
        yield "it", "ConstrainedBurst", "FullPCPUs"
    if not placed.qos.owns_cpus:
        return
    of_node = judged.node.cpu_bind is NodeBindPolicy.SPREAD_BY_PCPUS
    if of_node or spec.bind is BindPolicy.SPREAD_BY_PCPUS:
        whose = f"its node {judged.node.name!r}" if of_node else "it"
        yield whose, "SpreadByPCPUs", "FullPCPUs"
    if spec.exclusive is ExclusivePolicy.PCPU_LEVEL:
        yield "it", "PCPULevel", "NUMANodeLevel"


JUDGED = JudgedFamily(
    rules={
        "node-cpu-bind": node_cpu_bind_breaches,
        "arm-cpu-policy": arm_cpu_policy_breaches,
    }
)
