"""What a placement file says is held of a device: ``devices[].resources``."""

from collections.abc import Mapping

from placer_models.cluster import Instance
from placer_models.device import GPU
from placer_models.device_request import (
    GPU_CORE,
    GPU_MEMORY,
    GPU_MEMORY_RATIO,
    PERCENT_TYPES,
)
from placer_models.device_share import DeviceShare, filled
from placer_models.instance.errors import shown
from placer_models.instance.faults import Faults, Place
from placer_models.placement import DeviceGrant, Placement

DeviceMemory = Mapping[tuple[str, str, int], int]
"""(node, type, minor) -> bytes of the device's own memory."""

PERCENT = "percent"
"""Name of the resource of devices that have none of their own."""


def memory_of_devices(instance: Instance, placement: Placement) -> DeviceMemory:
    """Return the memory of the devices of every node where a share is held."""
    nodes = {place.node for place in placement.pods if any(g.share for g in place.devices)}
    return {
        (node.name, device.type, device.minor): device.memory_bytes
        for node in instance.nodes
        if node.name in nodes
        for device in node.machine.devices
    }


def resources_of(grant: DeviceGrant, memory_bytes: int) -> dict[str, object]:
    """Return what is held of a device; nothing where all of it is.

    Memory in bytes and in percent, whichever was not asked for rounded down.
    """
    if grant.share is None:
        return {}
    share = filled(grant.share, memory_bytes)
    if grant.type != GPU:
        return {_percent_name(grant.type): share.percent}
    amounts = {
        GPU_CORE: share.percent,
        GPU_MEMORY: share.memory_bytes,
        GPU_MEMORY_RATIO: share.memory_percent,
    }
    return {name: amount for name, amount in amounts.items() if amount is not None}


def share_of(
    kind: str, resources: Mapping[str, int], place: Place, faults: Faults
) -> DeviceShare | None:
    """Return the share that a file says is held; None: all of the device."""
    if not resources:
        return None
    known = (GPU_CORE, GPU_MEMORY, GPU_MEMORY_RATIO) if kind == GPU else (_percent_name(kind),)
    for name in resources:
        if name not in known:
            faults.add(
                place.at(name),
                f"{shown(name)} is nothing that is held of a device of type "
                f"{shown(kind)}; expected {', '.join(known)}, or {{}} for all of it",
            )
    if kind != GPU:
        return DeviceShare(resources.get(known[0]))
    return DeviceShare(
        resources.get(GPU_CORE), resources.get(GPU_MEMORY), resources.get(GPU_MEMORY_RATIO)
    )


def _percent_name(kind: str) -> str:
    return next((name for name, other in PERCENT_TYPES.items() if other == kind), PERCENT)
