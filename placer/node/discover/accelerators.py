"""Accelerators that are not GPUs, found on PCI Express: vector engines, FPGAs, co-processors."""

import re
from collections import Counter

from placer.node.discover.inventory import DiscoveredDevices
from placer.node.discover.machine_files import DiscoverMachineFiles
from placer.node.discover.pci import PCI, pci_place_of, pci_vendor_and_class
from placer_models.device import Device

ACCELERATOR = "accelerator"
"""The type of an accelerator whose driver gives it no class of its own."""

COPROCESSOR, PROCESSING_ACCELERATOR = 0x0B40, 0x12
"""The PCI class of co-processors, and the PCI base class of other accelerators."""

GPU_VENDORS = (0x10DE, 0x1002)
"""Vendors whose accelerators are GPUs, which their drivers report."""


def read_non_gpu_accelerators(files: DiscoverMachineFiles) -> DiscoveredDevices:
    """Return the accelerators, numbered type by type in the order of their bus ids.

    A type is the kernel's class, such as ``ve``.

    Raises:
        InputError: A file is not what the kernel writes.

    """
    devices: list[Device] = []
    counts: Counter[str] = Counter()
    for bus_id in files.names(PCI):
        vendor, kind = pci_vendor_and_class(files, bus_id)
        if (
            vendor in GPU_VENDORS
            or not is_pci_accelerator_class(kind)
            or files.has(f"{PCI}/{bus_id}/physfn")
        ):
            continue
        place = pci_place_of(files, bus_id)
        type = _class(files, f"{PCI}/{bus_id}")
        number = files.number(f"{PCI}/{bus_id}/device") or 0
        model = f"{vendor:04x}:{number:04x}"
        devices.append(place.located(Device(type=type, minor=counts[type], model=model)))
        counts[type] += 1
    return DiscoveredDevices(tuple(devices))


def is_pci_accelerator_class(kind: int) -> bool:
    """Return whether PCI devices of the class are accelerators."""
    return kind == COPROCESSOR or kind >> 8 == PROCESSING_ACCELERATOR


def _class(files: DiscoverMachineFiles, at: str) -> str:
    """Return the class that a driver made for the device: its folder holds ``<class><number>``."""
    for name in files.names(at):
        if re.fullmatch(r"[a-z][a-z_]{1,30}", name) and any(
            re.fullmatch(rf"{name}[0-9]{{1,4}}", inner) for inner in files.names(f"{at}/{name}")
        ):
            return name.replace("_", "-")
    return ACCELERATOR
