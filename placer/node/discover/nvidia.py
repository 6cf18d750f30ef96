"""NVIDIA's GPUs as devices, from what NVML, nvidia-smi or the kernel's files say about each."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

from placer.node.discover.inventory import DiscoveredDevices
from placer.node.discover.machine_files import DiscoverMachineFiles
from placer.node.discover.pci import PCI, PciDevicePlace, gpu_links, pci_vendor_and_class
from placer_models.device import GPU, Device

PROC = "proc/driver/nvidia/gpus"

_VENDOR = 0x10DE
_DISPLAY = (0x0300, 0x0302)


@dataclass(frozen=True, slots=True)
class NvidiaGpu:
    """One GPU as a driver or the kernel describes it.

    Attributes:
        minor: None where nothing says it; then GPUs are numbered in the order of their bus ids.
        bus_id: As the kernel writes it; empty where nothing says it.
        numa_node: As a driver says it; it counts only where the GPU's place names none.
        peers: Bus id of a GPU -> how many NVLinks lead there.
        switch_links: How many NVLinks lead to switches.
        link_gb_per_s: What one NVLink carries per direction.

    """

    minor: int | None
    bus_id: str = ""
    uuid: str = ""
    model: str = ""
    memory_bytes: int = 0
    healthy: bool = True
    in_mig_mode: bool = False
    numa_node: int | None = None
    peers: Mapping[str, int] = field(default_factory=dict)
    switch_links: int = 0
    link_gb_per_s: float = 0.0


PlaceOf = Callable[[str], PciDevicePlace]
"""Says where the device with a bus id sits."""


def gpus_to_devices(
    gpus: Sequence[NvidiaGpu], place_of: PlaceOf, *, links_known: bool = True
) -> DiscoveredDevices:
    """Return the GPUs as devices, and the links between them.

    Args:
        gpus: The GPUs as they are described.
        place_of: Says where each GPU sits.
        links_known: Whether the source reports NVLinks; if not, it is unknown how the GPUs
            are linked.

    """
    gpus = sorted(gpus_with_minors(gpus), key=lambda gpu: gpu.minor or 0)
    places = [_place(gpu, place_of) for gpu in gpus]
    warnings: list[str] = []
    devices = []
    modes = []
    for gpu, place in zip(gpus, places, strict=True):
        minor = gpu.minor or 0
        healthy = gpu.healthy
        if gpu.in_mig_mode:
            table = mig_table_name(gpu)
            if table:
                modes.append((minor, table))
            else:
                healthy = False
                warnings.append(
                    f"GPU {minor} is in MIG mode, and the profiles of {gpu.model or 'its model'} "
                    "are not known; rule: it is not given out"
                )
        devices.append(
            place.located(
                Device(
                    type=GPU,
                    minor=minor,
                    id=gpu.uuid,
                    model=gpu.model.removeprefix("NVIDIA "),
                    memory_bytes=gpu.memory_bytes,
                    healthy=healthy,
                )
            )
        )
    sick = [str(gpu.minor) for gpu in gpus if not gpu.healthy]
    if sick:
        warnings.append(f"GPU {', '.join(sick)}: the driver says that it is broken")
    links = None
    if links_known:
        links = gpu_links([gpu.minor or 0 for gpu in gpus], places, _nvlinks(gpus))
    return DiscoveredDevices(tuple(devices), links, tuple(modes), warnings=tuple(warnings))


def mig_table_name(gpu: NvidiaGpu) -> str:
    """Return the name of a GPU's table of MIG profiles; empty if none is known."""
    gib = gpu.memory_bytes / 2**30
    for name, least, most in (("A100-40GB", 35, 45), ("A100-80GB", 70, 85), ("H100-80GB", 70, 85)):
        if name.partition("-")[0] in gpu.model and least <= gib <= most:
            return name
    return ""


def read_nvidia_gpus(files: DiscoverMachineFiles) -> tuple[NvidiaGpu, ...]:
    """Return NVIDIA's GPUs as the kernel's files describe them: their places and identities."""
    found: dict[str, NvidiaGpu] = {}
    for name in files.names(PCI):
        vendor, kind = pci_vendor_and_class(files, name)
        if vendor == _VENDOR and kind in _DISPLAY:
            found[name.lower()] = NvidiaGpu(None, name.lower())
    for name in files.names(PROC):
        text = files.read(f"{PROC}/{name}/information") or ""
        said = {
            key.strip(): value.strip()
            for key, _, value in (line.partition(":") for line in text.splitlines())
        }
        minor = said.get("Device Minor", "")
        found[name.lower()] = NvidiaGpu(
            int(minor) if re.fullmatch("[0-9]{1,4}", minor) else None,
            name.lower(),
            uuid=said.get("GPU UUID", ""),
            model=said.get("Model", ""),
        )
    return tuple(gpu for _, gpu in sorted(found.items()))


def gpus_with_minors(gpus: Sequence[NvidiaGpu]) -> list[NvidiaGpu]:
    """Return the GPUs in the given order, each with a minor of its own.

    If a minor is missing or not unique, all are numbered in the order of their bus ids.
    """
    minors = [gpu.minor for gpu in gpus]
    if None not in minors and len(set(minors)) == len(minors):
        return list(gpus)
    in_order = sorted(range(len(gpus)), key=lambda i: gpus[i].bus_id)
    rank = {i: minor for minor, i in enumerate(in_order)}
    return [replace(gpu, minor=rank[i]) for i, gpu in enumerate(gpus)]


def _place(gpu: NvidiaGpu, place_of: PlaceOf) -> PciDevicePlace:
    place = place_of(gpu.bus_id) if gpu.bus_id else PciDevicePlace("")
    return replace(place, numa_node=gpu.numa_node) if place.numa_node is None else place


def _nvlinks(gpus: Sequence[NvidiaGpu]) -> dict[tuple[int, int], tuple[str, float]]:
    """Return the NVLinks between every two GPUs: direct ones, else those through switches.

    A link counts if both of its ends report it.
    """
    direct: dict[tuple[int, int], tuple[str, float]] = {}
    for (i, a), (j, b) in combinations(enumerate(gpus), 2):
        count = min(a.peers.get(b.bus_id, 0), b.peers.get(a.bus_id, 0))
        count = count or min(a.switch_links, b.switch_links)
        if count:
            rate = min(a.link_gb_per_s, b.link_gb_per_s)
            direct[i, j] = (f"NV{count}", round(count * rate, 2))
    return direct
