"""Discovery of a machine's insides in the kernel's files, dumps of them and drivers (C1, D15)."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from placer.node.discover.devices import discover_devices, merged_devices
from placer.node.discover.hwloc_devices import pci_places_by_bus_id, read_hwloc_devices
from placer.node.discover.hwloc_xml import load_hwloc_tree, read_hwloc
from placer.node.discover.inventory import DiscoveredDevices, HardwareInventory
from placer.node.discover.kubelet import with_kubelet_allocations
from placer.node.discover.machine import DiscoveredMachine as DiscoveredMachine
from placer.node.discover.machine import machine_from_inventory as machine_from_inventory
from placer.node.discover.node_resource_topology import DOCUMENTS, read_node_resource_topology
from placer.node.discover.nvidia_smi import is_smi_text_file, read_smi_file, smi_devices
from placer.node.discover.pci import PciDevicePlace
from placer.node.discover.roots import open_machine_files
from placer.node.discover.sysfs import read_sysfs
from placer_models.files.errors import InputError
from placer_models.kubernetes.checkpoints.checkpoint_files import KUBELET_ROOT

HOST = Path("/")


def discover_hardware(
    root: Path = HOST, nvidia_smi: Sequence[Path] = (), *, kubelet_root: str = KUBELET_ROOT
) -> HardwareInventory:
    """Return everything that is found out about the machine whose files these are.

    Args:
        root: The root of a Linux system, a folder or tar archive with a copy of its /sys
            and /proc, an XML file of hwloc, or a NodeResourceTopology of Kubernetes.
        nvidia_smi: Files with what nvidia-smi printed on that machine.
        kubelet_root: The root directory of its kubelet, an absolute path.

    Raises:
        InputError: It is none of these, or a file in it is not what the kernel writes.

    """
    texts = [read_smi_file(path) for path in nvidia_smi]
    if root.is_file() and root.suffix in DOCUMENTS:
        if texts:
            message = "has its devices in its zones; give no text of nvidia-smi beside it"
            raise InputError(str(root), None, "", message)
        return read_node_resource_topology(root)
    if not (root.is_file() and _is_xml(root)):
        files = open_machine_files(root)
        found = replace(read_sysfs(files), found=discover_devices(files, texts))
        return with_kubelet_allocations(files, found, kubelet_root)
    tree = load_hwloc_tree(root)
    inventory = read_hwloc(tree)
    devices = read_hwloc_devices(tree, inventory.numa_nodes, gpus_too=not texts)
    if texts:
        places = pci_places_by_bus_id(tree, inventory.numa_nodes)
        told = smi_devices(texts, lambda bus_id: places.get(bus_id) or PciDevicePlace(bus_id))
        devices = merged_devices(told, DiscoveredDevices(), devices)
    return replace(inventory, found=devices)


def split_dump_and_smi_texts(files: Sequence[Path]) -> tuple[Path, list[Path]]:
    """Return the dump among the files, and the texts of nvidia-smi; `HOST` if there is no dump.

    Raises:
        InputError: There are two dumps, or texts alone, which do not say whose GPUs they show.

    """
    texts = [file for file in files if is_smi_text_file(file)]
    dumps = [file for file in files if file not in texts]
    if len(dumps) > 1:
        message = (
            f"is none of what nvidia-smi prints, and a dump is given already ({dumps[0]}); "
            "expected one machine, and what nvidia-smi -q, -L or topo -m printed there"
        )
        raise InputError(str(dumps[1]), None, "", message)
    if texts and not dumps:
        message = (
            "tells of GPUs alone; give the dump of their machine beside it, or / if it is this one"
        )
        raise InputError(str(texts[0]), None, "", message)
    return (dumps or [HOST])[0], texts


def _is_xml(file: Path) -> bool:
    try:
        with file.open("rb") as stream:
            return stream.read(256).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<")
    except OSError:
        return False
