"""Rules about the CPUs that a node lets pods own, whatever the pods say."""

from collections.abc import Iterator

from placer.judge.cpus import in_whole_cores, on_shared_cores
from placer.judge.family import JudgedFamily
from placer.judge.finding import Finding
from placer.judge.scene import JudgedNode, PlacedPod, Scene
from placer_models.cpuset import format_cpu_list
from placer_models.policy import BindPolicy, ExclusivePolicy, NodeBindPolicy, Strength
from placer_models.topology import ARM

_ALLOWED = {
    NodeBindPolicy.FULL_PCPUS_ONLY: (BindPolicy.FULL_PCPUS, "all online threads of a core or none"),
    NodeBindPolicy.SPREAD_BY_PCPUS: (BindPolicy.SPREAD_BY_PCPUS, "at most one thread of a core"),
}
"""Policy of a node -> the required policy of pods that agrees with it, and what it allows."""


def node_cpu_bind(scene: Scene) -> Iterator[Finding]:
    """A pod that owns CPUs keeps to the node's bind policy, and requires no other."""
    for site, tenant in scene.newcomers:
        if not tenant.qos.owns_cpus or site.node.cpu_bind is NodeBindPolicy.NONE:
            continue
        same, allowed = _ALLOWED[site.node.cpu_bind]
        where = f"node {site.node.name!r} is {site.node.cpu_bind}"
        if _required(tenant) not in (None, same):
            yield Finding(
                tenant.title,
                f"pod {tenant.title!r} requires {tenant.pod.spec.bind}, but {where}; "
                "they have to agree",
            )
        elif wrong := _against(site, tenant):
            yield Finding(
                tenant.title,
                f"pod {tenant.title!r} owns CPUs {format_cpu_list(wrong)}, but {where}: "
                f"a pod takes {allowed}",
            )


def arm_cpu_policy(scene: Scene) -> Iterator[Finding]:
    """On Arm no pod is under SpreadByPCPUs, ConstrainedBurst or PCPULevel."""
    for site, tenant in scene.newcomers:
        if site.inside.topology.architecture != ARM:
            continue
        if tenant.pod.spec.constrained_burst:
            yield Finding(
                tenant.title,
                f"pod {tenant.title!r} is on the aarch64 node {site.node.name!r}, and it asks "
                "for ConstrainedBurst; aarch64 takes FullPCPUs",
            )
        if not tenant.qos.owns_cpus:
            continue
        of_node = site.node.cpu_bind is NodeBindPolicy.SPREAD_BY_PCPUS
        if of_node or tenant.pod.spec.bind is BindPolicy.SPREAD_BY_PCPUS:
            whose = f"its node {site.node.name!r}" if of_node else "it"
            yield Finding(
                tenant.title,
                f"pod {tenant.title!r} is on the aarch64 node {site.node.name!r}, and {whose} "
                "asks for SpreadByPCPUs; aarch64 takes FullPCPUs",
            )
        if tenant.pod.spec.exclusive is ExclusivePolicy.PCPU_LEVEL:
            yield Finding(
                tenant.title,
                f"pod {tenant.title!r} is on the aarch64 node {site.node.name!r}, and it asks "
                "for PCPULevel; aarch64 takes NUMANodeLevel",
            )


def _required(tenant: PlacedPod) -> BindPolicy | None:
    spec = tenant.pod.spec
    is_wish = spec.bind_strength is Strength.PREFERRED or spec.bind is BindPolicy.DEFAULT
    return None if is_wish else spec.bind


def _against(site: JudgedNode, tenant: PlacedPod) -> frozenset[int]:
    if site.node.cpu_bind is NodeBindPolicy.FULL_PCPUS_ONLY:
        return tenant.owned - in_whole_cores(site.inside.topology, tenant.owned)
    return on_shared_cores(site.inside.topology, tenant.owned)


JUDGED = JudgedFamily(
    rules={
        "node-cpu-bind": node_cpu_bind,
        "arm-cpu-policy": arm_cpu_policy,
    }
)
