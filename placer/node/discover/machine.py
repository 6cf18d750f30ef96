"""Machines and nodes made from an inventory; warnings tell what could not be expressed, and why."""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import PurePath

from placer.node.discover.held import held_resources_in_words, node_without_held_resources
from placer.node.discover.inventory import DiscoveredCpu, DiscoveredNumaNode, HardwareInventory
from placer_models.cluster import Instance, Machine, Node
from placer_models.cpuset import CpuSet, format_cpu_list
from placer_models.device import GPU
from placer_models.instance.machine_cores import group_number_by_cpu
from placer_models.message_text import cpu_ids_with_noun, cpu_ids_with_verb
from placer_models.policy import HybridCoreKind
from placer_models.topology import Cpu, NumaNode, Topology

EFFICIENT_BELOW_PERCENT = 75
"""A core with less of the capacity of the best core counts as an efficiency core."""

_LARGEST_PACKAGE = 2**31
_NO_NAME = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class DiscoveredMachine:
    """A discovered machine in our words.

    Attributes:
        warnings: What our words cannot express, and by which rule it was made to fit; and what
            could not be found out.

    """

    inventory: HardwareInventory
    machine: Machine
    warnings: tuple[str, ...]

    @property
    def reserved(self) -> CpuSet:
        """Online CPUs that a node gives to nobody: not allowed, kept by the kubelet, or owned."""
        inventory, online = self.inventory, self.machine.topology.online
        allowed = inventory.allowed_cpus
        lost = online - allowed if allowed is not None and online & allowed else frozenset[int]()
        kept = inventory.policy.reserved if inventory.policy else frozenset[int]()
        return lost | (online & kept) | self.pinned

    @property
    def pinned(self) -> CpuSet:
        """Online CPUs that pods own according to the kubelet."""
        owned = frozenset[int]().union(*(pod.cpuset for pod in self.inventory.pod_cpus))
        return self.machine.topology.online & owned

    def node(self) -> Node:
        """Return a node of this machine that gives out only what nobody holds."""
        return node_without_held_resources(self.whole_node(), self.inventory)

    def whole_node(self) -> Node:
        """Return a node of this machine with all of its memory and devices, held or not."""
        return Node(
            name=sanitised_file_name(self.inventory.host) or self.machine.name,
            machine=self.machine,
            reserved_cpus=self.reserved,
            unpooled_cpus=self.pinned,
            mig=self.inventory.found.modes,
            alignment=self.inventory.alignment,
            scope=self.inventory.scope,
        )

    def instance(self) -> Instance:
        """Return an instance of this node alone."""
        return Instance(nodes=(self.node(),), gangs=())


def sanitised_file_name(text: str) -> str:
    """Return the text as a name that files can hold; empty where nothing is left of it."""
    return _NO_NAME.sub("-", text).strip("-._")[:63].strip("-._")


def machine_from_inventory(inventory: HardwareInventory, name: str = "") -> DiscoveredMachine:
    """Return the machine that the inventory describes.

    Args:
        inventory: What was found.
        name: The machine's name; if empty, it is named after its host or its dump.

    """
    inventory = _with_gpu_memory(inventory)
    warnings = list(inventory.warnings)
    numa_nodes, numa_of = _numa_nodes(inventory, warnings)
    topology = Topology(
        architecture=inventory.architecture or "unknown",
        cpus=_cpus(inventory, numa_of, warnings),
        numa_nodes=numa_nodes,
        numa_distances=_distances(inventory, warnings),
    )
    if not inventory.architecture:
        warnings.append("nothing says which architecture this is: rules of Arm are not applied")
    warnings += held_resources_in_words(inventory, inventory.found.devices)
    found = inventory.found
    warnings += found.warnings
    package_of = _package_of(topology)
    known = {numa.id for numa in numa_nodes}
    devices = []
    for device in found.devices:
        near = device.numa_node if device.numa_node in known else None
        package = None if near is None else package_of[near]
        devices.append(replace(device, numa_node=near, package=package))
    dump = PurePath(inventory.source).name
    root = f" {dump}" if dump else ""
    stem = re.sub(r"(\.tar)?\.[a-z0-9]{2,4}$", "", dump)
    name = name or sanitised_file_name(inventory.host) or sanitised_file_name(stem) or "discovered"
    machine = Machine(
        name=name,
        title=inventory.model or name,
        topology=topology,
        devices=tuple(sorted(devices, key=lambda device: (device.type, device.minor))),
        gpu_links=found.links,
        sources=(f"placer discover{root}",),
        notes=" ".join(f"{note[:1].upper()}{note[1:]}." for note in (*found.notes, *warnings)),
    )
    return DiscoveredMachine(inventory, machine, tuple(warnings))


def _with_gpu_memory(inventory: HardwareInventory) -> HardwareInventory:
    """Return the inventory with `of_gpu` set on NUMA nodes as large as a GPU's memory, to the byte.

    Dumps do not always say so. A NUMA node with CPUs is not marked.
    """
    sizes = Counter(d.memory_bytes for d in inventory.found.devices if d.type == GPU)
    nodes = [node for node in inventory.numa_nodes if not node.cpus and node.memory_bytes]
    held = Counter(node.memory_bytes for node in nodes)
    marked = {node.id for node in nodes if held[node.memory_bytes] <= sizes[node.memory_bytes or 0]}
    return replace(
        inventory,
        numa_nodes=tuple(
            replace(node, of_gpu=node.of_gpu or node.id in marked) for node in inventory.numa_nodes
        ),
    )


