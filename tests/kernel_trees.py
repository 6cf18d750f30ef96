"""Files of machines that nobody has built, as their kernel would show them: all synthetic."""

import io
import tarfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from placer.node.discover.archive import Members
from placer.node.discover.files import MachineFiles

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


def files_of(*trees: Mapping[str, str]) -> MachineFiles:
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
    return MachineFiles("a dump", Members(found))


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
    with tarfile.open(file, mode) as archive:  # type: ignore[call-overload]
        for name, text in members:
            member = tarfile.TarInfo(name)
            if text.startswith("->"):
                member.type, member.linkname = tarfile.SYMTYPE, text[2:]
                archive.addfile(member)
            else:
                member.size = len(text)
                archive.addfile(member, io.BytesIO(text.encode()))
    return file
