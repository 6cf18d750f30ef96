"""Holdings of pods on a machine, according to the kubelet, and what they leave of a node.

Held CPUs become reserved CPUs elsewhere; memory and devices are taken off here (C16, D12).
"""

from collections.abc import Sequence
from dataclasses import replace

from placer.node.discover.inventory import HardwareInventory
from placer_models.cluster import Node
from placer_models.cpuset import format_cpu_list
from placer_models.device import Device, DeviceKey
from placer_models.files.part import Json
from placer_models.instance.hugepages import hugepages_resource_name
from placer_models.kubernetes.checkpoints.memory_manager import MEMORY, KubeletMemoryManagerState
from placer_models.kubernetes.plugin_devices import (
    device_type_counted_by_resource,
    devices_of_checkpoint_entry,
    gpus_unknown_to_node,
)
from placer_models.message_text import cpu_ids_with_noun, in_quotes
from placer_models.quantity import format_bytes
from placer_models.topology import NumaNode


def node_without_held_resources(node: Node, inventory: HardwareInventory) -> Node:
    """Return a node that gives nobody the memory and the devices that pods hold."""
    held = _devices_held(inventory, node.machine.devices)
    node = replace(
        node,
        unhealthy=node.unhealthy | held,
        checkpoint_devices=node.checkpoint_devices | (held - node.unhealthy),
    )
    if (memory := inventory.pod_memory) is None:
        return node
    machine = node.machine
    numa_nodes = tuple(_less(numa, memory) for numa in machine.topology.numa_nodes)
    if numa_nodes == machine.topology.numa_nodes:
        return node
    topology = replace(machine.topology, numa_nodes=numa_nodes)
    return replace(node, machine=replace(machine, topology=topology))


def held_resources_in_words(inventory: HardwareInventory, devices: Sequence[Device]) -> list[str]:
    """Return in words what pods hold, and by which rule a node of the machine goes without it."""
    said = []
    if owned := frozenset[int]().union(*(pod.cpuset for pod in inventory.pod_cpus)):
        said.append(
            f"pods own {cpu_ids_with_noun(owned)}; rule: a node of this machine reserves them"
        )
    by_type: dict[str, set[int]] = {}
    for entry in inventory.plugin_devices:
        meant = devices_of_checkpoint_entry(entry, devices, inventory.found.modes)
        if meant is None:
            kind = device_type_counted_by_resource(entry.resource)
            ids = ", ".join(in_quotes(id) for id in entry.ids)
            said.append(
                f"a pod holds {entry.resource} {ids}, and nothing says which {kind} that is; "
                f"rule: a node of this machine gives no {kind} to anybody"
            )
        if elsewhere := gpus_unknown_to_node(entry, devices):
            said.append(
                f"a pod holds {entry.resource} {', '.join(sorted(elsewhere))}, which this machine "
                "does not have; rule: nothing is kept for it"
            )
        for kind, minor in meant or ():
            by_type.setdefault(kind, set()).add(minor)
    if by_type:
        names = ", ".join(f"{kind} {format_cpu_list(by_type[kind])}" for kind in sorted(by_type))
        said.append(f"pods hold {names}; rule: a node of this machine gives them to nobody")
    kept = inventory.pod_memory.given_bytes if inventory.pod_memory else {}
    held = [
        f"{format_bytes(size)} of {resource} of NUMA node {numa}"
        for (numa, resource), size in sorted(kept.items())
        if size
    ]
    if held:
        said.append(f"pods hold {', '.join(held)}; rule: a node of this machine has so much less")
    return said


def held_device_entries(inventory: HardwareInventory, devices: Sequence[Device]) -> list[Json]:
    """Return what pods hold, in the form of the annotation of a Device object.

    Devices are named by their own ids, or by their plugin's ids if it is unknown which they are or
    if the machine does not have them.
    """
    by_key = {(one.type, one.minor): one.id or one.bus_id for one in devices}
    found: list[Json] = []
    for entry in inventory.plugin_devices:
        meant = devices_of_checkpoint_entry(entry, devices, inventory.found.modes)
        ids = [*entry.ids]
        if meant is not None:
            ids = [by_key[key] for key in sorted(meant)] + sorted(
                gpus_unknown_to_node(entry, devices)
            )
        if ids:
            found.append(
                {
                    "podUID": entry.pod_uid,
                    "containerName": entry.container,
                    "resourceName": entry.resource,
                    "deviceIDs": ids,
                }
            )
    return found


def _devices_held(inventory: HardwareInventory, devices: Sequence[Device]) -> frozenset[DeviceKey]:
    """Return the devices that pods hold, or all of a type if it is unknown which of them."""
    held: set[DeviceKey] = set()
    for entry in inventory.plugin_devices:
        meant = devices_of_checkpoint_entry(entry, devices, inventory.found.modes)
        if meant is None:
            kind = device_type_counted_by_resource(entry.resource)
            meant = frozenset((kind, one.minor) for one in devices if one.type == kind)
        held |= meant
    return frozenset(held)


def _less(numa: NumaNode, memory: KubeletMemoryManagerState) -> NumaNode:
    """Return a NUMA node without the memory and hugepages that are given or kept there."""
    lost, pages = memory.kept_bytes(numa.id, MEMORY), []
    for kind in numa.hugepages:
        kept = -(
            -memory.kept_bytes(numa.id, hugepages_resource_name(kind.page_bytes)) // kind.page_bytes
        )
        kept = min(kept, kind.count)
        lost += kept * kind.page_bytes
        pages.append(replace(kind, count=kind.count - kept))
    still = sum(kind.page_bytes * kind.count for kind in pages)
    return replace(
        numa,
        memory_bytes=max(numa.memory_bytes - lost, still),
        hugepages=tuple(kind for kind in pages if kind.count),
    )