def _numa_nodes(
    inventory: HardwareInventory, warnings: list[str]
) -> tuple[tuple[NumaNode, ...], dict[int, int]]:
    """Return the NUMA nodes, and CPU -> its NUMA node."""
    present = {cpu.id for cpu in inventory.cpus}
    if not inventory.numa_nodes:
        warnings.append("the kernel knows no NUMA nodes; rule: the whole machine is NUMA node 0")
        if inventory.memory_bytes is None:
            warnings.append("nothing says how much memory there is; rule: it counts as 0")
        return (NumaNode(0, inventory.memory_bytes or 0),), dict.fromkeys(present, 0)
    numa_of: dict[int, int] = {}
    twice: set[int] = set()
    # The smallest set says most about where a CPU is.
    for node in sorted(inventory.numa_nodes, key=lambda node: (len(node.cpus), node.id)):
        here = node.cpus & present
        twice |= here & numa_of.keys()
        numa_of |= dict.fromkeys(here - numa_of.keys(), node.id)
    if twice:
        warnings.append(
            f"several NUMA nodes list {cpu_ids_with_noun(twice)}; rule: a CPU is on the one that "
            "lists the fewest, and of equal ones on the first"
        )
    alone = len(inventory.numa_nodes) == 1
    found = [
        replace(node, memory_bytes=inventory.memory_bytes)
        if alone and node.memory_bytes is None
        else node
        for node in inventory.numa_nodes
    ]
    if unknown := [node.id for node in found if node.memory_bytes is None]:
        nodes = format_cpu_list(unknown)
        warnings.append(f"nothing says how much memory NUMA node {nodes} has; rule: it counts as 0")
    total, told = inventory.memory_bytes or 0, sum(node.memory_bytes or 0 for node in found)
    if not unknown and told < total:
        warnings.append(
            f"the NUMA nodes have {told:,} bytes of memory together, and the machine {total:,}; "
            f"rule: the {total - told:,} bytes that no NUMA node has count as 0"
        )
    if of_gpu := [node.id for node in inventory.numa_nodes if node.of_gpu]:
        warnings.append(
            f"NUMA node {format_cpu_list(of_gpu)} is memory of GPUs; rule: it has 0 for pods"
        )
    return tuple(_numa_node(node, warnings) for node in found), numa_of


def _numa_node(node: DiscoveredNumaNode, warnings: list[str]) -> NumaNode:
    memory_bytes = 0 if node.of_gpu else node.memory_bytes or 0
    pages = node.hugepages
    if sum(page.page_bytes * page.count for page in pages) > memory_bytes:
        pages = ()
    if pages != node.hugepages and not node.of_gpu:
        warnings.append(
            f"NUMA node {node.id} has more hugepages than memory; rule: none are counted"
        )
    return NumaNode(node.id, memory_bytes, pages)


def _distances(inventory: HardwareInventory, warnings: list[str]) -> tuple[tuple[int, ...], ...]:
    rows = tuple(node.distances for node in inventory.numa_nodes)
    if not any(rows):
        return ()
    if any(len(row) != len(rows) for row in rows):
        warnings.append("NUMA distances are not there for all pairs; rule: none are kept")
        return ()
    return rows


def _cpus(
    inventory: HardwareInventory, numa_of: Mapping[int, int], warnings: list[str]
) -> tuple[Cpu, ...]:
    cores = _cores(inventory, warnings)
    package_of = _packages(inventory, numa_of, warnings)
    efficient = _efficient(inventory, warnings)
    by_id = {cpu.id: cpu for cpu in inventory.cpus}
    online = inventory.online
    # What the threads of a core share is taken from its first online thread.
    first = {cpu: min(core & online or core) for core in cores for cpu in core}
    llcs = defaultdict(set)
    for cpu, one in first.items():
        if (llc := by_id[one].llc) is not None:
            llcs[llc & online].add(cpu)
    for what, of in (("NUMA node", numa_of), ("package", package_of)):
        if odd := [
            cpu for cpu, one in first.items() if by_id[cpu].online and of.get(cpu) != of.get(one)
        ]:
            warnings.append(
                f"{cpu_ids_with_noun(odd)}: another {what} than the first thread of the core; "
                "rule: a core is where its first thread is"
            )
    present = frozenset(by_id)
    core_of = group_number_by_cpu(cores, present, "core")
    llc_of = group_number_by_cpu(map(frozenset, llcs.values()), present, "last-level cache")
    return tuple(
        Cpu(
            id=cpu.id,
            core=core_of[cpu.id],
            package=package_of[first[cpu.id]],
            numa_node=numa_of.get(first[cpu.id]),
            llc=llc_of.get(cpu.id),
            kind=HybridCoreKind.EFFICIENCY
            if first[cpu.id] in efficient
            else HybridCoreKind.PERFORMANCE,
            online=cpu.online,
        )
        for cpu in inventory.cpus
    )


