"""A machine cut into blocks that can be drawn: the part of a package on one NUMA node."""

from collections import defaultdict
from dataclasses import dataclass

from placer_models.cluster import Machine
from placer_models.device import Device
from placer_models.topology import Cpu, NumaNode, Topology

CoreCpus = tuple[Cpu, ...]
"""The threads of one core, ascending by id; offline ones included."""


@dataclass(frozen=True, slots=True)
class DrawnNumaNode:
    """What one box shows.

    Attributes:
        package: None for a NUMA node without CPUs: its package is not known.
        numa_node: None for CPUs that belong to no NUMA node.
        groups: Cores that share a last-level cache and are of one kind.
        devices: Devices of the NUMA node; in its first block only.

    """

    package: int | None
    numa_node: NumaNode | None
    groups: tuple[tuple[CoreCpus, ...], ...] = ()
    devices: tuple[Device, ...] = ()


def drawn_numa_nodes_of_machine(machine: Machine) -> tuple[DrawnNumaNode, ...]:
    """Return the blocks of a machine, by package and NUMA node; CPU-less ones last."""
    topology = machine.topology
    nodes = {node.id: node for node in topology.numa_nodes}
    by_place: dict[tuple[int, int | None], list[CoreCpus]] = defaultdict(list)
    for core in cores_of_topology(topology):
        by_place[core[0].package, core[0].numa_node].append(core)
    at_node: dict[int | None, list[Device]] = defaultdict(list)
    for device in machine.devices:
        at_node[device.numa_node].append(device)
    blocks = []
    for (package, numa), cores in sorted(by_place.items(), key=lambda item: _order(*item[0])):
        devices = tuple(at_node.pop(numa, ())) if numa is not None else ()
        node = None if numa is None else nodes[numa]
        blocks.append(DrawnNumaNode(package, node, _groups(cores), devices))
    shown = {numa for _, numa in by_place}
    blocks.extend(
        DrawnNumaNode(None, node, devices=tuple(at_node.pop(node.id, ())))
        for node in topology.numa_nodes
        if node.id not in shown
    )
    return tuple(blocks)


def drawn_numa_nodes_by_package(machine: Machine) -> dict[int, list[DrawnNumaNode]]:
    """Return the blocks of each package; those that belong to none are left out."""
    packages: dict[int, list[DrawnNumaNode]] = {}
    for block in drawn_numa_nodes_of_machine(machine):
        if block.package is not None:
            packages.setdefault(block.package, []).append(block)
    return packages


def cores_of_topology(topology: Topology) -> tuple[CoreCpus, ...]:
    """Return all cores by their lowest CPU id; the topology's own lists skip offline CPUs."""
    cores: dict[int, list[Cpu]] = defaultdict(list)
    for cpu in topology.cpus:
        cores[cpu.core].append(cpu)
    return tuple(tuple(core) for core in cores.values())


def devices_without_numa_node(machine: Machine) -> tuple[Device, ...]:
    """Return the devices without a NUMA node: no block has them."""
    known = {node.id for node in machine.topology.numa_nodes}
    return tuple(device for device in machine.devices if device.numa_node not in known)


def _order(package: int, numa: int | None) -> tuple[int, bool, int]:
    return package, numa is None, numa or 0


def _groups(cores: list[CoreCpus]) -> tuple[tuple[CoreCpus, ...], ...]:
    groups: dict[object, list[CoreCpus]] = defaultdict(list)
    for core in cores:
        groups[core[0].llc, core[0].kind].append(core)
    return tuple(tuple(group) for group in groups.values())
