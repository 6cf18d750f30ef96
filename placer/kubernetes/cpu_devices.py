"""Devices of dra-driver-cpu that stand for several CPUs: which ones, and how pods have them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from placer_models.annotations.node_topology import ReportedCpu
from placer_models.cpuset import CpuSet, parse_cpu_list
from placer_models.device import Device
from placer_models.kubernetes.device_attributes import ListedDevice
from placer_models.kubernetes.listed_devices import (
    CPU_CAPACITY,
    CPU_DRIVER,
    CPU_GROUP,
    CPU_IDS,
    CPU_MACHINE,
    CPU_NUMA,
    is_whole_machine,
)
from placer_models.kubernetes.resource_slice import MULTIPLE
from placer_models.kubernetes.topology import TopologyPart


@dataclass(frozen=True, slots=True)
class SeveralCpus:
    """A device of several CPUs.

    Attributes:
        node: Where they are.
        capacity_milli: How much of it claims can have, in thousandths of a CPU.
        cpus: Those that claims can take; none where they are not known.
        says_ids: The driver says which they are: it wants somebody else to choose among them.
        device: As Placer gives it out; None: to nobody.
        why: Why not.

    """

    node: str
    capacity_milli: int
    cpus: CpuSet = frozenset()
    says_ids: bool = False
    device: Device | None = None
    why: str = ""


def several_cpus(
    node: str, devices: Sequence[ListedDevice], topology: TopologyPart | None, reserved: CpuSet
) -> list[SeveralCpus]:
    """Return what the devices of several CPUs of one node come to.

    A device is the whole node, or one NUMA node, as a socket may be, too. A socket of several
    NUMA nodes beside another one is more than there is a word for. None is given out where it
    is not known of each which CPUs it stands for: pods of one would get those of another.

    Args:
        node: Name of the node.
        devices: As they are listed.
        topology: Where the CPUs of the node are.
        reserved: CPUs that pods do not have.

    """
    known = topology.cpus if topology else ()
    found = [_one(node, listed, known, reserved) for listed in devices]
    cpus = [cpu for one in found for cpu in one.cpus]
    if all(one.cpus for one in found) and len(set(cpus)) == len(cpus):
        return found
    why = "beside others of their node of which nobody knows the CPUs"
    return [replace(one, device=None, why=why) if one.device else one for one in found]


def _one(
    node: str, listed: ListedDevice, known: Sequence[ReportedCpu], reserved: CpuSet
) -> SeveralCpus:
    here = _here(listed, known)
    text = listed.text(CPU_IDS)
    cpus = frozenset(cpu.id for cpu in here) - reserved
    said = _parsed(text) if text else cpus
    found = SeveralCpus(node, listed.capacity_milli[CPU_CAPACITY])
    if not said or not said <= cpus or 1000 * len(said) != found.capacity_milli:
        return replace(found, why="of CPUs that are not those known by id which pods may have")
    found = replace(found, cpus=said, says_ids=bool(text))
    more = [what for what in listed.lacks if what != MULTIPLE]
    if more:
        return replace(found, why=f"of which each {more[0]}")
    if listed.taints:
        return replace(found, why=f"with the taint {', '.join(listed.taints)}")
    numa = here[0].numa_node
    if not is_whole_machine(listed) and here == [cpu for cpu in known if cpu.numa_node == numa]:
        return replace(found, device=Device(CPU_GROUP, numa, numa_node=numa))
    if len(here) == len(known):
        return replace(found, device=Device(CPU_MACHINE, 0))
    return replace(found, why="of a socket that is not one NUMA node, for which there is no word")


def _here(listed: ListedDevice, known: Sequence[ReportedCpu]) -> list[ReportedCpu]:
    """Return the CPUs of the place that a device stands for, reserved ones included."""
    numa, socket = listed.number(*CPU_NUMA), listed.number(f"{CPU_DRIVER}/socketID")
    if numa is not None:
        return [cpu for cpu in known if cpu.numa_node == numa]
    return [cpu for cpu in known if socket is None or cpu.package == socket]


def _parsed(text: str) -> CpuSet:
    try:
        return parse_cpu_list(text)
    except ValueError:
        return frozenset()
