"""GPUs, RDMA ports and other accelerators, from the XML files of hwloc."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from placer.node.discover.accelerators import ACCELERATOR, GPU_VENDORS, is_pci_accelerator_class
from placer.node.discover.hwloc_xml import (
    HwlocAncestors,
    HwlocTree,
    hwloc_info_attributes,
    hwloc_matrix_object_indexes,
    hwloc_matrix_values,
)
from placer.node.discover.inventory import DiscoveredDevices, DiscoveredNumaNode
from placer.node.discover.pci import (
    PciDevicePlace,
    gpu_links,
    normalised_pci_bus_id,
    smallest_numa_node_covering_cpuset,
)
from placer.node.discover.rdma import down_port_warnings, natural_sort_key
from placer_models.device import GPU, Device, GpuLinkMatrix
from placer_models.instance.machine_links import SELF
from placer_models.machines.sketch import RDMA

_PCI_TYPE = re.compile(r"([0-9a-fA-F]{4}) \[([0-9a-fA-F]{4}):([0-9a-fA-F]{4})\]")
_NUMBERED = re.compile(r"([a-z]{2,30})[0-9]{1,4}")
_BACKEND = re.compile(r"(nvml|rsmi|cuda|ze)([0-9]{1,4})")
_OPENCL = re.compile(r"opencl[0-9]+d[0-9]+")
_VENDORS = ("10de", "1002")
_COMPUTE = ("0302", "0380", "1200")
_OPENFABRICS = {1: 3, 2: 3}
_OPENFABRICS_BIT = 32
_NETWORK = {1: 2, 2: 2}
_NETWORK_BIT = 16
_SLINGSHOT = "17db"
_DOWN = "1"
_KIB = ("CUDAGlobalMemorySize", "RSMIVRAMSize")


@dataclass(frozen=True, slots=True)
class _Gpu:
    """A GPU, or one of the parts that a driver shows of it, with what its back ends say."""

    place: PciDevicePlace
    elements: tuple[Element, ...]

    @property
    def said(self) -> dict[str, str]:
        told: dict[str, str] = {}
        for element in self.elements:
            told |= {name: value for name, value in hwloc_info_attributes(element).items() if value}
        return told

    def index(self, backend: str) -> int | None:
        """Return the number that a back end gives the GPU, or None if it gives none."""
        for element in self.elements:
            match = _BACKEND.fullmatch(element.get("name", ""))
            if match and match[1] == backend:
                return int(match[2])
        return None


def pci_places_by_bus_id(
    tree: HwlocTree, numa_nodes: Sequence[DiscoveredNumaNode]
) -> dict[str, PciDevicePlace]:
    """Return bus id -> where the device sits.

    Raises:
        InputError: A bus id is malformed.

    """
    return {
        bus_id: _place(element, place, bus_id, numa_nodes)
        for element, place in tree.of_type("PCIDev")
        for bus_id in [_bus_id(tree, element)]
    }


def read_hwloc_devices(
    tree: HwlocTree, numa_nodes: Sequence[DiscoveredNumaNode], *, gpus_too: bool = True
) -> DiscoveredDevices:
    """Return the file's RDMA ports and accelerators, and its GPUs unless other sources have them.

    Raises:
        InputError: A device is not as hwloc writes it.

    """
    places = pci_places_by_bus_id(tree, numa_nodes)
    gpus = _numbered(_gpus(tree, places) if gpus_too else [])
    devices = [_device(minor, gpu) for minor, gpu in gpus]
    links = _links(tree, gpus)
    ports, warnings = _rdma(tree, places)
    if links is None and len(gpus) > 1:
        warnings.append("the file does not say how the GPUs are linked")
    if links is not None and len(gpus) > 2 and _is_flat(links):
        warnings.append(
            "the file says one bandwidth for every pair of GPUs, whatever links join them"
        )
    found = (*devices, *ports, *_accelerators(tree, places))
    return DiscoveredDevices(found, links, warnings=tuple(warnings))


def _is_flat(links: GpuLinkMatrix) -> bool:
    """Return whether every pair has the same xGMI link: some drivers say so of any machine."""
    return {kind for row in links.kinds for kind in row} == {SELF, "XGMI"}


def _bus_id(tree: HwlocTree, element: Element) -> str:
    try:
        return normalised_pci_bus_id(element.get("pci_busid", ""))
    except ValueError as error:
        raise tree.wrong(element, str(error)) from None


def _place(
    element: Element, place: HwlocAncestors, bus_id: str, numa_nodes: Sequence[DiscoveredNumaNode]
) -> PciDevicePlace:
    host, *bridges = place.bridges or ("",)
    speed = element.get("pci_link_speed", "")
    gb_per_s = float(speed) if re.fullmatch(r"[0-9]{1,4}(\.[0-9]{1,9})?", speed) else 0.0
    return PciDevicePlace(
        bus_id,
        root=host or None,
        bridges=tuple(bridges),
        numa_node=smallest_numa_node_covering_cpuset(
            place.cpus, {node.id: node.cpus for node in numa_nodes}
        ),
        gb_per_s=round(gb_per_s, 2) or None,
    )


def _gpus(tree: HwlocTree, places: Mapping[str, PciDevicePlace]) -> list[_Gpu]:
    found = []
    for element, _ in tree.of_type("PCIDev"):
        match = _PCI_TYPE.match(element.get("pci_type", ""))
        inside = [e for e in element.iterfind("object") if e.get("type") == "OSDev"]
        back: dict[str, list[Element]] = {}
        for osdev in inside:
            name = _BACKEND.fullmatch(osdev.get("name", ""))
            if name:
                back.setdefault(name[1], []).append(osdev)
        speaks = bool(back) or any(_OPENCL.fullmatch(e.get("name", "")) for e in inside)
        is_one = match is not None and match[2].lower() in _VENDORS
        if not (back or (is_one and match and (match[1] in _COMPUTE or speaks))):
            continue
        place = places[_bus_id(tree, element)]
        # A GPU in partitions appears several times in one back end.
        for part in range(max(map(len, back.values()), default=1)):
            elements = [osdevs[part] for osdevs in back.values() if part < len(osdevs)]
            others = [e for e in inside if _OPENCL.fullmatch(e.get("name", ""))][:1]
            found.append(_Gpu(place, tuple(elements or others)))
    return found


def _numbered(gpus: Sequence[_Gpu]) -> list[tuple[int, _Gpu]]:
    """Return the GPUs ascending by minor: as one driver numbers them all, or else by bus id."""
    for backend in ("nvml", "rsmi", "cuda"):
        minors = [gpu.index(backend) for gpu in gpus]
        if gpus and None not in minors and len(set(minors)) == len(minors):
            pairs = [(minor or 0, gpu) for minor, gpu in zip(minors, gpus, strict=True)]
            return sorted(pairs, key=lambda pair: pair[0])
    return list(enumerate(sorted(gpus, key=lambda gpu: gpu.place.bus_id)))


def _device(minor: int, gpu: _Gpu) -> Device:
    said = gpu.said
    uuid = said.get("NVIDIAUUID") or said.get("AMDUUID", "")
    sizes = [said[name] for name in _KIB if re.fullmatch("[0-9]{1,15}", said.get(name, ""))]
    return gpu.place.located(
        Device(
            type=GPU,
            minor=minor,
            id=uuid if re.search("[1-9a-fA-F]", uuid.removeprefix("GPU-")) else "",
            model=said.get("GPUModel", "").removeprefix("NVIDIA "),
            memory_bytes=int(sizes[0]) * 1024 if sizes else 0,
        )
    )


def _links(tree: HwlocTree, gpus: Sequence[tuple[int, _Gpu]]) -> GpuLinkMatrix | None:
    """Return the links of the GPUs, or None if the file does not say them."""
    position = {
        element.get("gp_index", ""): i
        for i, (_, gpu) in enumerate(gpus)
        for element in gpu.elements
    }
    minors, places = [minor for minor, _ in gpus], [gpu.place for _, gpu in gpus]
    for tag in ("distances2", "distances2hetero"):
        for element in tree.root.iterfind(tag):
            kind = {"NVLinkBandwidth": "NVLink", "XGMIBandwidth": "XGMI"}.get(
                element.get("name", "")
            )
            ids, values = hwloc_matrix_object_indexes(element), hwloc_matrix_values(element)
            if kind is None or len(values) != len(ids) ** 2:
                continue
            ends = [position.get(index.rpartition(":")[2]) for index in ids]
            direct, switched = _direct(kind, ends, values)
            return gpu_links(minors, places, direct, shared_egress=switched)
    return None


def _direct(
    kind: str, ends: Sequence[int | None], values: Sequence[int]
) -> tuple[dict[tuple[int, int], tuple[str, float]], bool]:
    """Return the bandwidth from GPU to GPU, in GB/s, and whether some of it is through switches.

    Args:
        kind: What the links are called.
        ends: For each row of the matrix, the position of its GPU, or None if it is a switch.
        values: The cells of the matrix, in MB/s.

    """
    width = len(ends)
    to_switches: Counter[int] = Counter()
    direct: dict[tuple[int, int], tuple[str, float]] = {}
    for row, i in enumerate(ends):
        for column, j in enumerate(ends):
            value = min(values[row * width + column], 10**8)
            if i is None or row == column or not value:
                continue
            if j is None:
                to_switches[i] += value
            elif i < j:
                direct[i, j] = (kind, value / 1000)
    for i, a in to_switches.items():
        for j, b in to_switches.items():
            if i < j:
                direct.setdefault((i, j), (kind, min(a, b) / 1000))
    return direct, bool(to_switches)


def _rdma(tree: HwlocTree, places: Mapping[str, PciDevicePlace]) -> tuple[list[Device], list[str]]:
    ports: list[tuple[str, PciDevicePlace, dict[str, str]]] = []
    for element, _ in tree.of_type("PCIDev"):
        match = _PCI_TYPE.match(element.get("pci_type", ""))
        slingshot = match is not None and match[2].lower() == _SLINGSHOT
        for osdev in element.iterfind("object"):
            if osdev.get("type") == "OSDev" and _is_rdma(tree, osdev, slingshot):
                place = places[_bus_id(tree, element)]
                ports.append((osdev.get("name", ""), place, hwloc_info_attributes(osdev)))
    devices: list[Device] = []
    for name, place, said in sorted(ports, key=lambda port: natural_sort_key(port[0])):
        states = [value for key, value in said.items() if re.fullmatch("Port[0-9]+State", key)]
        healthy = not states or any(state != _DOWN for state in states)
        devices.append(
            place.located(Device(type=RDMA, minor=len(devices), id=name, healthy=healthy))
        )
    return devices, down_port_warnings(devices)


def _accelerators(tree: HwlocTree, places: Mapping[str, PciDevicePlace]) -> list[Device]:
    """Return the accelerators that are not GPUs; the types are hwloc's names less their numbers."""
    found: list[Device] = []
    counts: Counter[str] = Counter()
    for element, _ in tree.of_type("PCIDev"):
        match = _PCI_TYPE.match(element.get("pci_type", ""))
        is_one = match is not None and is_pci_accelerator_class(int(match[1], 16))
        if match is None or not is_one or int(match[2], 16) in GPU_VENDORS:
            continue
        names = [e.get("name", "") for e in element.iterfind("object") if e.get("type") == "OSDev"]
        types = [name[1] for name in map(_NUMBERED.fullmatch, names) if name]
        type = types[0] if types else ACCELERATOR
        place = places[_bus_id(tree, element)]
        model = f"{match[2]}:{match[3]}".lower()
        found.append(place.located(Device(type=type, minor=counts[type], model=model)))
        counts[type] += 1
    return found


def _is_rdma(tree: HwlocTree, osdev: Element, slingshot: bool) -> bool:
    """Return whether an OS device is an RDMA port; Slingshot's are network ports to hwloc."""
    kind = tree.number(osdev, "osdev_type") or 0
    if tree.version in _OPENFABRICS:
        return kind == _OPENFABRICS[tree.version] or (slingshot and kind == _NETWORK[tree.version])
    # From version 3 on, types are bits.
    return bool(kind & _OPENFABRICS_BIT) or (slingshot and bool(kind & _NETWORK_BIT))
