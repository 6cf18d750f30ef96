"""Instance files as they are written: reading one back gives the same instance.

Running pods and their places are written here, too.
"""

from collections.abc import Callable, Sequence
from itertools import chain, count

import yaml

from placer_models.bound import (
    is_bound_by_policy,
    numa_nodes_bound_to,
    numa_nodes_of_cpus,
    numa_nodes_of_memory_and_devices,
    pool_on_numa_nodes,
)
from placer_models.cluster import Instance, Machine, Node, RunningPod
from placer_models.cpuset import CpuSet, format_cpu_list
from placer_models.files.documents import API_VERSION
from placer_models.files.part import Json, PlacerFileMetadataPart, none_if_default
from placer_models.illegal_running import running_pod_counted_as_legal
from placer_models.instance.defaults import defaults_to_dict
from placer_models.instance.demand import expected_demand_to_dict
from placer_models.instance.device_shares import grants_in_request_order
from placer_models.instance.gangs import (
    gang_to_dict,
    group_to_dict,
    lone_pod_to_dict,
    running_gang_to_dict,
)
from placer_models.instance.hugepages import hugepages_to_dict
from placer_models.instance.machine_writer import machine_to_dict
from placer_models.instance.nodes import minors_by_type, node_to_dict
from placer_models.instance.pods import pod_to_dict
from placer_models.instance.schema import InstanceFile, RunningPodPart
from placer_models.node_strategy import NodeStrategy
from placer_models.quantity import format_bytes


class _Dumper(yaml.SafeDumper):
    """A YAML dumper that writes text of several lines as a block."""


def _text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


MachineTest = Callable[[Machine], bool]
"""Whether the reader finds exactly this machine by its name alone."""


def instance_to_yaml(instance: Instance, found_by_name: MachineTest) -> str:
    """Return the text of an instance file."""
    return yaml.dump(
        instance_to_dict(instance, found_by_name),
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        default_flow_style=None,
        width=100,
    )


def instance_to_dict(instance: Instance, found_by_name: MachineTest) -> Json:
    """Return the document of an instance: every pod and every node by itself.

    Machines that are found by name are named, others written out. Lone pods come
    before gangs, as they do when a file is read.
    """
    name_of, machines = _name_machines(instance.nodes)
    nodes = {node.name: node for node in instance.nodes}
    gangs: set[tuple[str, str | None]] = {gang.key for gang in instance.running_gangs}
    return InstanceFile.written(
        api_version=API_VERSION,
        kind="Instance",
        metadata=PlacerFileMetadataPart.written(name=instance.name) or None,
        machines=[
            machine_to_dict(machine, name)
            for name, machine in machines.items()
            if name != machine.name or not found_by_name(machine)
        ],
        nodes=[node_to_dict(node, name_of[id(node.machine)]) for node in instance.nodes],
        pods=[lone_pod_to_dict(gang) for gang in instance.gangs if gang.lone],
        gangs=[gang_to_dict(gang) for gang in instance.gangs if not gang.lone],
        gang_groups=[group_to_dict(group) for group in instance.groups],
        running=[
            running_pod_to_dict(
                pod,
                nodes[pod.placement.node],
                in_gang=(pod.pod.namespace, pod.placement.gang) in gangs,
            )
            for pod in instance.running
        ],
        running_gangs=[running_gang_to_dict(gang) for gang in instance.running_gangs],
        move_budget=instance.move_budget or None,
        strategy=none_if_default(instance.strategy, NodeStrategy.USABLE),
        defaults=defaults_to_dict(instance.common_defaults) or None,
        demand=expected_demand_to_dict(instance.demand),
    )


def _name_machines(nodes: Sequence[Node]) -> tuple[dict[int, str], dict[str, Machine]]:
    """Return id() of a machine -> name, and name -> machine for the distinct machines."""
    name_of: dict[int, str] = {}
    machines: dict[str, Machine] = {}
    for machine in (node.machine for node in nodes):
        if id(machine) in name_of:
            continue
        name = next((name for name, other in machines.items() if other == machine), None)
        if name is None:
            names = chain([machine.name], (f"{machine.name}-{i}" for i in count(2)))
            name = next(name for name in names if name not in machines)
            machines[name] = machine
        name_of[id(machine)] = name
    return name_of, machines


def running_pod_to_dict(running: RunningPod, node: Node, *, in_gang: bool) -> Json:
    """Return a running pod and its place; of an illegal one, what is counted of it.

    Args:
        running: The pod.
        node: The node that it is on.
        in_gang: Whether its gang is one of those that run.

    """
    running = running_pod_counted_as_legal(running)
    pod, placement = running.pod, running.placement
    cpus = _cpus_said(running, node)
    devices = grants_in_request_order(pod.spec.requests, placement.devices)
    functions: dict[str, dict[int, int]] = {}
    for grant in placement.devices:
        for function in grant.vfs:
            functions.setdefault(grant.type, {})[grant.minor] = function
    return {
        **pod_to_dict(pod),
        **RunningPodPart.written(
            namespace=pod.namespace,
            node=placement.node,
            cpuset=None if cpus is None else format_cpu_list(cpus),
            memory={n: format_bytes(size) for n, size in placement.memory_bytes} or None,
            hugepages=hugepages_to_dict(placement.hugepages) or None,
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
    homes = numa_nodes_bound_to(place, spec, node)
    if not homes:
        return frozenset()
    if numa_nodes_of_cpus(place.cpuset, topology) == homes:
        return place.cpuset
    inside = pool_on_numa_nodes(topology.online, homes, topology)
    if (
        numa_nodes_of_cpus(inside, topology)
        != homes
        == numa_nodes_of_memory_and_devices(place, node)
    ):
        return None  # No CPU names a NUMA node without CPUs; what the pod holds there does.
    return inside
