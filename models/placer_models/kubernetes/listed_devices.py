"""Devices that drivers publish, turned into a machine's devices (D1)."""

import re
from dataclasses import replace

from placer_models.annotations.node_topology import NodeTopologyAnnotationCpu
from placer_models.device import GPU, Device
from placer_models.kubernetes.device_attributes import (
    NUMA_NODE,
    PCI_BUS_ID,
    PCIE_ROOT,
    ResourceSliceDevice,
)

RDMA = "rdma"

CPU_DRIVER = "dra.cpu"
"""The driver whose devices are CPUs, and the type of devices that are one CPU each."""

CPU_MACHINE = "dra.cpu/machine"
"""The type of a device that stands for all CPUs of a node; claims take a number of them."""

CPU_GROUP = "dra.cpu/numa"
"""The type of devices that each stand for all CPUs of a NUMA node; claims take a number, too."""

SEVERAL_CPUS = (CPU_MACHINE, CPU_GROUP)

CPU_TYPES = (CPU_DRIVER, *SEVERAL_CPUS)

CPU_CAPACITY = "dra.cpu/cpu"
"""The capacity that holds the number of CPUs of a device that stands for several."""

CPU_IDS = "dra.cpu/cpuIDs"
"""The attribute that lists the CPUs of such a device, if the driver lets the scheduler choose."""

CPU_NUMA = (NUMA_NODE, f"{CPU_DRIVER}/numaNodeID", "dra.net/numaNode")
"""The driver's attributes for the NUMA node of CPUs, the deprecated names last."""

_GPU_KINDS = ("", "gpu", "amdgpu")
"""The kinds that drivers give to a whole GPU; empty if they name none."""

_RDMA = ("dra.net/rdma", "sriovnetwork.k8snetworkplumbingwg.io/rdmaCapable")
_BUS = ("pciAddressDomain", "pciAddressBus", "pciAddressDevice", "pciAddressFunction")
_NUMBER = re.compile(r"(?:^|[^0-9])([0-9]{1,5})$")


def listed_device_type(device: ResourceSliceDevice) -> str:
    """Return the type of a device: ``gpu``, ``rdma``, or else its driver and the driver's type.

    MIG instances are devices of their own, with a type for each profile. A driver lists those
    that exist, and Placer creates none.
    """
    driver = device.driver
    kind = device.text(f"{driver}/type")
    if driver.startswith("gpu.") and kind in _GPU_KINDS:
        return GPU
    if any(device.attributes.get(name) is True for name in _RDMA):
        return RDMA
    profile = device.text(f"{driver}/profile", f"{driver}/partitionProfile")
    named = "-".join(word for word in (kind, profile) if word)
    return f"{driver}/{named}" if named else driver


def device_from_resource_slice(listed: ResourceSliceDevice, minor: int) -> Device:
    """Return a published device as a device of its machine.

    The PCIe root stands for the switch, as in Koordinator's Device objects: drivers name no
    switches.
    """
    driver = listed.driver
    numa = listed.number(NUMA_NODE, f"{driver}/numaNode", f"{driver}/numa", "dra.net/numaNode")
    root = listed.text(PCIE_ROOT) or None
    kind = listed_device_type(listed)
    return Device(
        type=kind,
        minor=minor,
        id=listed.text(f"{driver}/uuid"),
        model=listed.text(f"{driver}/productName") if kind == GPU else "",
        memory_bytes=listed.capacity_milli.get(f"{driver}/memory", 0) // 1000,
        healthy=not listed.taints,
        numa_node=numa if numa is not None and numa >= 0 else None,
        pcie_root=root,
        pcie_switch=root,
        bus_id=_bus(listed),
    )


def device_completed_by_driver(device: Device, listed: ResourceSliceDevice) -> Device:
    """Return a device of a Device object, completed by what only its driver publishes."""
    other = device_from_resource_slice(listed, device.minor)
    return replace(
        device,
        healthy=device.healthy and other.healthy,
        pcie_root=device.pcie_root or other.pcie_root,
        pcie_switch=device.pcie_switch or other.pcie_switch,
        numa_node=other.numa_node if device.numa_node is None else device.numa_node,
        bus_id=device.bus_id or other.bus_id,
    )


def is_same_device(device: Device, listed: ResourceSliceDevice) -> bool:
    """Return whether a device of a Device object is the one that a driver lists."""
    other = device_from_resource_slice(listed, device.minor)
    if device.id and other.id:
        return device.id == other.id
    return bool(other.bus_id) and device.bus_id == other.bus_id


def minors_from_device_names(devices: list[ResourceSliceDevice]) -> list[int]:
    """Return a minor for each device of one type on a node.

    It is the number at the end of the device's name if these numbers are distinct; otherwise
    the devices are counted in the order of their names.
    """
    ends = [_NUMBER.search(device.name) for device in devices]
    numbers = [int(end[1]) for end in ends if end is not None]
    if len(set(numbers)) == len(devices):
        return numbers
    order = sorted(range(len(devices)), key=lambda i: _natural(devices[i].name))
    found = [0] * len(devices)
    for minor, i in enumerate(order):
        found[i] = minor
    return found


def listed_device_as_cpu(listed: ResourceSliceDevice) -> NodeTopologyAnnotationCpu | None:
    """Return where the CPU of a device is, or None if the device is no CPU or says too little."""
    names = (
        (f"{CPU_DRIVER}/cpuID",),
        (f"{CPU_DRIVER}/coreID",),
        (f"{CPU_DRIVER}/socketID",),
        CPU_NUMA,
    )
    found = [listed.number(*each) for each in names]
    id, core, package, numa = found
    if id is None or core is None or package is None or numa is None or min(id, core, package) < 0:
        return None
    return NodeTopologyAnnotationCpu(id, core, package, max(0, numa))


def is_cpu_group_of_whole_node(listed: ResourceSliceDevice) -> bool:
    """Return whether a device stands for all CPUs of its node, whose ids other objects give."""
    return (
        is_cpu_group_device(listed) and listed.number(*CPU_NUMA, f"{CPU_DRIVER}/socketID") is None
    )


def is_cpu_group_device(listed: ResourceSliceDevice) -> bool:
    """Return whether a device stands for several CPUs, some of which a claim takes."""
    return CPU_CAPACITY in listed.capacity_milli


def _natural(name: str) -> list[tuple[int, int, str]]:
    parts = re.findall(r"[0-9]{1,18}|[^0-9]+", name)
    return [(0, int(one), "") if one.isdigit() else (1, 0, one) for one in parts]


def _bus(listed: ResourceSliceDevice) -> str:
    driver = listed.driver
    said = listed.text(PCI_BUS_ID, f"{driver}/pciAddress", f"{driver}/pciBusID")
    parts = [listed.text(f"{driver}/{name}") for name in _BUS]
    if said or not all(parts):
        return said
    return f"{parts[0]}:{parts[1]}:{parts[2]}.{parts[3]}"
