"""Documents of nodes: made from an instance and its placement, and checked."""

from collections.abc import Iterator

from placer.judge.breaches import RULES
from placer.judge.scene import scene_for_judge
from placer.node.pools import cpu_pools_of_node, with_cpus_of_each_container
from placer_models.affinity import SYSTEM_NAMESPACE
from placer_models.cluster import Instance, Node
from placer_models.cpuset import CpuSet, format_cpu_list
from placer_models.illegal_running import running_pod_counted_as_legal
from placer_models.message_text import count_with_noun
from placer_models.node_placement import NodePlacement, NodePlacementPod
from placer_models.placement import Placement
from placer_models.pod import lone_gang, pods_of_gangs
from placer_models.policy import QosClass

_RULES = (
    "cpu-count",
    "cpu-allocatable",
    "cpu-exclusive",
    "containers",
    "device-known",
    "device-exclusive",
    "device-count",
)
"""Rules that must hold for a node's pods together, however they came there."""


def placement_of_node(
    node: Node, instance: Instance, placement: Placement, generation: int = 1
) -> NodePlacement:
    """Return the document of a node of the instance: its running pods, and those placed there.

    A running pod that the placement names is where the placement says, and not where it was. An
    illegal one has what is counted of it.
    """
    found = _by_node(instance, placement).get(node.name, ())
    return with_cpus_of_each_container(NodePlacement(node, tuple(found), generation))


def placement_of_each_node(instance: Instance, placement: Placement) -> Iterator[NodePlacement]:
    """Yield the document of each node of the instance, of generation 1.

    Offered nodes that stay closed do not exist, and have no document.
    """
    found = _by_node(instance, placement)
    for node in instance.nodes:
        if not node.offered or node.name in found:
            yield with_cpus_of_each_container(NodePlacement(node, tuple(found.get(node.name, ()))))


def _by_node(instance: Instance, placement: Placement) -> dict[str, list[NodePlacementPod]]:
    running = [*map(running_pod_counted_as_legal, instance.running)]
    pods = {pod.key: pod for pod in pods_of_gangs(instance.gangs)}
    pods |= {runner.pod.key: runner.pod for runner in running}
    told = {seat.key for seat in placement.pods}
    # A pod that stands for the system is not one that a node could find.
    seats = [
        runner.placement
        for runner in running
        if runner.placement.key not in told and runner.pod.namespace != SYSTEM_NAMESPACE
    ]
    seats += [seat for seat in placement.pods if seat.key in pods]
    found: dict[str, list[NodePlacementPod]] = {}
    for seat in seats:
        found.setdefault(seat.node, []).append(NodePlacementPod(pods[seat.key], seat))
    return found


def node_placement_faults(document: NodePlacement) -> tuple[str, ...]:
    """Return the impossible demands of the document, each in one line."""
    document = with_cpus_of_each_container(document)
    gangs = tuple(lone_gang(one.pod) for one in document.pods)
    seats = Placement(tuple(one.placement for one in document.pods))
    scene = scene_for_judge(Instance((document.node,), gangs), seats)
    found = [finding.message for name in _RULES for finding in RULES[name](scene)]
    pools = cpu_pools_of_node(document)
    for qos, pool in ((QosClass.LS, pools.shared), (QosClass.BE, pools.best_effort)):
        pods = [one for one in document.pods if one.pod.spec.qos is qos]
        if pods and not pool:
            found.append(
                f"every CPU that the {count_with_noun(len(pods), f'{qos} pod')} of node "
                f"{document.node.name!r} may use is owned; leave them one"
            )
    for one in document.pods:
        if any(not part.cpuset for part in one.placement.containers) and (
            one.placement.cpuset or not one.pod.spec.qos.owns_cpus
        ):
            found.append(f"a container of pod {one.pod.title!r} has no CPU to run on")
    return tuple(dict.fromkeys(found))


def offline_owned_cpus_fault(document: NodePlacement, online: CpuSet) -> str | None:
    """Return in words which pod owns CPUs that are not online, or None if no pod does."""
    for one in document.pods:
        if not one.pod.spec.qos.owns_cpus:
            continue
        if missing := one.placement.cpuset - online:
            return (
                f"pod {one.pod.title!r} owns CPUs {format_cpu_list(missing)}, which are not online "
                f"on this machine; it has {format_cpu_list(online)}: bring them up, or place again"
            )
    return None
