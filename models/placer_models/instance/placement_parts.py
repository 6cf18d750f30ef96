"""Parts of pods and containers in the document of ``kind: Placement``."""

from collections.abc import Iterable, Mapping
from typing import Annotated

from pydantic import Field

from placer_models.files.faults import Place
from placer_models.files.part import Json, Part
from placer_models.instance.fields import Minor
from placer_models.instance.held import DeviceMemory, resources_of, share_of
from placer_models.placement import DeviceGrant
from placer_models.quantity import format_bytes, parse_bytes

Bytes = Annotated[int, Field(ge=0, le=2**60)]

Milli = Annotated[int, Field(ge=0, le=10**9)]

CpuMilli = tuple[tuple[int, int], ...] | None
"""As in ``PodPlacement``."""

Held = tuple[tuple[tuple[int, int], ...], tuple[tuple[int, int, int], ...], tuple[DeviceGrant, ...]]
"""Memory, hugepages and devices, each as in ``PodPlacement``."""


class DeviceEntry(Part):
    """One device that a pod holds."""

    type: str
    minor: Minor
    id: str = ""
    resources: dict[str, Bytes | str] = Field(default_factory=dict)
    vfs: tuple[Minor, ...] = ()


class HeldEntry(Part):
    """What a pod holds by place, or one container of it."""

    memory: dict[str, Bytes] = Field(default_factory=dict)
    hugepages: dict[str, dict[str, Bytes]] = Field(default_factory=dict)
    devices: tuple[DeviceEntry, ...] = ()


def held_by(entry: HeldEntry, place: Place) -> Held:
    """Read what an entry holds, in order and without zeros; what is wrong is a fault."""
    pages = []
    for numa, counts in entry.hugepages.items():
        for size, count in counts.items():
            at = place.at("hugepages", numa, size)
            try:
                pages.append((_id(numa, at), parse_bytes(size), count))
            except ValueError as error:
                at.fault(str(error))
    memory = [(_id(numa, place.at("memory", numa)), size) for numa, size in entry.memory.items()]
    devices = [
        DeviceGrant(
            d.type,
            d.minor,
            d.id,
            share_of(d.type, d.resources, place.at("devices", i, "resources")),
            tuple(sorted(d.vfs)),
        )
        for i, d in enumerate(entry.devices)
    ]
    return (
        tuple(sorted((numa, size) for numa, size in memory if size)),
        tuple(sorted(page for page in pages if page[2])),
        tuple(sorted(devices, key=lambda grant: (grant.type, grant.minor))),
    )


def milli_by_numa(written: Mapping[str, int] | None, place: Place) -> CpuMilli:
    """Read what is counted of a CPU request by NUMA node, zeros too; None: nothing is said."""
    if written is None:
        return None
    at = place.at("cpuMilli")
    return tuple(sorted((_id(numa, at.at(numa)), n) for numa, n in written.items()))


def milli_to_json(counted: CpuMilli) -> Json:
    """Return what is counted of a CPU request by NUMA node; nothing where nothing is said."""
    return {} if counted is None else {"cpuMilli": {str(numa): n for numa, n in counted}}


def memory_to_json(held: Iterable[tuple[int, int]]) -> Json:
    """Return bytes by NUMA node."""
    return {str(numa): size for numa, size in held}


def hugepages_to_json(held: Iterable[tuple[int, int, int]]) -> Json:
    """Return pages by NUMA node and size."""
    written: dict[str, dict[str, int]] = {}
    for numa, page_bytes, pages in held:
        written.setdefault(str(numa), {})[format_bytes(page_bytes)] = pages
    return {**written}


def devices_to_json(
    grants: Iterable[DeviceGrant], node: str, memory_of: DeviceMemory
) -> list[Json]:
    """Return the devices that are held on a node."""
    return [
        {
            "type": d.type,
            "minor": d.minor,
            "id": d.id,
            "resources": resources_of(d, memory_of.get((node, d.type, d.minor), 0)),
            "vfs": list(d.vfs),
        }
        for d in grants
    ]


def _id(text: str, place: Place) -> int:
    if text.isascii() and text.isdigit() and len(text) <= 5:
        return int(text)
    place.fault("the key is the id of a NUMA node, such as '0'")
    return 0
