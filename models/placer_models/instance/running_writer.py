"""Running pods and their places, as files write them."""

from placer_models.bound import (
    bound_to,
    is_bound_by_policy,
    numa_nodes_held,
    numa_nodes_of,
    pool_on_numa_nodes,
)
from placer_models.cluster import Node, RunningPod
from placer_models.cpuset import CpuSet, format_cpu_list
from placer_models.files.part import Json
from placer_models.illegal_running import counted_as_legal
from placer_models.instance.device_shares import in_request_order
from placer_models.instance.hugepages import pages_to_dict
from placer_models.instance.nodes import minors_by_type
from placer_models.instance.pods import pod_to_dict
from placer_models.instance.schema import RunningPart
from placer_models.quantity import format_bytes


def running_to_dict(running: RunningPod, node: Node, *, in_gang: bool) -> Json:
    """Return a running pod and its place; of an illegal one, what is counted of it.

    Args:
        running: The pod.
        node: The node that it is on.
        in_gang: Whether its gang is one of those that run.

    """
    running = counted_as_legal(running)
    pod, placement = running.pod, running.placement
    cpus = _cpus_said(running, node)
    devices = in_request_order(pod.spec.requests, placement.devices)
    functions: dict[str, dict[int, int]] = {}
    for grant in placement.devices:
        for function in grant.vfs:
            functions.setdefault(grant.type, {})[grant.minor] = function
    return {
        **pod_to_dict(pod),
        **RunningPart.written(
            namespace=pod.namespace,
            node=placement.node,
            cpuset=None if cpus is None else format_cpu_list(cpus),
            memory={n: format_bytes(size) for n, size in placement.memory_bytes} or None,
            hugepages=pages_to_dict(placement.hugepages) or None,
            memory_guessed=running.guessed,
            devices=minors_by_type((grant.type, grant.minor) for grant in devices),
            vfs=functions,
            gang=placement.gang if in_gang else None,
            movable=running.movable,
            of_node=running.of_node,
            restarts_with=running.restarts_with,
        ),
    }


def _cpus_said(running: RunningPod, node: Node) -> CpuSet | None:
    """Return the CPUs that the pod owns, or CPUs of the NUMA nodes that it is bound to.

    None if a file names no CPUs for it.
    """
    spec, place = running.pod.spec, running.placement
    if spec.qos.owns_cpus:
        return place.cpuset
    if not (spec.constrained_burst or is_bound_by_policy(spec, node)):
        return None
    topology = node.machine.topology
    homes = bound_to(place, spec, node)
    if not homes:
        return frozenset()
    if numa_nodes_of(place.cpuset, topology) == homes:
        return place.cpuset
    inside = pool_on_numa_nodes(topology.online, homes, topology)
    if numa_nodes_of(inside, topology) != homes == numa_nodes_held(place, node):
        return None  # No CPU names a NUMA node without CPUs; what the pod holds there does.
    return inside
