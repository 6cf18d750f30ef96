"""Requests for shares of devices in files, read and written (D2 to D5)."""

from collections.abc import Mapping, Sequence

from placer_models.capacity import DeviceQuantity, parse_amount
from placer_models.device_request import (
    DEVICE_RESOURCES,
    OTHER_SPELLINGS,
    WHOLE_GPUS,
    DeviceRequestError,
    devices_asked,
    without_share_if_whole,
)
from placer_models.device_share import DeviceShare
from placer_models.files.faults import DocumentLocation
from placer_models.files.part import Json
from placer_models.instance.device_quantities import check_quantity_name
from placer_models.instance.schema import DeviceSharePart
from placer_models.legal_shares import (
    FaultPath,
    SharedQuantityUnits,
    share_faults,
    unsupported_share_faults,
)
from placer_models.placement import DeviceGrant
from placer_models.pod import DeviceRequest, Resources
from placer_models.quantity import format_bytes, parse_bytes

_SHARE_NAMES = DEVICE_RESOURCES - frozenset(WHOLE_GPUS)


def current_share_resource_name(written: str) -> str | None:
    """Return today's name of a resource asked for by percent or memory, or None for others."""
    name = OTHER_SPELLINGS.get(written, written)
    return name if name in _SHARE_NAMES else None


def device_requests_for_amounts(
    amounts: Mapping[str, int], place: DocumentLocation
) -> list[DeviceRequest]:
    """Return the device requests that resources by percent, memory or count stand for."""
    if not any(amounts.values()):
        return []
    try:
        return [*map(without_share_if_whole, devices_asked(dict(amounts)))]
    except DeviceRequestError as error:
        place.fault(str(error), illegal=True)
        return []


def read_shares_field(
    parts: Sequence[DeviceSharePart], shared_units: SharedQuantityUnits, place: DocumentLocation
) -> list[DeviceRequest]:
    """Return what the field ``shares`` asks for, in its order.

    Args:
        parts: Entries of the field.
        shared_units: What devices share, and in which units.
        place: Where the field is written.

    """
    requests = []
    for i, part in enumerate(parts):
        share = _share(part, shared_units, place.at(i))
        if share is not None:
            requests.append(DeviceRequest(part.type, part.count, None if share.whole else share))
    return requests


def merged_device_requests(requests: Sequence[DeviceRequest]) -> tuple[DeviceRequest, ...]:
    """Return the requests ascending by type, whole devices first, equal requests as one."""
    counts: dict[tuple[str, DeviceShare | None], int] = {}
    for request in requests:
        key = request.type, request.share
        counts[key] = counts.get(key, 0) + request.count
    found = (DeviceRequest(kind, count, share) for (kind, share), count in counts.items())
    return tuple(sorted(found, key=lambda request: (request.type, request.share is not None)))


def share_to_dict(request: DeviceRequest) -> Json:
    """Write a request for shares as an entry of the field ``shares``."""
    share = request.share or DeviceShare()
    return {
        "type": request.type,
        **DeviceSharePart.written(
            count=request.count,
            percent=share.percent,
            memory=None if share.memory_bytes is None else format_bytes(share.memory_bytes),
            memory_percent=share.memory_percent,
            capacity={quantity.name: quantity.text for quantity in share.capacity},
        ),
    }


def grants_in_request_order(
    requests: Resources, grants: Sequence[DeviceGrant]
) -> list[DeviceGrant]:
    """Return devices of a running pod as files list them: in the order of its requests."""
    order = {(request.type, request.share): i for i, request in enumerate(requests.devices)}
    last = len(order)
    return sorted(grants, key=lambda g: (g.type, order.get((g.type, g.share), last), g.minor))


def _share(
    part: DeviceSharePart, shared_units: SharedQuantityUnits, place: DocumentLocation
) -> DeviceShare | None:
    memory_bytes = None
    if part.memory is not None:
        memory_bytes = place.at("memory").parsed(parse_bytes, part.memory, None)
        if memory_bytes is None:
            return None
        if not memory_bytes:
            place.at("memory").fault(
                "got 0; expected some memory, or delete the line", illegal=True
            )
            return None
    capacity = []
    for name in sorted(part.capacity):
        try:
            check_quantity_name(name)
            text, unit = part.capacity[name], shared_units.get(part.type, {}).get(name)
            capacity.append(DeviceQuantity(name, *parse_amount(text, unit)))
        except ValueError as error:
            place.at("capacity", name).fault(str(error))
            return None
    share = DeviceShare(part.percent, memory_bytes, part.memory_percent, tuple(capacity))
    for field, _, message in (
        *share_faults(part.type, share),
        *unsupported_share_faults(part.type, share, shared_units),
    ):
        _place_of(field, share, place).fault(message, illegal=True)
        return None
    return share


def _place_of(field: FaultPath, share: DeviceShare, place: DocumentLocation) -> DocumentLocation:
    """Return the place of the field of a share that is at fault."""
    match field:
        case ("capacity", int(index)):
            return place.at("capacity", share.capacity[index].name)
        case ("memory_bytes",):
            return place.at("memory")
        case ("memory_percent",):
            return place.at("memoryPercent")
        case ("percent",):
            return place.at("percent")
    return place
