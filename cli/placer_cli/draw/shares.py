"""Devices as people read them: what is held of each, and which are neither free nor broken."""

from collections.abc import Iterable, Sequence

from placer_cli.draw.texts import ids_text, memory_text, quantity_text
from placer_models.capacity import PERCENT, DeviceQuantity, DeviceQuantityUnit
from placer_models.cluster import Node
from placer_models.device import GPU, Device
from placer_models.device_share import (
    DeviceShare,
    amounts_of_share,
    device_capacity_of,
    whole_device_amounts,
)
from placer_models.placement import ContainerPlacement, DeviceGrant, PodPlacement

IN_MIG_MODE = "m"
"""Stands for a GPU in MIG mode."""


def device_share_text(part: DeviceShare) -> str:
    """Write what is held of a device: ``25 %``, ``50 %, 30Gi``, ``space 5Gi, queues 8``."""
    words = [f"{part.percent} %"] if part.percent is not None else []
    if part.memory_bytes is not None:
        words.append(memory_text(part.memory_bytes))
    elif part.memory_percent is not None and part.memory_percent != part.percent:
        words.append(f"{part.memory_percent} % of memory")
    words += [f"{quantity.name} {quantity_text(quantity)}" for quantity in part.capacity]
    return ", ".join(words)


def device_left_text(device: Device, held: Sequence[DeviceShare]) -> str:
    """Write what is left of a device, of each quantity that pods hold: ``space 1Ti of 2Ti``."""
    totals = device_capacity_of(device)
    has = whole_device_amounts(totals)
    parts = [amounts_of_share(share, totals) or has for share in held]
    units = (
        DeviceQuantityUnit.PERCENT,
        DeviceQuantityUnit.BYTES,
        *(quantity.unit for quantity in device.capacity),
    )
    words = []
    for name, unit, most, *amounts in zip(totals.names, units, has, *parts, strict=True):
        left = max(0, most - sum(amounts))
        if any(amounts) and name == PERCENT:
            words.append(f"{left} %")
        elif any(amounts):
            amounts_text = (quantity_text(DeviceQuantity("", n // 100, unit)) for n in (left, most))
            words.append(f"{name} {' of '.join(amounts_text)}")
    return ", ".join(words)


def devices_text(place: PodPlacement | ContainerPlacement, kind: str) -> str:
    """List the devices of a type that something has, whole ones first: ``1-2``, ``0 (25 %)``."""
    held = [grant for grant in place.devices if grant.type == kind]
    parts = [one for one in held if one.share and (one.vfs or not one.share.whole)]
    whole = [grant.minor for grant in held if grant not in parts]
    words = [ids_text(whole)] if whole else []
    words += [f"{grant.minor} ({_part(grant)})" for grant in parts]
    return ", ".join(words)


def non_gpu_device_texts(place: PodPlacement | ContainerPlacement) -> list[str]:
    """Name the devices that are no GPUs, type by type: ``rdma 0-1``."""
    kinds = sorted({grant.type for grant in place.devices} - {GPU})
    return [f"{kind} {devices_text(place, kind)}" for kind in kinds]


def _part(grant: DeviceGrant) -> str:
    """Write what is held of a device, with its virtual functions: ``1 %, vf 3``."""
    words = [device_share_text(grant.share)] if grant.share else []
    words += [f"vf {ids_text(grant.vfs)}"] if grant.vfs else []
    return ", ".join(words)


def has_broken_device(node: Node) -> bool:
    """Return whether a device of the node is broken; one in MIG mode is not."""
    modes = dict(node.mig)
    return not all(
        node.is_healthy(device) or (device.type == GPU and device.minor in modes)
        for device in node.machine.devices
    )


def broken_device_legend(nodes: Iterable[Node]) -> str:
    """Return the words of the legend for devices that are given to nobody."""
    kept = any(node.checkpoint_devices for node in nodes)
    return " unhealthy, or kept by a checkpoint" if kept else " unhealthy"