def _cores(inventory: HardwareInventory, warnings: list[str]) -> list[CpuSet]:
    """Return the cores: CPUs that name the same threads. Offline CPUs join the core they name."""
    online = inventory.online
    cores = dict(inventory.cores)
    alone = []
    for cpu in inventory.cpus:
        if not cpu.online:
            named = cpu.threads or frozenset({cpu.id})
            key = named & online if named & online in cores else named
            cores[key] = cores.get(key, frozenset()) | {cpu.id}
            if cpu.threads is None:
                alone.append(cpu.id)
    if alone:
        warnings.append(
            f"nothing is said of the place of offline {cpu_ids_with_noun(alone)}; "
            "rule: each is a core of its own, in the package of its NUMA node or else the first"
        )
    split = {
        cpu for named, core in cores.items() if named & online != core & online for cpu in core
    }
    if split:
        warnings.append(
            f"{cpu_ids_with_noun(split)} disagree about who shares a core; "
            "rule: CPUs share one when they name the same set"
        )
    return list(cores.values())


def _packages(
    inventory: HardwareInventory, numa_of: Mapping[int, int], warnings: list[str]
) -> dict[int, int]:
    """Return CPU -> package, numbered as the kernel does where that tells packages apart."""
    # Where every set is a core alone, the kernel knows nothing of packages.
    known = any(
        cpu.package_cpus and cpu.package_cpus - (cpu.threads or cpu.package_cpus)
        for cpu in inventory.cpus
    )
    keys = {cpu.id: _package_key(cpu, known) for cpu in inventory.cpus if cpu.package}
    distinct = sorted(set(keys.values()))
    numbers = {key: key[-1] for key in distinct}
    if len({key[:-1] for key in distinct}) > 1:
        warnings.append("there are books or drawers of packages; rule: only packages are kept")
    if (
        len(set(numbers.values())) < len(distinct)
        or max(numbers.values(), default=0) > _LARGEST_PACKAGE
    ):
        numbers = {key: i for i, key in enumerate(distinct)}
        warnings.append(
            f"the kernel's numbers of packages do not tell them apart; rule: the {len(distinct)} "
            "packages are numbered anew, by drawer, book and CPUs"
        )
    package_of = {cpu: numbers[key] for cpu, key in keys.items()}
    of_node: dict[int, int] = {}
    for cpu, package in sorted(package_of.items(), reverse=True):
        if cpu in numa_of:
            of_node[numa_of[cpu]] = package
    lowest = min(numbers.values(), default=0)
    lost = [cpu.id for cpu in inventory.cpus if cpu.online and not cpu.package]
    if lost and keys:
        warnings.append(
            f"nothing says of which package {cpu_ids_with_verb(lost)}; "
            "rule: of that of the NUMA node, or else the first"
        )
    return {
        cpu.id: package_of.get(cpu.id, of_node.get(numa_of.get(cpu.id, -1), lowest))
        for cpu in inventory.cpus
    }


def _package_key(cpu: DiscoveredCpu, known: bool) -> tuple[int, ...]:
    """Return a key that tells the CPU's package from others: by lowest CPU if it has no number."""
    *outer, number = cpu.package
    if number < 0:
        number = min(cpu.package_cpus or (0,)) if known else 0
    return (*outer, number)


def _efficient(inventory: HardwareInventory, warnings: list[str]) -> CpuSet:
    """Return the CPUs of efficiency cores."""
    if any(cpu.efficient is not None for cpu in inventory.cpus):
        return frozenset(cpu.id for cpu in inventory.cpus if cpu.efficient)
    rated = {cpu.id: cpu.capacity for cpu in inventory.cpus if cpu.capacity}
    best = max(rated.values(), default=0)
    slow = frozenset(
        cpu for cpu, capacity in rated.items() if capacity * 100 < best * EFFICIENT_BELOW_PERCENT
    )
    if slow and len(set(rated.values())) > 2:
        levels = ", ".join(map(str, sorted(set(rated.values()))))
        warnings.append(
            f"cores have {len(set(rated.values()))} capacities ({levels}); rule: those below "
            f"{EFFICIENT_BELOW_PERCENT} % of the best are efficiency cores, all others are not"
        )
    return slow


def _package_of(topology: Topology) -> dict[int, int | None]:
    """Return NUMA node -> package; one without CPUs has that of the nearest one with CPUs."""
    found: dict[int, int | None] = {}
    ids = [node.id for node in topology.numa_nodes]
    with_cpus = {cpu.numa_node for cpu in topology.cpus}
    for i, node in enumerate(ids):
        nearest = node
        if node not in with_cpus:
            near = [
                (topology.numa_distances[i][j] if topology.numa_distances else 0, other)
                for j, other in enumerate(ids)
                if other in with_cpus and topology.package_in[other] is not None
            ]
            nearest = min(near, default=(0, node))[1]
        package = topology.package_in[nearest]
        found[node] = 0 if package is None and node not in with_cpus else package
    return found
