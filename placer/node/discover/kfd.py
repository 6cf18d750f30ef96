"""AMD's GPUs, from the topology that their driver (kfd) shows in sysfs."""

import re
from collections.abc import Mapping, Sequence

from placer.node.discover.inventory import DiscoveredDevices
from placer.node.discover.machine_files import DiscoverFilePermissionError, DiscoverMachineFiles
from placer.node.discover.pci import PCI, PciDevicePlace, gpu_links, pci_place_of
from placer_models.device import GPU, Device
from placer_models.machines.rates import XGMI_GB_PER_S

NODES = "sys/class/kfd/kfd/topology/nodes"

_XGMI = 11
_FRAME_BUFFERS = (1, 2)
_UNNAMED = ("", "ip discovery")


def read_kfd(files: DiscoverMachineFiles) -> DiscoveredDevices:
    """Return AMD's GPUs in their driver's order, which is also how ROCm numbers them.

    Raises:
        InputError: A file is not what the driver writes.

    """
    found: list[tuple[int, str, Mapping[str, int]]] = []
    hidden = []
    for node, at in files.numbered(NODES, "").items():
        try:
            facts = _facts(files, f"{at}/properties")
        except DiscoverFilePermissionError:
            hidden.append(str(node))  # Device cgroups hide GPUs from containers in this way.
            continue
        if facts.get("simd_count", 0) > 0 and files.number(f"{at}/gpu_id"):
            found.append((node, at, facts))
    places = [_place(files, facts) for _, _, facts in found]
    devices = tuple(
        place.located(
            Device(
                type=GPU,
                minor=minor,
                id=_id(facts),
                model=_model(files, at, place),
                memory_bytes=_memory_bytes(files, at),
            )
        )
        for minor, ((_, at, facts), place) in enumerate(zip(found, places, strict=True))
    )
    direct, nominal = _xgmi(files, [(node, at) for node, at, _ in found])
    return DiscoveredDevices(
        devices,
        gpu_links(range(len(found)), places, direct),
        notes=(f"xGMI links count {XGMI_GB_PER_S:g} GB/s as the driver says no speed",)
        if nominal
        else (),
        warnings=(f"the driver hides kfd node {', '.join(hidden)} from this process; left out",)
        if hidden
        else (),
    )


def _facts(files: DiscoverMachineFiles, path: str) -> dict[str, int]:
    """Return name -> number, from a file of properties that the driver writes."""
    lines = (line.split() for line in (files.read(path) or "").splitlines())
    return {
        line[0]: int(line[1])
        for line in lines
        if len(line) == 2 and re.fullmatch(r"-?[0-9]{1,20}", line[1])
    }


def _place(files: DiscoverMachineFiles, facts: Mapping[str, int]) -> PciDevicePlace:
    """Return where a GPU sits; the parts of one GPU differ in the function that they name."""
    location = facts.get("location_id", 0) & 0xFFFF
    device = (
        f"{facts.get('domain', 0) & 0xFFFFFFFF:04x}:{location >> 8:02x}:{location >> 3 & 31:02x}"
    )
    named = f"{device}.{location & 7}"
    first = f"{device}.0"
    return pci_place_of(files, named if files.has(f"{PCI}/{named}") else first)


def _id(facts: Mapping[str, int]) -> str:
    number = facts.get("unique_id", 0)
    return f"GPU-{number:016x}" if number > 0 else ""


def _model(files: DiscoverMachineFiles, at: str, place: PciDevicePlace) -> str:
    product = files.read(f"{PCI}/{place.bus_id}/product_name") or ""
    name = files.read(f"{at}/name") or ""
    return product or ("AMD GPU" if name in _UNNAMED else name)


def _memory_bytes(files: DiscoverMachineFiles, at: str) -> int:
    total = 0
    for bank in files.names(f"{at}/mem_banks"):
        facts = _facts(files, f"{at}/mem_banks/{bank}/properties")
        if facts.get("heap_type") in _FRAME_BUFFERS:
            total += max(0, facts.get("size_in_bytes", 0))
    return total


def _xgmi(
    files: DiscoverMachineFiles, gpus: Sequence[tuple[int, str]]
) -> tuple[dict[tuple[int, int], tuple[str, float]], bool]:
    """Return the xGMI links between GPUs, and whether their speed had to be assumed."""
    position = {node: i for i, (node, _) in enumerate(gpus)}
    direct: dict[tuple[int, int], tuple[str, float]] = {}
    nominal = False
    for i, (_, at) in enumerate(gpus):
        for name in files.names(f"{at}/io_links"):
            facts = _facts(files, f"{at}/io_links/{name}/properties")
            j = position.get(facts.get("node_to", -1), i)
            if facts.get("type") != _XGMI or i == j:
                continue
            one, all_ = facts.get("min_bandwidth", 0), facts.get("max_bandwidth", 0)
            nominal = nominal or all_ <= 0
            gb_per_s = min(all_ / 1000 if all_ > 0 else XGMI_GB_PER_S, 100_000.0)
            kind = f"XGMI{all_ // one}" if 0 < one <= all_ else "XGMI"
            pair = (min(i, j), max(i, j))
            direct[pair] = min(
                direct.get(pair, (kind, gb_per_s)), (kind, gb_per_s), key=lambda link: link[1]
            )
    return direct, nominal
