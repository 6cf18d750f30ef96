"""The file of a machine (``kind: Machine``): its schema, and how it becomes a machine."""

from typing import Annotated, Literal

from pydantic import Field

from placer_models.cluster import Machine
from placer_models.cpuset import CpuSet, format_cpu_list, parse_cpu_list
from placer_models.device import GPU
from placer_models.files.part import Name, Part
from placer_models.instance.fields import CpuList, GpuList
from placer_models.instance.machine_cores import (
    cores_of_numbered_cpus,
    cpus_of_each_cache,
    group_number_by_cpu,
)
from placer_models.instance.machine_devices import read_devices, read_links
from placer_models.instance.machine_partitions import read_partitions
from placer_models.instance.machine_parts import (
    CpusWithoutNumaNodePart,
    MachineCoresPart,
    MachineDevicesPart,
    MachineGpuLinksPart,
    MachineNumaNodePart,
    MachinePackagePart,
    value_errors_naming_field,
)
from placer_models.policy import HybridCoreKind
from placer_models.quantity import parse_bytes
from placer_models.topology import Cpu, Hugepages, NumaNode, Topology


class MachineFile(Part):
    """A machine, as a file of its own or inside an instance."""

    api_version: Literal["placer/v1"] = "placer/v1"
    kind: Literal["Machine"] = "Machine"
    name: Name
    title: str = ""
    architecture: str = Field(
        default="x86_64", description="As uname -m says it; arm64 is read as aarch64."
    )
    sources: tuple[str, ...] = ()
    notes: str = ""
    numa_nodes: tuple[MachineNumaNodePart, ...] = Field(min_length=1)
    cpus_without_numa_node: tuple[CpusWithoutNumaNodePart, ...] = ()
    packages: tuple[MachinePackagePart, ...] = ()
    cores: tuple[MachineCoresPart, ...] = ()
    llcs: tuple[CpuList, ...] = ()
    offline_cpus: CpuList = ""
    numa_distances: tuple[tuple[Annotated[int, Field(ge=0, le=2**31)], ...], ...] = ()
    devices: tuple[MachineDevicesPart, ...] = ()
    gpu_links: MachineGpuLinksPart | None = None
    partitions: tuple[GpuList, ...] = ()


def machine_of_file(file: MachineFile) -> Machine:
    """Return the machine that the file describes.

    Raises:
        InconsistentMachineError: Its parts contradict each other.

    """
    topology = _topology(file)
    devices = read_devices(file.devices, _packages(file, topology))
    gpus = [d.minor for d in devices if d.type == GPU]
    with value_errors_naming_field("partitions"):
        partitions = read_partitions(file.partitions, gpus)
    return Machine(
        name=file.name,
        title=file.title or file.name,
        topology=topology,
        devices=devices,
        gpu_links=read_links(file.gpu_links, gpus),
        partitions=partitions,
        sources=file.sources,
        notes=file.notes,
    )


def _topology(file: MachineFile) -> Topology:
    numa_nodes = _numa_nodes(file)
    numa_of, package_of = _places(file)
    present = frozenset(package_of)
    core_of, kind_of, llc_of = _cores(file, present, package_of)
    offline = parse_cpu_list(file.offline_cpus)
    with value_errors_naming_field("offlineCpus"):
        if strangers := offline - present:
            raise ValueError(f"the machine has no CPU {format_cpu_list(strangers)}")
    cpus = tuple(
        Cpu(
            id=cpu,
            core=core_of[cpu],
            package=package_of[cpu],
            numa_node=numa_of.get(cpu),
            llc=llc_of.get(cpu),
            kind=kind_of[cpu],
            online=cpu not in offline,
        )
        for cpu in sorted(present)
    )
    with value_errors_naming_field("numaNodes"):
        return Topology(file.architecture, cpus, numa_nodes, file.numa_distances)


def _numa_nodes(file: MachineFile) -> tuple[NumaNode, ...]:
    nodes: list[NumaNode] = []
    for i, part in enumerate(file.numa_nodes):
        with value_errors_naming_field("numaNodes", i):
            if (part.id is None) == (part.ids is None):
                raise ValueError("a NUMA node has an id, or several alike have ids: give one")
            if part.ids is not None and part.cpus:
                raise ValueError("CPUs belong to one NUMA node: give each its own entry")
        with value_errors_naming_field("numaNodes", i, "memory"):
            memory_bytes = parse_bytes(part.memory)
        with value_errors_naming_field("numaNodes", i, "hugepages"):
            counts = {parse_bytes(size): count for size, count in part.hugepages.items()}
            if len(counts) < len(part.hugepages) or 0 in counts:
                raise ValueError("a page has a size, and each size stands here once")
            if sum(size * count for size, count in counts.items()) > memory_bytes:
                raise ValueError(f"these pages are more than the memory, {part.memory}")
        pages = tuple(Hugepages(size, count) for size, count in sorted(counts.items()))
        nodes += [NumaNode(id, memory_bytes, pages) for id in sorted(_ids(part))]
    return tuple(sorted(nodes, key=lambda node: node.id))


