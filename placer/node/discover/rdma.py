"""RDMA ports and their virtual functions, from sysfs."""

import re
from collections.abc import Sequence

from placer.node.discover.inventory import DiscoveredDevices
from placer.node.discover.machine_files import DiscoverMachineFiles
from placer.node.discover.pci import PCI, normalised_pci_bus_id, pci_place_of
from placer_models.device import Device, VirtualFunction
from placer_models.machines.sketch import RDMA

CLASSES = ("sys/class/infiniband", "sys/class/cxi")
"""InfiniBand, RoCE, Omni-Path and EFA are in the first, HPE's Slingshot in the second."""

_DOWN = "1: DOWN"


def read_rdma_from_sysfs(files: DiscoverMachineFiles) -> DiscoveredDevices:
    """Return the RDMA devices, with minors in the order of their names.

    Virtual functions belong to the device that they are functions of. What is on no
    PCI device, such as Soft-RoCE, is left out: it is no device to give out.
    """
    devices: list[Device] = []
    ports = [(name, f"{folder}/{name}") for folder in CLASSES for name in files.names(folder)]
    for name, at in sorted(ports, key=lambda port: natural_sort_key(port[0])):
        real = (files.real(f"{at}/device") or "").rpartition("/")[2]
        try:
            bus_id = normalised_pci_bus_id(real)
        except ValueError:
            continue
        if files.has(f"{at}/device/physfn"):
            continue
        place = pci_place_of(files, bus_id)
        states = [files.read(f"{at}/ports/{port}/state") for port in files.names(f"{at}/ports")]
        devices.append(
            place.located(
                Device(
                    type=RDMA,
                    minor=len(devices),
                    id=name,
                    model=files.read(f"{at}/hca_type") or "",
                    healthy=not states or any(state != _DOWN for state in states),
                    virtual_functions=_functions(files, bus_id),
                )
            )
        )
    return DiscoveredDevices(tuple(devices), warnings=tuple(down_port_warnings(devices)))


def down_port_warnings(devices: Sequence[Device]) -> list[str]:
    """Return the warning about devices without a port that is up; none where there are none."""
    down = [device.id for device in devices if not device.healthy]
    if not down:
        return []
    return [f"{', '.join(down)}: every port is down; rule: such a device is unhealthy"]


def natural_sort_key(name: str) -> tuple[object, ...]:
    """Return a sort key that puts ``mlx5_2`` before ``mlx5_10``."""
    parts = re.split(r"([0-9]{1,9})", name)
    return tuple((int(part), "") if part.isdecimal() else (-1, part) for part in parts)


def _functions(files: DiscoverMachineFiles, bus_id: str) -> tuple[VirtualFunction, ...]:
    return tuple(
        VirtualFunction(minor, (files.real(at) or "").rpartition("/")[2])
        for minor, at in files.numbered(f"{PCI}/{bus_id}", "virtfn").items()
    )
