"""PCI Express topology of devices, from sysfs, and the names of paths between GPUs."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from placer.node.discover.machine_files import NODE, DiscoverMachineFiles
from placer_models.cpuset import CpuSet
from placer_models.device import Device, GpuLinkMatrix
from placer_models.instance.machine_links import SELF, centi_gb_per_s
from placer_models.machines.sketch import MAX_LINKS_OF_A_GPU

PCI = "sys/bus/pci/devices"

PCIE_GB_PER_S = 31.5
"""Bandwidth per direction of a slot about which nothing is known: 16 lanes of generation four."""

_BUS_ID = re.compile(r"([0-9a-fA-F]{4,8}):([0-9a-fA-F]{2}):([0-9a-fA-F]{2})\.([0-7])")
_HOST_BRIDGE = re.compile(r"pci([0-9a-fA-F]{4,8}:[0-9a-fA-F]{2})")
_SPEED = re.compile(r"([0-9]{1,3}(?:\.[0-9])?) GT/s")
_ALIAS = re.compile(r"pci:v([0-9A-F]{8})d\w+bc([0-9A-F]{2})sc([0-9A-F]{2})")
_ON_A_SWITCH = 3


@dataclass(frozen=True, slots=True)
class PciDevicePlace:
    """Where a PCI device sits.

    Attributes:
        root: Domain and bus of the host bridge.
        bridges: Addresses of the bridges on the way to it, from its root port on.
        gb_per_s: What its slot carries per direction at best; None where nothing says so.

    """

    bus_id: str
    root: str | None = None
    bridges: tuple[str, ...] = ()
    numa_node: int | None = None
    gb_per_s: float | None = None

    @property
    def switch(self) -> str | None:
        """Address of the nearest PCIe switch, or None if the device is on a port of the host.

        The way to a device on a switch is: root port, the switch's upstream port,
        its downstream port.
        """
        return self.bridges[-2] if len(self.bridges) >= _ON_A_SWITCH else None

    def located(self, device: Device) -> Device:
        """Return the device with the place that it has here."""
        return replace(
            device,
            numa_node=self.numa_node,
            pcie_root=self.root,
            pcie_switch=self.switch,
            bus_id=self.bus_id,
        )


def normalised_pci_bus_id(text: str) -> str:
    """Return a bus id as the kernel writes it: NVIDIA's tools give domains of 8 digits.

    Raises:
        ValueError: The text is no bus id.

    """
    match = _BUS_ID.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"got {text[:40]!r}; expected a bus id such as 0000:3b:00.0")
    domain, bus, device, function = match.groups()
    return f"{int(domain, 16):04x}:{bus}:{device}.{function}".lower()


def pci_place_of(files: DiscoverMachineFiles, bus_id: str) -> PciDevicePlace:
    """Return where the device with this address sits."""
    at = f"{PCI}/{bus_id}"
    real = files.real(at)
    if real is None:
        return PciDevicePlace(bus_id)
    parts = real.split("/")
    roots = [match[1] for part in parts if (match := _HOST_BRIDGE.fullmatch(part))]
    return PciDevicePlace(
        bus_id=bus_id,
        root=roots[0] if roots else None,
        bridges=tuple(part for part in parts[:-1] if _BUS_ID.fullmatch(part)),
        numa_node=_numa_node(files, at),
        gb_per_s=_slot_gb_per_s(files, at),
    )


def pci_vendor_and_class(files: DiscoverMachineFiles, bus_id: str) -> tuple[int, int]:
    """Return a device's vendor and class; 0 where nothing says them."""
    at = f"{PCI}/{bus_id}"
    vendor, kind = files.number(f"{at}/vendor"), files.number(f"{at}/class")
    if vendor is None or kind is None:
        match = _ALIAS.match(files.read(f"{at}/modalias") or "")
        return (int(match[1], 16), int(match[2] + match[3], 16)) if match else (0, 0)
    return vendor, kind >> 8


def smallest_numa_node_covering_cpuset(
    cpus: CpuSet, numa_nodes: Mapping[int, CpuSet]
) -> int | None:
    """Return the smallest NUMA node that holds all these CPUs, or None if there is none."""
    around = [(len(own), node) for node, own in numa_nodes.items() if cpus and cpus <= own]
    return min(around)[1] if around else None


