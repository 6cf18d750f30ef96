"""``device-allocated``: which devices a pod was given, and how much of each (D11)."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace

from placer_models.annotations.json_parts import LocatedJsonValue, parse_located_json
from placer_models.annotations.names import DEVICE_ALLOCATED
from placer_models.capacity import (
    MEMORY,
    MEMORY_PERCENT,
    OWN_WORDS,
    PERCENT,
    DeviceQuantity,
    DeviceQuantityUnit,
)
from placer_models.cluster import Node
from placer_models.device import GPU, VirtualFunction
from placer_models.device_request import (
    GPU_CORE,
    GPU_MEMORY,
    GPU_MEMORY_RATIO,
    OTHER_SPELLINGS,
    PERCENT_TYPES,
    parse_whole,
)
from placer_models.device_share import WHOLE_PERCENT, DeviceShare, with_memory_in_both_units
from placer_models.placement import DeviceGrant, PodPlacement
from placer_models.quantity import format_bytes, parse_bytes

_PERCENT_OF = {GPU: GPU_CORE, **{kind: name for name, kind in PERCENT_TYPES.items()}}

_MISSPELT = "resouurces"
"""The resources of a device as the example of the proposal spells them."""

_NOTHING = DeviceShare()


@dataclass(frozen=True, slots=True)
class DeviceAllocatedEntry:
    """One device that a pod holds, whole or in part.

    Attributes:
        id: What the vendor calls it; empty if unknown.
        virtual_functions: The device's virtual functions that the pod holds, as written.
        template: Name of the vendor's template for the share; empty if there is none.

    """

    type: str
    minor: int
    share: DeviceShare
    id: str = ""
    virtual_functions: tuple[VirtualFunction, ...] = ()
    template: str = ""


def device_allocations_of_placement(
    placement: PodPlacement, node: Node
) -> tuple[DeviceAllocatedEntry, ...]:
    """Return the devices that a pod was given, ascending by type and minor.

    Raises:
        ValueError: The placement is not on this node, or has a device that it lacks.

    """
    if placement.node != node.name:
        raise ValueError(f"pod {placement.name} is on node {placement.node}, not on {node.name}")
    devices = {(device.type, device.minor): device for device in node.machine.devices}
    allocations = []
    for grant in placement.devices:
        device = devices.get((grant.type, grant.minor))
        if device is None:
            raise ValueError(
                f"pod {placement.name} has device {grant.type} {grant.minor}, "
                f"which node {node.name} does not have"
            )
        share = grant.share or DeviceShare(
            percent=WHOLE_PERCENT, memory_percent=WHOLE_PERCENT if grant.type == GPU else None
        )
        allocations.append(
            DeviceAllocatedEntry(
                grant.type,
                grant.minor,
                with_memory_in_both_units(share, device.memory_bytes),
                id=grant.id or device.id,
                virtual_functions=tuple(
                    VirtualFunction(vf.minor, vf.bus_id)
                    for vf in device.virtual_functions
                    if vf.minor in grant.vfs
                ),
            )
        )
    return _ordered(allocations)


def grants_of_allocations(
    allocations: Iterable[DeviceAllocatedEntry], node: Node | None = None
) -> tuple[DeviceGrant, ...]:
    """Return devices and shares as a placement has them, ascending by type and minor.

    Args:
        allocations: What is held.
        node: The node of the devices, which say what they share beyond percent and memory,
            and in which units.

    Raises:
        ValueError: A share has resources that its device does not share.

    """
    devices = {(d.type, d.minor): d for d in node.machine.devices} if node else {}
    grants = []
    for held in _ordered(allocations):
        share = None if held.share.whole or _says_nothing(held) else held.share
        if share is not None and share.capacity:
            device = devices.get((held.type, held.minor))
            has = {q.name: q.unit for q in device.capacity} if device else {}
            if unknown := [q.name for q in share.capacity if q.name not in has]:
                raise ValueError(
                    f"{DEVICE_ALLOCATED}: of {held.type} {held.minor} is held "
                    f"{', '.join(unknown)}; its machine says that it shares "
                    f"{', '.join(['percent', 'memory', *has])}"
                )
            units = (replace(q, unit=has[q.name]) for q in share.capacity)
            share = replace(share, capacity=tuple(units))
        if share is not None and (held.type, held.minor) in devices:
            share = _unfilled(share, devices[held.type, held.minor].memory_bytes)
        functions = () if share is None else tuple(vf.minor for vf in held.virtual_functions)
        grants.append(DeviceGrant(held.type, held.minor, held.id, share, functions))
    return tuple(grants)


def _says_nothing(held: DeviceAllocatedEntry) -> bool:
    """Return whether it is not said how much is held, which leaves nothing for others."""
    return held.share == _NOTHING and not held.virtual_functions


def _unfilled(share: DeviceShare, memory_bytes: int) -> DeviceShare:
    """Return the share without bytes that were only filled in from its percent, which is exact."""
    asked = replace(share, memory_bytes=None)
    return (
        asked
        if asked.has_memory and with_memory_in_both_units(asked, memory_bytes) == share
        else share
    )


def write_device_allocated_annotation(allocations: Iterable[DeviceAllocatedEntry]) -> str:
    """Return the annotation's value, in Koordinator's spelling of today."""
    document: dict[str, list[object]] = {}
    for allocation in _ordered(allocations):
        document.setdefault(allocation.type, []).append(_to_json(allocation))
    return json.dumps(document, separators=(",", ":"))


def read_device_allocated_annotation(text: str) -> tuple[DeviceAllocatedEntry, ...]:
    """Read the annotation; fields that are not known are passed over.

    Resources may have the names of the proposal (``kubernetes.io/gpu-core``).

    Raises:
        AnnotationError: The text is not such a document; the message has the JSON path.

    """
    found: dict[tuple[str, int, str], DeviceAllocatedEntry] = {}
    for kind, listed in parse_located_json(text, DEVICE_ALLOCATED).members().items():
        if not kind:
            listed.refuse("a device type without a name; write one such as gpu")
        for part in listed.items():
            held = _read(kind, part)
            # Minors of NICs may repeat: their ids tell them apart.
            if (kind, held.minor, held.id) in found:
                part.refuse(f"device {held.minor} is there twice; keep one of them")
            found[kind, held.minor, held.id] = held
    return _ordered(found.values())


def _ordered(allocations: Iterable[DeviceAllocatedEntry]) -> tuple[DeviceAllocatedEntry, ...]:
    return tuple(sorted(allocations, key=lambda held: (held.type, held.minor, held.id)))


def _to_json(held: DeviceAllocatedEntry) -> dict[str, object]:
    document: dict[str, object] = {"minor": held.minor, "resources": _resources(held)}
    if held.id:
        document["id"] = held.id
    extension: dict[str, object] = {}
    if held.virtual_functions:
        extension["vfs"] = [_function_to_json(vf) for vf in held.virtual_functions]
    if held.template:
        extension["gpuSharedResourceTemplate"] = held.template
    if extension:
        document["extension"] = extension
    return document


def _function_to_json(function: VirtualFunction) -> dict[str, object]:
    # Koordinator leaves out what is 0 or empty.
    minor = {"minor": function.minor} if function.minor else {}
    return {**minor, **({"busID": function.bus_id} if function.bus_id else {})}


def _resources(held: DeviceAllocatedEntry) -> dict[str, str]:
    share = held.share
    resources = {
        q.name: format_bytes(q.amount) if q.unit is DeviceQuantityUnit.BYTES else str(q.amount)
        for q in share.capacity
    }
    if share.percent is not None and held.type in _PERCENT_OF:
        resources[_PERCENT_OF[held.type]] = str(share.percent)
    elif share.percent is not None and share.percent % WHOLE_PERCENT:
        resources[PERCENT] = str(share.percent)
    elif share.percent is not None:
        # A type without a known resource name is a resource of its own, and is counted.
        resources[held.type] = str(share.percent // WHOLE_PERCENT)
    in_bytes, in_percent = _memory_names(held.type)
    if share.memory_bytes is not None:
        resources[in_bytes] = format_bytes(share.memory_bytes)
    if share.memory_percent is not None:
        resources[in_percent] = str(share.memory_percent)
    return dict(sorted(resources.items()))


def _read(kind: str, part: LocatedJsonValue) -> DeviceAllocatedEntry:
    fields = part.fields(("minor", "resources", "id", "extension"), {_MISSPELT: "resources"})
    extension = (
        fields["extension"].fields(("vfs", "gpuSharedResourceTemplate"))
        if ("extension" in fields)
        else {}
    )
    functions = extension.get("vfs")
    template = extension.get("gpuSharedResourceTemplate")
    return DeviceAllocatedEntry(
        type=kind,
        minor=part.need(fields, "minor").integer(),
        share=_share(kind, fields.get("resources")),
        id=fields["id"].text() if "id" in fields else "",
        virtual_functions=tuple(_function(vf) for vf in functions.items()) if functions else (),
        template=template.text() if template else "",
    )


def _function(part: LocatedJsonValue) -> VirtualFunction:
    fields = part.fields(("minor", "busID"))
    return VirtualFunction(
        minor=fields["minor"].integer() if "minor" in fields else 0,
        bus_id=fields["busID"].text() if "busID" in fields else "",
    )


def _share(kind: str, part: LocatedJsonValue | None) -> DeviceShare:
    amounts: dict[str, int] = {}
    own = (_PERCENT_OF.get(kind, PERCENT), *_memory_names(kind))
    for written, amount in part.members().items() if part else ():
        name = OTHER_SPELLINGS.get(written, written)
        if name in OWN_WORDS and name not in own:
            amount.refuse(f"no resource of a device of type {kind}; it has {', '.join(own)}")
        if name in amounts:
            amount.refuse(f"{name} is there twice, in two spellings; keep one of them")
        amounts[name] = amount.amount(parse_bytes if name in (GPU_MEMORY, MEMORY) else parse_whole)
    percent = amounts.pop(_PERCENT_OF[kind], None) if kind in _PERCENT_OF else None
    if kind not in _PERCENT_OF:
        percent = amounts.pop(PERCENT, None)
        percent = amounts.pop(kind) * WHOLE_PERCENT if kind in amounts else percent
    _, in_bytes, in_percent = own
    return DeviceShare(
        percent=percent,
        memory_bytes=amounts.pop(in_bytes, None),
        memory_percent=amounts.pop(in_percent, None),
        capacity=tuple(
            DeviceQuantity(name, amounts[name]) for name in sorted(amounts) if amounts[name]
        ),
    )


def _memory_names(kind: str) -> tuple[str, str]:
    """Return the resource names of a device's own memory: in bytes, and in percent."""
    return (GPU_MEMORY, GPU_MEMORY_RATIO) if kind == GPU else (MEMORY, MEMORY_PERCENT)
