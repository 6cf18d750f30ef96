"""Devices that a bound pod holds, as far as anything tells which (D12)."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from placer_models.annotations.device_allocated import grants_of_allocations
from placer_models.annotations.names import DEVICE_ALLOCATED
from placer_models.cluster import Node
from placer_models.device import GPU, DeviceKey
from placer_models.instance.device_holders import DeviceHolderLedger
from placer_models.kubernetes.device import KubeKoordinatorDevice
from placer_models.kubernetes.join import NodeFromObjects
from placer_models.kubernetes.object_fields import KubernetesObjectError
from placer_models.kubernetes.plugin_devices import (
    device_type_counted_by_resource,
    devices_of_checkpoint_entry,
    gpus_unknown_to_node,
)
from placer_models.kubernetes.pod import KubePod
from placer_models.placement import DeviceGrant
from placer_models.pod import DeviceRequest, PodSpec
from placer_models.visible_devices import GpuVendor, gpu_minors_named_by_variable, gpu_vendor_of

_ALLOCATED = ("metadata", "annotations", DEVICE_ALLOCATED)


@dataclass(frozen=True, slots=True)
class DevicesHeldByKubePod:
    """The devices that a pod holds.

    Attributes:
        grants: Devices that it asks for.
        unasked: Devices that it has or sees without asking for them.
        unknown: Types of which it holds devices, but it is unknown which.
        checkpoint: Those of ``unasked`` that the kubelet's checkpoint names.
        unresolved: Those of ``unknown`` of which the checkpoint has ids that nobody knows.

    """

    grants: tuple[DeviceGrant, ...] = ()
    unasked: frozenset[DeviceKey] = frozenset()
    unknown: frozenset[str] = frozenset()
    checkpoint: frozenset[DeviceKey] = frozenset()
    unresolved: frozenset[str] = frozenset()


def held_devices(
    part: KubePod,
    spec: PodSpec,
    joined: NodeFromObjects,
    devices: KubeKoordinatorDevice | None,
    holders: DeviceHolderLedger,
    taken: list[DeviceKey],
) -> DevicesHeldByKubePod:
    """Return the devices that a pod holds.

    Its annotation names them, or else the Device object in its status or the kubelet's checkpoint,
    or else the environment of its containers. Of devices that only zones know, it gets as many as
    it asks for from those that the zones call taken; of those that are only counted, as many as
    it asks for, whatever names any.

    Args:
        part: The pod.
        spec: What it asks for.
        joined: The node that it is on.
        devices: What is known of the node's devices.
        holders: The holders of the node's devices, to which the pod is added.
        taken: Devices with unknown holders, from which those of the pod are removed.

    Raises:
        KubernetesObjectError: It holds what the node lacks, or what another pod holds.

    """
    counted = {kind for kind, _ in joined.counted}
    node = _listing(joined.node, counted)
    asked = [one for one in spec.requests.devices if one.type not in counted]
    if part.allocated is None:
        named = _otherwise(part, asked, node, devices, holders, taken)
    else:
        named = DevicesHeldByKubePod(_named(part, node, holders))
    grants: list[DeviceGrant] = []
    lost: set[str] = set()
    for request in spec.requests.devices:
        if request.type in counted:
            mine = [one for one in taken if one[0] == request.type][: request.count]
            taken[:] = [one for one in taken if one not in mine]
            grants += [DeviceGrant(*one, "", request.share) for one in mine]
            lost |= {request.type} if len(mine) < request.count else set()
    if not (grants or lost):
        return named
    both = sorted((*named.grants, *grants), key=lambda one: (one.type, one.minor))
    return replace(named, grants=tuple(both), unknown=named.unknown | lost)


def _listing(node: Node, counted: Collection[str]) -> Node:
    """Return the node with none but the devices that something lists."""
    if not counted:
        return node
    listed = tuple(one for one in node.machine.devices if one.type not in counted)
    return replace(node, machine=replace(node.machine, devices=listed))


def _named(part: KubePod, node: Node, holders: DeviceHolderLedger) -> tuple[DeviceGrant, ...]:
    """Return the devices that a pod's annotation names."""
    known = {(device.type, device.minor): device for device in node.devices}
    try:
        grants = grants_of_allocations(part.allocated or (), node)
    except ValueError as error:
        raise KubernetesObjectError(part.identity.title, _ALLOCATED, str(error)) from None
    for grant in grants:
        device = known.get((grant.type, grant.minor))
        if device is None:
            have = sorted(minor for kind, minor in known if kind == grant.type)
            raise KubernetesObjectError(
                part.identity.title,
                _ALLOCATED,
                f"{grant.type} {grant.minor}: Node {node.name} has no such device; it has "
                f"{', '.join(map(str, have)) or 'none'} of the type",
            )
        if fault := holders.take(device, grant.share, part.identity.title):
            raise KubernetesObjectError(part.identity.title, _ALLOCATED, fault)
    return grants