def _numa_node(files: DiscoverMachineFiles, at: str) -> int | None:
    """Return the NUMA node of a device; older kernels say only which CPUs are near."""
    said = files.number(f"{at}/numa_node")
    if said is not None:
        return said if said >= 0 else None
    near = files.cpus(f"{at}/local_cpulist", f"{at}/local_cpus") or frozenset()
    listed = {
        node: files.cpus(f"{folder}/cpulist", f"{folder}/cpumap") or frozenset[int]()
        for node, folder in files.numbered(NODE, "node").items()
    }
    return smallest_numa_node_covering_cpuset(near & frozenset().union(*listed.values()), listed)


def _slot_gb_per_s(files: DiscoverMachineFiles, at: str) -> float | None:
    speed = _SPEED.match(files.read(f"{at}/max_link_speed") or "")
    width = files.read(f"{at}/max_link_width") or ""
    if speed is None or not re.fullmatch(r"[0-9]{1,2}", width) or width == "0":
        return None
    giga_transfers = float(speed[1])
    # The first two generations carry 8 bits in 10, the others 128 in 130 or better.
    payload = 8 / 10 if giga_transfers < 8 else 128 / 130
    return round(giga_transfers * int(width) * payload / 8, 2)


def pci_path_kind(a: PciDevicePlace, b: PciDevicePlace) -> str:
    """Return what nvidia-smi calls the path between two devices: PIX, PXB, PHB, NODE or SYS."""
    if a.switch is not None and a.switch == b.switch:
        return "PIX"
    if a.bridges and b.bridges and a.bridges[0] == b.bridges[0]:
        return "PXB"
    if a.root is not None and a.root == b.root:
        return "PHB"
    if a.numa_node is not None and a.numa_node == b.numa_node:
        return "NODE"
    return "SYS"


def gpu_links(
    minors: Sequence[int],
    places: Sequence[PciDevicePlace],
    direct: Mapping[tuple[int, int], tuple[str, float]],
    *,
    shared_egress: bool = False,
) -> GpuLinkMatrix | None:
    """Return the links between GPUs, or None if there are fewer than two.

    All paths over PCIe get the bandwidth of the slowest slot, which bounds them all.

    Args:
        minors: The GPUs, ascending.
        places: Where each sits.
        direct: Pair of positions, the smaller first -> kind and GB/s per direction of a
            link that is not PCIe.
        shared_egress: Whether it is known that pairs share what a GPU sends. Otherwise it is
            inferred where pairs have more NVLinks than a GPU has.

    """
    if len(minors) < 2:
        return None
    slots = [place.gb_per_s for place in places if place.gb_per_s is not None]
    pcie = min(slots, default=PCIE_GB_PER_S)
    names = [[SELF] * len(minors) for _ in minors]
    rates = [[0] * len(minors) for _ in minors]
    bonded = [0] * len(minors)
    pairs = list(combinations(range(len(minors)), 2))
    for i, j in pairs:
        kind, gb_per_s = direct.get((i, j), (pci_path_kind(places[i], places[j]), pcie))
        names[i][j] = names[j][i] = kind
        rates[i][j] = rates[j][i] = centi_gb_per_s(gb_per_s)
        links = int(kind[2:]) if re.fullmatch(r"NV[0-9]{1,2}", kind) else 0
        bonded[i] += links
        bonded[j] += links
    rates_of: dict[str, set[int]] = {}
    for i, j in pairs:
        rates_of.setdefault(names[i][j], set()).add(rates[i][j])
    for i, j in pairs:
        if len(rates_of[names[i][j]]) > 1:  # The bandwidth tells them apart.
            names[i][j] = names[j][i] = f"{names[i][j]}@{rates[i][j] / 100:g}"
    return GpuLinkMatrix(
        minors=tuple(minors),
        centi_gb_per_s=tuple(map(tuple, rates)),
        kinds=tuple(map(tuple, names)),
        shared_egress=shared_egress or max(bonded) > MAX_LINKS_OF_A_GPU,
    )
