"""Documents that say what was found: the inventory as it is, a machine, an instance of one node."""

from collections import Counter
from enum import StrEnum

from placer.node.discover.device_object import write_device_object
from placer.node.discover.inventory import HardwareInventory
from placer.node.discover.machine import DiscoveredMachine
from placer.node.discover.node_resource_topology import write_node_resource_topology
from placer_models.cpuset import CpuSet, format_cpu_list
from placer_models.device import Device
from placer_models.files.documents import API_VERSION
from placer_models.files.part import Json
from placer_models.instance.machine_writer import machine_to_dict
from placer_models.instance.writer import instance_to_dict
from placer_models.quantity import format_bytes


class DiscoverOutputKind(StrEnum):
    """The kind of document that is written about a discovered machine."""

    MACHINE = "machine"
    """A machine, in the form of the catalogue."""

    INSTANCE = "instance"
    """An instance with one node of this machine, whose forbidden CPUs are reserved."""

    NODE_RESOURCE_TOPOLOGY = "node-resource-topology"
    """Kubernetes' object of that name, with the annotations of Koordinator's node agent."""

    DEVICE = "device"
    """Koordinator's object with the node's devices."""

    INVENTORY = "inventory"
    """What the kernel and the drivers say, before it is made to fit our words."""


def discovered_machine_to_dict(found: DiscoveredMachine, kind: DiscoverOutputKind) -> Json:
    """Return a document that says what was found."""
    match kind:
        case DiscoverOutputKind.INSTANCE:
            return instance_to_dict(found.instance(), lambda machine: False)
        case DiscoverOutputKind.MACHINE:
            written = machine_to_dict(found.machine, found.machine.name)
            return {"apiVersion": API_VERSION, "kind": "Machine", **written}
        case DiscoverOutputKind.NODE_RESOURCE_TOPOLOGY:
            return write_node_resource_topology(found)
        case DiscoverOutputKind.DEVICE:
            return write_device_object(found)
        case DiscoverOutputKind.INVENTORY:
            return {**_inventory(found.inventory), "warnings": list(found.warnings)}


def _inventory(inventory: HardwareInventory) -> Json:
    present = frozenset(cpu.id for cpu in inventory.cpus)
    efficient = frozenset(cpu.id for cpu in inventory.cpus if cpu.efficient)
    return {
        "apiVersion": API_VERSION,
        "kind": "Inventory",
        "source": inventory.source,
        "host": inventory.host,
        "architecture": inventory.architecture,
        "model": inventory.model,
        "counts": {
            "packages": inventory.packages,
            "dies": inventory.dies,
            "lastLevelCaches": inventory.llcs,
            "numaNodes": len(inventory.numa_nodes),
            "cores": len(inventory.cores),
            "onlineCpus": len(inventory.online),
            "presentCpus": len(present),
            "coresByThreads": {str(k): n for k, n in inventory.threads_per_core.items()},
            "devices": dict(Counter(device.type for device in inventory.found.devices)),
        },
        "cpus": {
            "online": format_cpu_list(inventory.online),
            "offline": format_cpu_list(present - inventory.online),
            "isolated": format_cpu_list(inventory.isolated),
            "nohzFull": format_cpu_list(inventory.nohz_full),
            "efficient": format_cpu_list(efficient),
            "allowed": _list(inventory.allowed_cpus),
        },
        "allowedNumaNodes": _list(inventory.allowed_numa_nodes),
        "memory": _bytes(inventory.memory_bytes),
        "numaNodes": [
            {
                "id": node.id,
                "cpus": format_cpu_list(node.cpus),
                "memory": _bytes(node.memory_bytes),
                "hugepages": {format_bytes(h.page_bytes): h.count for h in node.hugepages},
                "distances": list(node.distances),
                "ofGpu": node.of_gpu,
            }
            for node in inventory.numa_nodes
        ],
        "cores": sorted((format_cpu_list(core) for core in inventory.cores.values()), key=_first),
        "devices": [_device(device) for device in inventory.found.devices],
    }


def _device(device: Device) -> Json:
    return {
        "type": device.type,
        "minor": device.minor,
        "id": device.id,
        "model": device.model,
        "memory": format_bytes(device.memory_bytes),
        "healthy": device.healthy,
        "numaNode": device.numa_node,
        "pcieRoot": device.pcie_root,
        "pcieSwitch": device.pcie_switch,
        "busId": device.bus_id,
        "virtualFunctions": [function.bus_id for function in device.virtual_functions],
    }


def _first(cpus: str) -> int:
    return int(cpus.replace("-", ",").partition(",")[0])


def _list(cpus: CpuSet | None) -> str | None:
    return None if cpus is None else format_cpu_list(cpus)


def _bytes(amount: int | None) -> str | None:
    return None if amount is None else format_bytes(amount)