def _places(file: MachineFile) -> tuple[dict[int, int], dict[int, int]]:
    """Return CPU -> NUMA node, and CPU -> package."""
    numa_of: dict[int, int] = {}
    package_of: dict[int, int] = {}
    for i, part in enumerate(file.numa_nodes):
        cpus = parse_cpu_list(part.cpus)
        with value_errors_naming_field("numaNodes", i, "cpus"):
            if twice := numa_of.keys() & cpus:
                first = numa_of[min(twice)]
                raise ValueError(
                    f"CPU {format_cpu_list(twice)} is on NUMA node {first} already; "
                    "a CPU belongs to one NUMA node"
                )
        numa_of |= dict.fromkeys(cpus, part.id or 0)
        package_of |= dict.fromkeys(cpus, part.package)
    for i, loose in enumerate(file.cpus_without_numa_node):
        cpus = parse_cpu_list(loose.cpus)
        with value_errors_naming_field("cpusWithoutNumaNode", i, "cpus"):
            if twice := package_of.keys() & cpus:
                raise ValueError(f"CPU {format_cpu_list(twice)} is listed already")
        package_of |= dict.fromkeys(cpus, loose.package)
    placed: CpuSet = frozenset()
    for i, package in enumerate(file.packages):
        cpus = parse_cpu_list(package.cpus)
        with value_errors_naming_field("packages", i, "cpus"):
            if strangers := cpus - package_of.keys():
                raise ValueError(f"the machine has no CPU {format_cpu_list(strangers)}")
            if again := cpus & placed:
                raise ValueError(f"CPU {format_cpu_list(again)} is in a package already")
        placed |= cpus
        package_of |= dict.fromkeys(cpus, package.id)
    return numa_of, package_of


def _cores(
    file: MachineFile, present: CpuSet, package_of: dict[int, int]
) -> tuple[dict[int, int], dict[int, HybridCoreKind], dict[int, int]]:
    """Return CPU -> core, CPU -> kind of its core, and CPU -> last-level cache."""
    cores: list[CpuSet] = []
    caches = [parse_cpu_list(text) for text in file.llcs]
    kind_of: dict[int, HybridCoreKind] = {}
    for i, part in enumerate(file.cores or (MachineCoresPart(cpus=format_cpu_list(present)),)):
        with value_errors_naming_field("cores", i):
            if (part.cpus is None) == (not part.threads):
                raise ValueError("give either cpus or threads: one list of CPUs for each core")
            if part.cpus is None:
                block = [parse_cpu_list(text) for text in part.threads]
                if not all(block):
                    raise ValueError("a core has at least one CPU; one of threads is empty")
            else:
                cpus = parse_cpu_list(part.cpus)
                block = cores_of_numbered_cpus(cpus, part.threads_per_core, part.numbering)
            kind_of |= dict.fromkeys(group_number_by_cpu(block, present, "core"), part.kind)
        cores += block
        if part.cores_per_llc is not None:
            with value_errors_naming_field("cores", i, "coresPerLlc"):
                if file.llcs:
                    raise ValueError("caches are listed in llcs already; keep one of the two")
                caches += cpus_of_each_cache(block, part.cores_per_llc, package_of)
    with value_errors_naming_field("cores"):
        core_of = group_number_by_cpu(cores, present, "core")
        if missing := present - core_of.keys():
            raise ValueError(f"CPU {format_cpu_list(missing)} belongs to no core")
    with value_errors_naming_field("llcs"):
        return core_of, kind_of, group_number_by_cpu(caches, present, "last-level cache")


def _packages(file: MachineFile, topology: Topology) -> dict[int, int | None]:
    """Return NUMA node -> the package of its CPUs, or None if they are of several packages."""
    packages: dict[int, set[int]] = {node.id: set() for node in topology.numa_nodes}
    for cpu in topology.cpus:
        if cpu.numa_node is not None:
            packages[cpu.numa_node].add(cpu.package)
    for part in file.numa_nodes:
        for id in _ids(part):
            packages[id] = packages[id] or {part.package}
    return {id: found.pop() if len(found) == 1 else None for id, found in packages.items()}


def _ids(part: MachineNumaNodePart) -> CpuSet:
    if part.ids is not None:
        return parse_cpu_list(part.ids)
    return frozenset() if part.id is None else frozenset({part.id})
