"""Parts of pods and containers in the document of ``kind: Placement``."""

from collections.abc import Iterable
from typing import Annotated, Any, TypedDict

from pydantic import Field

from placer_models.cpuset import CpuSet, parse_cpu_list
from placer_models.environment import value_fault, variable_name_fault
from placer_models.files.faults import DocumentLocation
from placer_models.files.part import Json, Part
from placer_models.instance.fields import CpuList, Minor
from placer_models.instance.granted import DeviceMemory, held_share_to_dict, read_held_share
from placer_models.instance.hugepages import pages_to_dict
from placer_models.placement import ContainerPlacement, DeviceGrant, PodPlacement
from placer_models.quantity import parse_bytes

Bytes = Annotated[int, Field(ge=0, le=2**60)]

Milli = Annotated[int, Field(ge=0, le=10**9)]


class DeviceEntry(Part):
    """One device that a pod holds."""

    type: str
    minor: Minor
    id: str = ""
    resources: dict[str, Bytes | str] = Field(default_factory=dict)
    vfs: tuple[Minor, ...] = ()


class HeldEntry(Part):
    """What a pod holds of its node, or one container of it."""

    cpuset: CpuList = ""
    cpu_milli: dict[str, Milli] | None = None
    memory: dict[str, Bytes] = Field(default_factory=dict)
    hugepages: dict[str, dict[str, Bytes]] = Field(default_factory=dict)
    devices: tuple[DeviceEntry, ...] = ()
    env: dict[str, str] = Field(default_factory=dict)


class CommonPlacementFields(TypedDict):
    """What `PodPlacement` and `ContainerPlacement` have in common."""

    cpuset: CpuSet
    memory_bytes: tuple[tuple[int, int], ...]
    hugepages: tuple[tuple[int, int, int], ...]
    devices: tuple[DeviceGrant, ...]
    env: tuple[tuple[str, str], ...]
    cpu_milli: tuple[tuple[int, int], ...] | None


def read_held_parts(entry: HeldEntry, place: DocumentLocation) -> CommonPlacementFields:
    """Return what an entry holds, sorted; zeros are left out, except those of counted CPUs."""
    pages = []
    for numa, counts in entry.hugepages.items():
        for size, count in counts.items():
            at = place.at("hugepages", numa, size)
            pages.append((_id(numa, at), at.parsed(parse_bytes, size, 0), count))
    for name, value in entry.env.items():
        if told := variable_name_fault(name) or value_fault(value):
            place.at("env", name).fault(told)
    memory = [(_id(numa, place.at("memory", numa)), size) for numa, size in entry.memory.items()]
    milli = [(_id(n, place.at("cpuMilli", n)), m) for n, m in (entry.cpu_milli or {}).items()]
    devices = [
        DeviceGrant(
            d.type,
            d.minor,
            d.id,
            read_held_share(d.type, d.resources, place.at("devices", i, "resources")),
            tuple(sorted(d.vfs)),
        )
        for i, d in enumerate(entry.devices)
    ]
    return {
        "cpuset": parse_cpu_list(entry.cpuset),
        "memory_bytes": tuple(sorted((numa, size) for numa, size in memory if size)),
        "hugepages": tuple(sorted(page for page in pages if page[2])),
        "devices": tuple(sorted(devices, key=lambda grant: (grant.type, grant.minor))),
        "env": tuple(sorted(entry.env.items())),
        "cpu_milli": None if entry.cpu_milli is None else tuple(sorted(milli)),
    }


def held_to_dict(
    held: PodPlacement | ContainerPlacement, node: str, memory_of: DeviceMemory
) -> dict[str, Any]:
    """Return what is held on a node, by field of `HeldEntry`."""
    devices = [
        {
            "type": d.type,
            "minor": d.minor,
            "id": d.id,
            "resources": held_share_to_dict(d, memory_of.get((node, d.type, d.minor), 0)),
            "vfs": list(d.vfs),
        }
        for d in held.devices
    ]
    return {
        "cpu_milli": None
        if held.cpu_milli is None
        else amounts_by_numa_node_to_dict(held.cpu_milli),
        "memory": amounts_by_numa_node_to_dict(held.memory_bytes),
        "hugepages": pages_to_dict(held.hugepages),
        "devices": devices,
        "env": dict(held.env),
    }


def amounts_by_numa_node_to_dict(amounts: Iterable[tuple[int, int]]) -> Json:
    """Return amounts by NUMA node, which is text in files."""
    return {str(numa): amount for numa, amount in amounts}


def _id(text: str, place: DocumentLocation) -> int:
    if text.isascii() and text.isdigit() and len(text) <= 5:
        return int(text)
    place.fault("the key is the id of a NUMA node, such as '0'")
    return 0
