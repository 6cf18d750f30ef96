"""Legal shares of devices: what shares are possible, and what nodes offer (B1, D4)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from placer_models.capacity import (
    MAX_QUANTITY,
    MEMORY,
    PERCENT,
    DeviceQuantity,
    DeviceQuantityUnit,
    format_amount,
)
from placer_models.cluster import Machine, Node
from placer_models.device import GPU, Device, is_mig_instance
from placer_models.device_share import WHOLE_PERCENT, DeviceShare

FaultPath = tuple[str | int, ...]
"""Path to a value from the spec: names of attributes and indices."""

SharedQuantityUnits = Mapping[str, Mapping[str, DeviceQuantityUnit]]
"""Device type -> name of each quantity that some device of it shares -> its unit."""


def share_faults(kind: str, share: DeviceShare) -> Iterator[tuple[FaultPath, object, str]]:
    """Yield what no device of the type can give as a share: field, value and message (D4).

    Args:
        kind: The device type.
        share: What is asked of one device of the type.

    """
    for name, percent in (("percent", share.percent), ("memory_percent", share.memory_percent)):
        if percent is not None and not 1 <= percent <= WHOLE_PERCENT:
            yield (
                (name,),
                percent,
                f"the pod asks for {percent} percent of each device of type {kind!r}; "
                f"a share is 1 to {WHOLE_PERCENT} percent of one: "
                "ask for several by their count (rule device-whole)",
            )
    if share.memory_bytes is not None and share.memory_bytes < 1:
        yield ("memory_bytes",), share.memory_bytes, "got none; expected some memory, or none said"
    yield from _capacity_faults(share.capacity)
    if is_mig_instance(kind):
        yield (), share, f"there are no shares of {kind}; ask for instances by their count"
    elif share.memory_bytes is not None and share.memory_percent is not None:
        yield (
            ("memory_percent",),
            share.memory_percent,
            "memory and memoryPercent say the same; keep one of them",
        )
    elif kind == GPU and not share.has_memory:
        yield (
            (),
            share,
            "a share of a GPU names its memory; add 'memory' or 'memoryPercent' "
            "(rule device-combination)",
        )
    elif kind != GPU and share.percent is None and not share.has_memory and not share.capacity:
        yield (
            (),
            share,
            f"a share of a device of type '{kind}' says how much; "
            "add 'percent', 'memory' or 'capacity'",
        )
    elif kind != GPU and share.percent is not None and (share.has_memory or share.capacity):
        yield (
            ("percent",),
            share.percent,
            f"percent of a device of type '{kind}' are of all that it has; "
            "ask for percent, or for amounts",
        )


def _capacity_faults(capacity: Sequence[DeviceQuantity]) -> Iterator[tuple[FaultPath, object, str]]:
    names = [quantity.name for quantity in capacity]
    if names != sorted(set(names)):
        yield ("capacity",), tuple(names), "expected each quantity once, ascending by name"
    for i, quantity in enumerate(capacity):
        most = WHOLE_PERCENT if quantity.unit is DeviceQuantityUnit.PERCENT else MAX_QUANTITY
        if not 1 <= quantity.amount <= most:
            yield (
                ("capacity", i),
                quantity.text,
                f"the pod asks for {quantity.text} of {quantity.name}; expected "
                f"{format_amount(1, quantity.unit)} to {format_amount(most, quantity.unit)}",
            )


def quantity_units_by_device_type(nodes: Iterable[Node]) -> SharedQuantityUnits:
    """Return what the devices of nodes share; the first device with a quantity sets its unit."""
    shared_units: dict[str, dict[str, DeviceQuantityUnit]] = {}
    for node in {(id(node.machine), node.mig): node for node in nodes}.values():
        for device in node.devices:
            shared = shared_units.setdefault(device.type, {})
            if device.memory_bytes:
                shared.setdefault(MEMORY, DeviceQuantityUnit.BYTES)
            for quantity in device.capacity:
                shared.setdefault(quantity.name, quantity.unit)
    return shared_units


def first_quantity_of_other_unit(
    machine: Machine, shared_units: SharedQuantityUnits
) -> tuple[Device, DeviceQuantity] | None:
    """Return the first quantity of a machine whose unit differs from the others', or None."""
    for device in machine.devices:
        for quantity in device.capacity:
            if shared_units[device.type][quantity.name] is not quantity.unit:
                return device, quantity
    return None


def unsupported_share_faults(
    kind: str, share: DeviceShare, shared_units: SharedQuantityUnits
) -> Iterator[tuple[FaultPath, object, str]]:
    """Yield what a share asks for that no device of the type shares (B1).

    To ask for a type that no node has is legal. So is a part of a GPU whose memory is unknown.
    """
    if kind not in shared_units:
        return
    shared = shared_units[kind]
    told = ", ".join([PERCENT, *(f"{name} ({unit})" for name, unit in sorted(shared.items()))])
    if kind != GPU and MEMORY not in shared:
        for field, asked in (
            ("memory_bytes", share.memory_bytes),
            ("memory_percent", share.memory_percent),
        ):
            if asked is not None:
                message = f"devices of type '{kind}' have no memory to share; they share {told}"
                yield (field,), asked, message
    for i, quantity in enumerate(share.capacity):
        at = "capacity", i
        if quantity.name not in shared:
            message = (
                f"devices of type '{kind}' have no {quantity.name} to share; they share {told}"
            )
            yield at, quantity.text, message
        elif quantity.unit is not shared[quantity.name]:
            message = (
                f"{quantity.name} of devices of type '{kind}' is in {shared[quantity.name]}; "
                f"got {quantity.text}, which is in {quantity.unit}"
            )
            yield at, quantity.text, message
