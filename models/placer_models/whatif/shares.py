"""Parts of devices that a pod asks for, as what-if names them: ``gpu.percent``, ``gpu.memory``."""

from dataclasses import replace

from placer_models.capacity import (
    MEMORY,
    MEMORY_PERCENT,
    PERCENT,
    DeviceQuantityUnit,
    format_amount,
)
from placer_models.device_share import DeviceShare
from placer_models.pod import DeviceRequest, Resources
from placer_models.quantity import format_bytes


def is_resource_in_bytes(resource: str) -> bool:
    """Return whether amounts of a resource are bytes: memory, or a device's memory."""
    return resource == MEMORY or resource.endswith(f".{MEMORY}")


def share_amount_text(share: DeviceShare, name: str, amount: int) -> str:
    """Return an amount of a part of a device as files write it: in the unit of its quantity."""
    if name == MEMORY:
        return format_bytes(amount)
    units = {quantity.name: quantity.unit for quantity in share.capacity}
    return format_amount(amount, units.get(name, DeviceQuantityUnit.UNITS))


def resource_unit(asked: Resources, resource: str) -> DeviceQuantityUnit:
    """Return the unit in which a resource is asked for; ``cpu`` and counts are plain numbers."""
    if is_resource_in_bytes(resource):
        return DeviceQuantityUnit.BYTES
    kind, _, name = resource.rpartition(".")
    units = (
        quantity.unit
        for request in asked.devices
        if request.type == kind and request.share is not None
        for quantity in request.share.capacity
        if quantity.name == name
    )
    return next(units, DeviceQuantityUnit.UNITS)


def is_share_amount_in_bytes(share: DeviceShare, name: str) -> bool:
    """Return whether amounts of a part of a device are bytes."""
    return name == MEMORY or any(
        quantity.name == name and quantity.unit is DeviceQuantityUnit.BYTES
        for quantity in share.capacity
    )


def share_amounts_asked(request: DeviceRequest) -> list[tuple[str, int]]:
    """Return what is asked of each device of a request for shares: name and amount of each part."""
    share = request.share
    if share is None:
        return []
    own = (
        (PERCENT, share.percent),
        (MEMORY, share.memory_bytes),
        (MEMORY_PERCENT, share.memory_percent),
    )
    parts = [(name, amount) for name, amount in own if amount is not None]
    parts += [(quantity.name, quantity.amount) for quantity in share.capacity]
    return [(f"{request.type}.{name}", amount) for name, amount in parts]


def share_amount_asked_per_device(asked: Resources, resource: str) -> int:
    """Return how much is asked of each device, or 0; of several requests of a type, the most."""
    found = (dict(share_amounts_asked(request)).get(resource, 0) for request in asked.devices)
    return max(found, default=0)


def with_share_amount_at_most(asked: Resources, resource: str, amount: int) -> Resources:
    """Return what is asked for with at most that much of a part of each device."""
    devices = tuple(
        replace(request, share=_less(request.share, resource.rpartition(".")[2], amount))
        if request.share is not None
        and dict(share_amounts_asked(request)).get(resource, 0) > amount
        else request
        for request in asked.devices
    )
    return replace(asked, devices=devices)


def _less(share: DeviceShare, name: str, amount: int) -> DeviceShare:
    match name:
        case "percent":
            return replace(share, percent=amount)
        case "memory":
            return replace(share, memory_bytes=amount)
        case "memoryPercent":
            return replace(share, memory_percent=amount)
    capacity = tuple(
        replace(quantity, amount=amount) if quantity.name == name else quantity
        for quantity in share.capacity
    )
    return replace(share, capacity=capacity)
