"""Which devices a bound pod holds, as far as anyone says it (D12)."""

from placer_models.annotations.device_allocated import DeviceAllocation, grants_of
from placer_models.annotations.names import DEVICE_ALLOCATED
from placer_models.cluster import Node
from placer_models.device import GPU, Device
from placer_models.instance.device_holders import DeviceHolders
from placer_models.kubernetes.device import DevicePart
from placer_models.kubernetes.objects import ObjectError
from placer_models.kubernetes.pod import PodPart
from placer_models.placement import DeviceGrant
from placer_models.pod import PodSpec

_ALLOCATED = ("metadata", "annotations", DEVICE_ALLOCATED)

_ALL = "all"
_NONE = ("", "none", "void")


def held_devices(
    part: PodPart,
    spec: PodSpec,
    node: Node,
    devices: DevicePart | None,
    holders: DeviceHolders,
    taken: list[tuple[str, int]],
) -> tuple[DeviceGrant, ...] | None:
    """Return the devices that a pod holds; None: it holds some, and nobody says which.

    Its annotation says it, else the Device object, by its status or the kubelet's checkpoint,
    else the environment of its containers; of devices that are known by zones alone it has some
    of those that the zones call taken.

    Args:
        part: The pod.
        spec: What it asks for.
        node: Where it is.
        devices: What is known of the node's devices.
        holders: Of the node's devices; gets the pod.
        taken: (Type, minor) of devices that are held by somebody; loses those of the pod.

    Raises:
        ObjectError: It holds what the node lacks, or what another pod holds.

    """
    known = {(device.type, device.minor): device for device in node.devices}
    if part.allocated is not None:
        grants = _allocated(part, node)
    else:
        found = _otherwise(part, spec, known, devices, taken)
        if found is None:
            return None
        grants = found
    for grant in grants:
        device = known.get((grant.type, grant.minor))
        if device is None:
            have = sorted(minor for kind, minor in known if kind == grant.type)
            raise ObjectError(
                part.identity.title,
                _ALLOCATED,
                f"{grant.type} {grant.minor}: Node {node.name} has no such device; it has "
                f"{', '.join(map(str, have)) or 'none'} of the type",
            )
        if fault := holders.take(device, grant.share, part.identity.title):
            raise ObjectError(part.identity.title, _ALLOCATED, fault)
    return grants


def _allocated(part: PodPart, node: Node) -> tuple[DeviceGrant, ...]:
    allocations: tuple[DeviceAllocation, ...] = part.allocated or ()
    try:
        return grants_of(allocations, node)
    except ValueError as error:
        raise ObjectError(part.identity.title, _ALLOCATED, str(error)) from None


def _otherwise(
    part: PodPart,
    spec: PodSpec,
    known: dict[tuple[str, int], Device],
    devices: DevicePart | None,
    taken: list[tuple[str, int]],
) -> tuple[DeviceGrant, ...] | None:
    """Return what a pod without the annotation holds, type by type."""
    found: list[DeviceGrant] = []
    visible = _visible(part, known)
    for request in spec.requests.devices:
        minors = _by_object(part, request.type, known, devices)
        if not minors and request.type == GPU:
            minors = visible
        if not minors:
            minors = [minor for kind, minor in taken if kind == request.type][: request.count]
        if len(minors) != request.count:
            return None
        found += [
            DeviceGrant(request.type, minor, known[request.type, minor].id, request.share)
            for minor in minors
            if (request.type, minor) in known
        ]
        taken[:] = [one for one in taken if one[0] != request.type or one[1] not in minors]
    return tuple(sorted(found, key=lambda grant: (grant.type, grant.minor)))


def _by_object(
    part: PodPart,
    kind: str,
    known: dict[tuple[str, int], Device],
    devices: DevicePart | None,
) -> list[int]:
    if devices is None:
        return []
    for holder in devices.holders:
        if (holder.namespace, holder.name) == part.identity.key and holder.type == kind:
            return sorted(holder.minors)
    minors = {device.id: minor for (of, minor), device in known.items() if of == kind}
    given = {
        minors[id]
        for entry in devices.checkpoints
        if part.identity.uid and entry.pod_uid == part.identity.uid
        for id in entry.ids
        if id in minors
    }
    return sorted(given)


def _visible(part: PodPart, known: dict[tuple[str, int], Device]) -> list[int]:
    """Return the GPUs that the environments of the containers name, by id or by minor."""
    gpus = {minor: device for (kind, minor), device in known.items() if kind == GPU}
    by_id = {device.id: minor for minor, device in gpus.items() if device.id}
    minors: set[int] = set()
    for container in part.containers:
        text = container.visible
        if text is None or text in _NONE:
            continue
        if text == _ALL:
            minors |= gpus.keys()
            continue
        for name in text.split(","):
            if name in by_id:
                minors.add(by_id[name])
            elif name.isascii() and name.isdecimal() and int(name) in gpus:
                minors.add(int(name))
    return sorted(minors)
