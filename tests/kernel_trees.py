"""Files of machines that nobody has built, as their kernel would show them: all synthetic."""

import io
import tarfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from placer.node.discover.machine_files import DiscoverMachineFiles
from placer.node.discover.roots import DiscoverTarArchive

CPU = "sys/devices/system/cpu"
NODE = "sys/devices/system/node"

Tree = dict[str, str]
"""Path -> text. A text that begins with ``->`` is a link to what follows."""


def a_cpu(cpu: int, threads: str = "", package: int = 0, llc: str = "", **topology: object) -> Tree:
    """Return the files of an online CPU."""
    at = f"{CPU}/cpu{cpu}"
    tree = {
        f"{at}/topology/thread_siblings_list": threads or str(cpu),
        f"{at}/topology/physical_package_id": str(package),
    }
    tree |= {f"{at}/topology/{name}": str(text) for name, text in topology.items()}
    if llc:
        tree |= a_cache(cpu, 0, 1, str(cpu)) | a_cache(cpu, 1, 3, llc)
    return tree


def a_cache(cpu: int, index: int, level: int, cpus: str, kind: str = "Unified") -> Tree:
    """Return the files of one cache of a CPU."""
    at = f"{CPU}/cpu{cpu}/cache/index{index}"
    return {f"{at}/level": str(level), f"{at}/type": kind, f"{at}/shared_cpu_list": cpus}


def a_node(node: int, cpus: str, mib: int = 1024, distance: str = "") -> Tree:
    """Return the files of a NUMA node."""
    at = f"{NODE}/node{node}"
    tree = {
        f"{at}/cpulist": cpus,
        f"{at}/meminfo": f"Node {node} MemTotal:  {mib * 1024} kB\nNode {node} MemFree: 1 kB",
    }
    return tree | ({f"{at}/distance": distance} if distance else {})


def smt_machine(packages: int = 2, cores: int = 2) -> Tree:
    """Return a machine with two threads a core, one NUMA node and one cache a package."""
    count = packages * cores
    tree: Tree = {
        f"{CPU}/online": f"0-{2 * count - 1}",
        "proc/cpuinfo": "processor : 0\nvendor_id : GenuineIntel\nmodel name : Synthetic 1",
    }
    for package in range(packages):
        first, last = package * cores, (package + 1) * cores - 1
        cpus = f"{first}-{last},{first + count}-{last + count}"
        for core in range(first, last + 1):
            for cpu in (core, core + count):
                tree |= a_cpu(cpu, f"{core},{core + count}", package, cpus)
        distance = " ".join("10" if other == package else "21" for other in range(packages))
        tree |= a_node(package, cpus, distance=distance)
    return tree


def files_of(*trees: Mapping[str, str]) -> DiscoverMachineFiles:
    """Return the files as a dump in memory."""
    found: dict[str, bytes | str | set[str]] = {"": set()}
    for tree in trees:
        for path, text in tree.items():
            parts = path.split("/")
            for depth, name in enumerate(parts):
                folder = found.setdefault("/".join(parts[:depth]), set())
                assert isinstance(folder, set), path
                folder.add(name)
            found[path] = text[2:] if text.startswith("->") else text.encode()
    return DiscoverMachineFiles("a dump", DiscoverTarArchive(found))


def write_tree(root: Path, *trees: Mapping[str, str]) -> Path:
    """Write the files below a folder."""
    for tree in trees:
        for path, text in tree.items():
            file = root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            if text.startswith("->"):
                file.symlink_to(text[2:])
            else:
                file.write_text(f"{text}\n")
    return root


def tar_of(file: Path, members: Iterable[tuple[str, str]], mode: str = "w:gz") -> Path:
    """Write a tar archive with these names and texts."""
    with tarfile.open(file, mode) as archive:
        for name, text in members:
            member = tarfile.TarInfo(name)
            if text.startswith("->"):
                member.type, member.linkname = tarfile.SYMTYPE, text[2:]
                archive.addfile(member)
            else:
                member.size = len(text)
                archive.addfile(member, io.BytesIO(text.encode()))
    return file


def a_pci_device(bus_id: str, *bridges: str, root: str = "0000:17", **files: object) -> Tree:
    """Return a PCI device behind some bridges, and the link by which it is found."""
    folder = "/".join(("devices", f"pci{root}", *bridges, bus_id))
    tree = {f"sys/{folder}/{name}": str(text) for name, text in files.items()}
    return tree | {f"sys/bus/pci/devices/{bus_id}": f"->../../../{folder}"}


def a_port(name: str, device: str, state: str = "4: ACTIVE", folder: str = "infiniband") -> Tree:
    """Return an RDMA port on a device below sys/devices."""
    at = f"sys/class/{folder}/{name}"
    return {
        f"{at}/device": f"->../../../devices/{device}",
        f"{at}/hca_type": "MT4129",
        f"{at}/ports/1/state": state,
    }


def a_kfd_gpu(node: int, bus: int, **facts: int) -> Tree:
    """Return one of AMD's GPUs with 64 GiB, on bus ``bus`` of domain 0."""
    at = f"sys/class/kfd/kfd/topology/nodes/{node}"
    said = {"simd_count": 440, "domain": 0, "location_id": bus << 8, "unique_id": 0xAB00 + node}
    lines = "\n".join(f"{name} {value}" for name, value in {**said, **facts}.items())
    return {
        f"{at}/gpu_id": str(1000 + node),
        f"{at}/name": "aldebaran",
        f"{at}/properties": lines,
        f"{at}/mem_banks/0/properties": f"heap_type 1\nsize_in_bytes {2**36}\nflags 0",
    }


def a_kfd_cpu(node: int) -> Tree:
    """Return a CPU as AMD's driver lists it."""
    at = f"sys/class/kfd/kfd/topology/nodes/{node}"
    return {f"{at}/gpu_id": "0", f"{at}/properties": "cpu_cores_count 32\nsimd_count 0"}


def an_xgmi_link(a: int, b: int, index: int = 0, one: int = 50_000, all_: int = 50_000) -> Tree:
    """Return a link from one kfd node to another, in MB/s."""
    at = f"sys/class/kfd/kfd/topology/nodes/{a}/io_links/{index}/properties"
    said = f"type 11\nnode_from {a}\nnode_to {b}\nmin_bandwidth {one}\nmax_bandwidth {all_}"
    return {at: said}