def _otherwise(
    part: KubePod,
    asked: Sequence[DeviceRequest],
    node: Node,
    devices: KubeKoordinatorDevice | None,
    holders: DeviceHolderLedger,
    taken: list[DeviceKey],
) -> DevicesHeldByKubePod:
    """Return the devices that a pod without the annotation holds, type by type.

    GPUs that its node lacks count among those that it asks for.
    """
    known = {(device.type, device.minor): device for device in node.devices}
    kubelet = _by_kubelet(part, node, devices)
    told, lost = set(kubelet.devices), set(kubelet.unresolved)
    _see(part, node, kubelet, told, lost)
    elsewhere = Counter(kubelet.elsewhere)
    grants: list[DeviceGrant] = []
    whole = True
    for request in asked:
        kind = request.type
        minors = minors_of_pod_in_device_status(part, kind, devices)
        if not minors:
            minors = sorted(minor for of, minor in told if of == kind)
        if not minors:
            count = request.count - elsewhere[kind]
            minors = [minor for of, minor in taken if of == kind][: max(0, count)]
        apart = min(elsewhere[kind], max(0, request.count - len(minors)))
        elsewhere[kind] -= apart
        if len(minors) == request.count:
            lost.discard(kind)
        elif len(minors) + apart != request.count:
            whole = False
            if len(minors) < request.count:
                lost.add(kind)
        for minor in minors:
            if (kind, minor) in known:
                told.add((kind, minor))
                grants.append(DeviceGrant(kind, minor, known[kind, minor].id, request.share))
        taken[:] = [one for one in taken if one[0] != kind or one[1] not in minors]
    grants.sort(key=lambda grant: (grant.type, grant.minor))
    if not whole or any(
        holders.take(known[grant.type, grant.minor], grant.share, part.identity.title)
        for grant in grants
    ):
        grants = []
    unasked = frozenset(told - {(grant.type, grant.minor) for grant in grants})
    return DevicesHeldByKubePod(
        tuple(grants),
        unasked,
        frozenset(lost),
        unasked & kubelet.devices,
        kubelet.unresolved & lost,
    )


def minors_of_pod_in_device_status(
    part: KubePod, kind: str, devices: KubeKoordinatorDevice | None
) -> list[int]:
    """Return the devices of a type that a pod has, as the status of the Device object says."""
    for holder in devices.holders if devices else ():
        if (holder.namespace, holder.name) == part.identity.key and holder.type == kind:
            return sorted(holder.minors)
    return []


@dataclass(frozen=True, slots=True)
class _ByKubelet:
    """What the kubelet's checkpoint says that a pod has.

    Attributes:
        devices: Devices of the node.
        unresolved: Types of which it has devices by ids that nobody knows.
        elsewhere: Type -> how many devices it has that the node lacks.

    """

    devices: frozenset[DeviceKey]
    unresolved: frozenset[str]
    elsewhere: Mapping[str, int]


def _by_kubelet(part: KubePod, node: Node, devices: KubeKoordinatorDevice | None) -> _ByKubelet:
    found: set[DeviceKey] = set()
    unresolved: set[str] = set()
    elsewhere: dict[str, frozenset[str]] = {}
    uid = part.identity.uid
    for entry in devices.checkpoints if devices and uid else ():
        if entry.pod_uid == uid:
            meant = devices_of_checkpoint_entry(entry, node.machine.devices)
            kind = device_type_counted_by_resource(entry.resource)
            found |= meant or set()
            if meant is None:
                unresolved.add(kind)
            more = gpus_unknown_to_node(entry, node.machine.devices)
            elsewhere[kind] = elsewhere.get(kind, frozenset()) | more
    counts = {kind: len(uuids) for kind, uuids in elsewhere.items()}
    return _ByKubelet(frozenset(found), frozenset(unresolved), counts)


def _see(
    part: KubePod, node: Node, kubelet: _ByKubelet, told: set[DeviceKey], lost: set[str]
) -> None:
    """Add what a pod sees by its environment, where the kubelet names no GPU that it has."""
    if any(kind == GPU for kind, _ in kubelet.devices) or kubelet.elsewhere.get(GPU):
        return
    visible = _visible(part, node)
    if visible is None:
        lost.add(GPU)
    elif visible:
        lost.discard(GPU)
        told |= {(GPU, minor) for minor in visible}


def _visible(part: KubePod, node: Node) -> set[int] | None:
    """Return the GPUs that the containers' environments name, or None if some are unknown."""
    gpus = [device for device in node.machine.devices if device.type == GPU]
    minors: set[int] = set()
    for container in part.containers if gpus else ():
        for variable, value in container.visible:
            of_vendor = [gpu for gpu in gpus if gpu_vendor_of(gpu) == GpuVendor(variable)]
            named = gpu_minors_named_by_variable(value, of_vendor)
            if named is None:
                return None
            minors |= named
    return minors
