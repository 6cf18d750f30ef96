"""The inside of a machine: packages, NUMA nodes, LLCs, cores and logical CPUs."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from types import MappingProxyType
from typing import NamedTuple

from placer_models.cpuset import CpuSet, format_cpu_list
from placer_models.policy import HybridCoreKind
from placer_models.typed import TypeChecked, check_field_types

ARM = "aarch64"
"""The architecture of Arm machines; ``arm64``, its name in container images, is read as this."""


@dataclass(frozen=True, slots=True)
class Cpu(TypeChecked):
    """One logical CPU, that is one hardware thread.

    Attributes:
        core: A key that the threads of one core share and no other core of the
            machine has. It is not the kernel's ``core_id``, which repeats.
        numa_node: None where the kernel lists the CPU under no NUMA node.
        llc: Key of the last-level cache, unique in the machine; None if unknown.

    """

    id: int
    core: int
    package: int
    numa_node: int | None
    llc: int | None = None
    kind: HybridCoreKind = HybridCoreKind.PERFORMANCE
    online: bool = True


@dataclass(frozen=True, slots=True)
class Hugepages(TypeChecked):
    """Pages of one size."""

    page_bytes: int
    count: int


def hugepages_of_bytes(amounts: Mapping[int, int]) -> tuple[Hugepages, ...]:
    """Return the pages that amounts of bytes by page size make up, by size; 0 is left out."""
    sizes = sorted(amounts.items())
    return tuple(Hugepages(size, amount // size) for size, amount in sizes if amount)


@dataclass(frozen=True, slots=True)
class NumaNode(TypeChecked):
    """One NUMA node; it may have no CPU, or no memory that pods can have.

    Attributes:
        memory_bytes: All of its memory, hugepages included, as the kernel counts it.

    """

    id: int
    memory_bytes: int
    hugepages: tuple[Hugepages, ...] = ()


class Core(NamedTuple):
    """A core with an online thread, and what its threads have in common.

    Attributes:
        key: The key by which its CPUs name it (``Cpu.core``).
        threads: Ids of its ONLINE threads.
        in_order: The same, ascending.

    """

    key: int
    threads: CpuSet
    in_order: tuple[int, ...]
    numa_node: int | None
    package: int
    llc: int | None
    kind: HybridCoreKind


@dataclass(frozen=True, slots=True)
class Topology:
    """The CPUs and the memory of one machine (C1).

    Attributes:
        architecture: As ``uname -m`` prints it: ``x86_64``, ``aarch64``, ``ppc64le``.
        cpus: Every present CPU, ascending by id; offline ones included.
        numa_nodes: Ascending by id; never empty.
        numa_distances: Row i, column j: distance from the i-th to the j-th NUMA
            node in the kernel's units (10 is local); empty if unknown.
        cores: Core key -> ids of its ONLINE threads; a core with none is left out.
        core_facts: The same cores, in the same order, with what their threads have in common.
        cpu: CPU id -> the CPU.
        online: Ids of the online CPUs.
        package_in: NUMA node (None stands for CPUs without one) -> the package that all its
            CPUs are in; None if it has no CPU, or CPUs of several packages.
        packages: How many packages the CPUs are in.

    Raises:
        ValueError: The parts contradict each other; the message names them.

    """

    architecture: str
    cpus: tuple[Cpu, ...]
    numa_nodes: tuple[NumaNode, ...]
    numa_distances: tuple[tuple[int, ...], ...] = ()
    cores: Mapping[int, CpuSet] = field(init=False, repr=False, compare=False)
    core_facts: tuple[Core, ...] = field(init=False, repr=False, compare=False)
    cpu: Mapping[int, Cpu] = field(init=False, repr=False, compare=False)
    online: CpuSet = field(init=False, repr=False, compare=False)
    package_in: Mapping[int | None, int | None] = field(init=False, repr=False, compare=False)
    packages: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_field_types(self)
        _check_ids("CPU", [cpu.id for cpu in self.cpus])
        _check_ids("NUMA node", [node.id for node in self.numa_nodes])
        if not self.numa_nodes:
            raise ValueError("a machine has at least one NUMA node; got none")
        known = {node.id for node in self.numa_nodes}
        for cpu in self.cpus:
            if cpu.numa_node is not None and cpu.numa_node not in known:
                raise ValueError(
                    f"CPU {cpu.id} is on NUMA node {cpu.numa_node}; "
                    f"the machine has {format_cpu_list(known)}"
                )
        _check_cores(self.cpus)
        n = len(self.numa_nodes)
        if self.numa_distances and [len(row) for row in self.numa_distances] != [n] * n:
            raise ValueError(f"NUMA distances: expected {n} rows of {n} numbers")
        cores: dict[int, set[int]] = defaultdict(set)
        first: dict[int, Cpu] = {}
        for cpu in self.cpus:
            if cpu.online:
                cores[cpu.core].add(cpu.id)
                first.setdefault(cpu.core, cpu)
        put = object.__setattr__
        if self.architecture.lower() in (ARM, "arm64"):
            put(self, "architecture", ARM)
        put(self, "cores", MappingProxyType({k: frozenset(v) for k, v in cores.items()}))
        put(self, "core_facts", tuple(_core_of(one, cores[one.core]) for one in first.values()))
        put(self, "cpu", MappingProxyType({cpu.id: cpu for cpu in self.cpus}))
        put(self, "online", frozenset(cpu.id for cpu in self.cpus if cpu.online))
        put(self, "package_in", MappingProxyType(_packages(self.cpus, self.numa_nodes)))
        put(self, "packages", len({cpu.package for cpu in self.cpus}))

    def __reduce__(self) -> tuple[type["Topology"], tuple[object, ...]]:
        """Pickle and copy what was given; the rest is worked out again."""
        return Topology, (self.architecture, self.cpus, self.numa_nodes, self.numa_distances)

    @property
    def memory_bytes(self) -> int:
        """Memory of all NUMA nodes together."""
        return sum(node.memory_bytes for node in self.numa_nodes)


def _packages(
    cpus: tuple[Cpu, ...], numa_nodes: tuple[NumaNode, ...]
) -> dict[int | None, int | None]:
    found: dict[int | None, set[int]] = {numa.id: set() for numa in numa_nodes}
    for cpu in cpus:
        found.setdefault(cpu.numa_node, set()).add(cpu.package)
    return {cell: min(of_cell) if len(of_cell) == 1 else None for cell, of_cell in found.items()}


def _core_of(one: Cpu, threads: set[int]) -> Core:
    """Return the core of a CPU that has these threads online."""
    in_order = tuple(sorted(threads))
    facts = (one.numa_node, one.package, one.llc, one.kind)
    return Core(one.core, frozenset(threads), in_order, *facts)


def _check_ids(what: str, ids: list[int]) -> None:
    for a, b in pairwise(ids):
        if a == b:
            raise ValueError(f"two {what}s have the id {a}")
        if a > b:
            raise ValueError(f"{what}s must ascend by id; {b} comes after {a}")


def _check_cores(cpus: tuple[Cpu, ...]) -> None:
    first: dict[int, Cpu] = {}
    for cpu in cpus:
        other = first.setdefault(cpu.core, cpu)
        for what in ("package", "numa_node", "llc", "kind"):
            if getattr(cpu, what) != getattr(other, what):
                raise ValueError(
                    f"CPUs {other.id} and {cpu.id} are threads of one core, but their "
                    f"{what} differs: {getattr(other, what)} and {getattr(cpu, what)}"
                )
