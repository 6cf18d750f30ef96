"""Devices and links of a machine file, in words."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TypeVar

from placer_models.capacity import MAX_QUANTITY, DeviceQuantity, DeviceQuantityUnit, parse_amount
from placer_models.cpuset import parse_cpu_list
from placer_models.device import Device, GpuLinkMatrix
from placer_models.device_share import WHOLE_PERCENT
from placer_models.instance.device_quantities import check_quantity_name
from placer_models.instance.functions import numbered_virtual_functions
from placer_models.instance.machine_links import link_kind_matrix, link_matrix, read_link_kinds
from placer_models.instance.machine_parts import (
    MachineDevicesPart,
    MachineGpuLinksPart,
    value_errors_naming_field,
)
from placer_models.message_text import count_with_noun
from placer_models.quantity import format_bytes, parse_bytes

_T = TypeVar("_T")

MAX_LINKED_GPUS = 128
"""Most GPUs of a machine with links: the matrix grows with their square."""


def read_devices(
    parts: Sequence[MachineDevicesPart], package_of: Mapping[int, int | None]
) -> tuple[Device, ...]:
    """Return the devices, ascending by type and minor.

    Args:
        parts: The blocks of the file.
        package_of: NUMA node -> package; every NUMA node of the machine is a key.

    """
    taken: dict[str, set[int]] = defaultdict(set)
    devices: list[Device] = []
    for i, part in enumerate(parts):
        minors = _minors(part, i, taken[part.type])
        taken[part.type].update(minors)
        devices += _block(part, i, minors, package_of)
    return tuple(sorted(devices, key=lambda device: (device.type, device.minor)))


def read_links(part: MachineGpuLinksPart | None, minors: Sequence[int]) -> GpuLinkMatrix | None:
    """Return the links between the GPUs, or None if nothing is known about them."""
    if part is None:
        return None
    with value_errors_naming_field("gpuLinks"):
        if len(minors) > MAX_LINKED_GPUS:
            raise ValueError(f"links are for {MAX_LINKED_GPUS} GPUs at most, got {len(minors)}")
        if (part.matrix is None) == (part.all is None):
            raise ValueError(
                "give either matrix, or all: the kind of every pair that within does not name"
            )
        if part.matrix is not None and part.within:
            raise ValueError("within is for links given by all; a matrix names every pair itself")
    if part.matrix is not None:
        with value_errors_naming_field("gpuLinks", "matrix"):
            kinds = read_link_kinds(part.matrix, len(minors))
    else:
        with value_errors_naming_field("gpuLinks", "within"):
            kinds = link_kind_matrix(minors, part.all or "", part.within)
    with value_errors_naming_field("gpuLinks", "bandwidth"):
        return link_matrix(minors, kinds, part.bandwidth, shared_egress=part.shared_egress)


def _minors(part: MachineDevicesPart, i: int, taken: set[int]) -> list[int]:
    """Return the minors of the block: those it names, else the next free ones."""
    if part.minors is None:
        first = max(taken, default=-1) + 1
        return list(range(first, first + part.count))
    with value_errors_naming_field("devices", i, "minors"):
        minors = parse_cpu_list(part.minors)
        if len(minors) != part.count:
            raise ValueError(f"{part.minors} are {len(minors)} minors; count is {part.count}")
        if twice := taken & minors:
            raise ValueError(f"{part.type} {min(twice)} is listed already")
    return sorted(minors)


def _block(
    part: MachineDevicesPart, i: int, minors: Sequence[int], package_of: Mapping[int, int | None]
) -> list[Device]:
    with value_errors_naming_field("devices", i, "numaNodes"):
        if part.numa_nodes and part.numa_node is not None:
            raise ValueError("numaNode is for all of them already; keep one of the two")
    numa_nodes = _spread(part.numa_nodes, part.numa_node, part, i, "numaNodes")
    switches = _spread(part.pcie_switches, None, part, i, "pcieSwitches")
    roots = _spread(part.pcie_roots, None, part, i, "pcieRoots")
    ids = _spread(part.ids, "", part, i, "ids")
    bus_ids = _spread(part.bus_ids, "", part, i, "busIds")
    functions = _spread(
        part.virtual_function_bus_ids,
        ("",) * part.function_count,
        part,
        i,
        "virtualFunctionBusIds",
    )
    with value_errors_naming_field("devices", i, "vfGroups"):
        if part.vf_groups and part.virtual_functions:
            raise ValueError("virtualFunctions counts them already; keep one of the two")
        for bus in functions if part.vf_groups else ():
            if len(bus) != part.function_count:
                raise ValueError(
                    f"they have {part.function_count} virtual functions; "
                    f"virtualFunctionBusIds names {len(bus)}"
                )
    with value_errors_naming_field("devices", i, "numaNodes" if part.numa_nodes else "numaNode"):
        for numa_node in numa_nodes:
            if numa_node is not None and numa_node not in package_of:
                known = ", ".join(map(str, package_of))
                raise ValueError(f"there is no NUMA node {numa_node}; the machine has {known}")
    with value_errors_naming_field("devices", i, "unhealthy"):
        if strangers := set(part.unhealthy) - set(minors):
            raise ValueError(f"there is no {part.type} {min(strangers)} among these devices")
    with value_errors_naming_field("devices", i, "memory"):
        memory_bytes = parse_bytes(part.memory)
        if memory_bytes > MAX_QUANTITY:
            raise ValueError(f"got {part.memory}; expected {format_bytes(MAX_QUANTITY)} at most")
    capacity = tuple(_quantity(name, part, i) for name in sorted(part.capacity))
    return [
        Device(
            type=part.type,
            minor=minor,
            id=ids[k],
            model=part.model,
            memory_bytes=memory_bytes,
            healthy=minor not in part.unhealthy,
            numa_node=numa_node,
            package=None if numa_node is None else package_of[numa_node],
            pcie_root=roots[k],
            pcie_switch=switches[k],
            bus_id=bus_ids[k],
            virtual_functions=numbered_virtual_functions(functions[k], part.vf_groups),
            capacity=capacity,
        )
        for k, (minor, numa_node) in enumerate(zip(minors, numa_nodes, strict=True))
    ]


def _quantity(name: str, part: MachineDevicesPart, i: int) -> DeviceQuantity:
    """Return the quantity of this name in the file, of which pods may take parts."""
    written = part.capacity[name]
    text, unit = (written, None) if isinstance(written, str) else (written.amount, written.unit)
    with value_errors_naming_field("devices", i, "capacity", name):
        check_quantity_name(name)
        amount, unit = parse_amount(text, unit)
        if unit is DeviceQuantityUnit.PERCENT and amount != WHOLE_PERCENT:
            raise ValueError(f"got {text}; a device has 100% of what is shared in percent")
        return DeviceQuantity(name, amount, unit)


def _spread(
    values: tuple[_T, ...], default: _T, part: MachineDevicesPart, i: int, name: str
) -> tuple[_T, ...]:
    """Return one value for each device: those given, or the default for all."""
    if not values:
        return (default,) * part.count
    with value_errors_naming_field("devices", i, name):
        if len(values) != part.count:
            raise ValueError(
                f"got {count_with_noun(len(values), 'value')} "
                f"for {count_with_noun(part.count, 'device')}; give each one"
            )
    return values
