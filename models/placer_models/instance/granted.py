"""Held amounts of a device in a placement file: ``devices[].resources``."""

from collections.abc import Mapping

from placer_models.capacity import (
    MEMORY,
    MEMORY_PERCENT,
    PERCENT,
    DeviceQuantity,
    DeviceQuantityUnit,
    device_quantity_unit_of_text,
    parse_amount,
)
from placer_models.cluster import Instance
from placer_models.device import GPU
from placer_models.device_request import GPU_CORE, GPU_MEMORY, GPU_MEMORY_RATIO, PERCENT_TYPES
from placer_models.device_share import DeviceShare, with_memory_in_both_units
from placer_models.files.faults import DocumentLocation
from placer_models.instance.device_quantities import check_quantity_name
from placer_models.message_text import in_quotes
from placer_models.placement import DeviceGrant, Placement

DeviceMemory = Mapping[tuple[str, str, int], int]
"""(node, type, minor) -> bytes of the device's own memory."""


def memory_bytes_by_device(instance: Instance, placement: Placement) -> DeviceMemory:
    """Return the memory of the devices of every node where a share is held."""
    nodes = {place.node for place in placement.pods if any(g.share for g in place.devices)}
    return {
        (node.name, device.type, device.minor): device.memory_bytes
        for node in instance.nodes
        if node.name in nodes
        for device in node.machine.devices
    }


def held_share_to_dict(grant: DeviceGrant, memory_bytes: int) -> dict[str, object]:
    """Return what is held of a device, or nothing if all of it is.

    Memory is given in bytes and in percent; whichever was not asked for is rounded down.
    Other quantities are given by amount, with the unit where a number alone does not say it.
    """
    if grant.share is None:
        return {}
    share = with_memory_in_both_units(grant.share, memory_bytes)
    amounts = zip(
        _names(grant.type),
        (share.percent, share.memory_bytes, share.memory_percent),
        strict=True,
    )
    written: dict[str, object] = {name: amount for name, amount in amounts if amount is not None}
    for quantity in share.capacity:
        plain = device_quantity_unit_of_text(quantity.text) is DeviceQuantityUnit.UNITS
        written[quantity.name] = quantity.amount if plain else quantity.text
    return written


def read_held_share(
    kind: str, resources: Mapping[str, int | str], place: DocumentLocation
) -> DeviceShare | None:
    """Return the share that a file says is held, or None if it is all of the device.

    A quantity is in the unit that its text says; a plain number may be in any unit.
    """
    if not resources:
        return None
    known = _names(kind)
    own: dict[str, int] = {}
    capacity = []
    for name, amount in sorted(resources.items()):
        try:
            if name not in known:
                check_quantity_name(name)
                capacity.append(DeviceQuantity(name, *parse_amount(str(amount))))
            elif isinstance(amount, int):
                own[name] = amount
            else:
                raise ValueError(f"got {in_quotes(amount)}; expected a whole number")
        except ValueError as error:
            place.at(name).fault(
                f"{error}; held of a device of type {in_quotes(kind)} are "
                f"{', '.join(known)} and what "
                "its machine says under capacity, or {} for all of it"
            )
    percent, in_bytes, in_percent = known
    return DeviceShare(own.get(percent), own.get(in_bytes), own.get(in_percent), tuple(capacity))


def _names(kind: str) -> tuple[str, str, str]:
    """Return a device's names for percent, memory in bytes and memory in percent."""
    if kind == GPU:
        return GPU_CORE, GPU_MEMORY, GPU_MEMORY_RATIO
    percent = next((name for name, other in PERCENT_TYPES.items() if other == kind), PERCENT)
    return percent, MEMORY, MEMORY_PERCENT
