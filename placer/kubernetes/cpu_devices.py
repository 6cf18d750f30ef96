"""Devices of dra-driver-cpu that stand for several CPUs: which CPUs, and how pods get them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from placer_models.annotations.node_topology import NodeTopologyAnnotationCpu
from placer_models.cpuset import CpuSet, parse_cpu_list
from placer_models.device import Device
from placer_models.kubernetes.device_attributes import ResourceSliceDevice
from placer_models.kubernetes.listed_devices import (
    CPU_CAPACITY,
    CPU_DRIVER,
    CPU_GROUP,
    CPU_IDS,
    CPU_MACHINE,
    CPU_NUMA,
    is_cpu_group_of_whole_node,
)
from placer_models.kubernetes.resource_slice import MULTIPLE
from placer_models.kubernetes.topology import KubeNodeResourceTopology


@dataclass(frozen=True, slots=True)
class CpuGroupDevice:
    """A device of several CPUs.

    Attributes:
        node: Name of the node.
        capacity_milli: How much of it claims can have, in thousandths of a CPU.
        cpus: The CPUs that claims can take; empty if they are unknown.
        says_ids: Whether the driver lists their ids, which leaves the choice to the scheduler.
        device: The device as Placer gives it out, or None if it is given to nobody.
        why: Why it is given to nobody.

    """

    node: str
    capacity_milli: int
    cpus: CpuSet = frozenset()
    says_ids: bool = False
    device: Device | None = None
    why: str = ""


def cpu_group_devices(
    node: str,
    devices: Sequence[ResourceSliceDevice],
    topology: KubeNodeResourceTopology | None,
    reserved: CpuSet,
) -> list[CpuGroupDevice]:
    """Return the devices of several CPUs of one node.

    A device stands for the whole node or one NUMA node, which may be a socket, too. Placer cannot
    express a socket of several NUMA nodes beside another socket. No device is given out unless
    the CPUs of all devices are known: otherwise pods of one could get the CPUs of another.

    Args:
        node: Name of the node.
        devices: The devices as they are listed.
        topology: Where the CPUs of the node are.
        reserved: CPUs that pods cannot have.

    """
    known = topology.cpus if topology else ()
    found = [_one(node, listed, known, reserved) for listed in devices]
    cpus = [cpu for one in found for cpu in one.cpus]
    if all(one.cpus for one in found) and len(set(cpus)) == len(cpus):
        return found
    why = "beside others of their node of which nobody knows the CPUs"
    return [replace(one, device=None, why=why) if one.device else one for one in found]


def _one(
    node: str,
    listed: ResourceSliceDevice,
    known: Sequence[NodeTopologyAnnotationCpu],
    reserved: CpuSet,
) -> CpuGroupDevice:
    here = _here(listed, known)
    text = listed.text(CPU_IDS)
    cpus = frozenset(cpu.id for cpu in here) - reserved
    said = _parsed(text) if text else cpus
    found = CpuGroupDevice(node, listed.capacity_milli[CPU_CAPACITY])
    if not said or not said <= cpus or 1000 * len(said) != found.capacity_milli:
        return replace(found, why="of CPUs that are not those known by id which pods may have")
    found = replace(found, cpus=said, says_ids=bool(text))
    more = [what for what in listed.lacks if what != MULTIPLE]
    if more:
        return replace(found, why=f"of which each {more[0]}")
    if listed.taints:
        return replace(found, why=f"with the taint {', '.join(listed.taints)}")
    numa = here[0].numa_node
    if not is_cpu_group_of_whole_node(listed) and here == [
        cpu for cpu in known if cpu.numa_node == numa
    ]:
        return replace(found, device=Device(CPU_GROUP, numa, numa_node=numa))
    if len(here) == len(known):
        return replace(found, device=Device(CPU_MACHINE, 0))
    return replace(found, why="of a socket that is not one NUMA node, for which there is no word")


def _here(
    listed: ResourceSliceDevice, known: Sequence[NodeTopologyAnnotationCpu]
) -> list[NodeTopologyAnnotationCpu]:
    """Return the CPUs of the socket, NUMA node or node that a device is, reserved ones included."""
    numa, socket = listed.number(*CPU_NUMA), listed.number(f"{CPU_DRIVER}/socketID")
    if numa is not None:
        return [cpu for cpu in known if cpu.numa_node == numa]
    return [cpu for cpu in known if socket is None or cpu.package == socket]


def _parsed(text: str) -> CpuSet:
    try:
        return parse_cpu_list(text)
    except ValueError:
        return frozenset()
