"""Devices of a node, found for an entry of the kubelet's device checkpoint (D12).

Device plugins name devices as they like. What an id does not tell is recovered from what the
plugin told the container's runtime: environment, mounts, CDI names, device nodes.
"""

import re
from collections.abc import Iterator, Sequence

from placer_models.device import GPU, Device, DeviceKey
from placer_models.device_request import WHOLE_GPUS
from placer_models.kubernetes.checkpoints.allocate_response import KubeletAllocateResponse
from placer_models.kubernetes.checkpoints.device_manager import KubeletDevicesOfContainer
from placer_models.mig import Modes
from placer_models.visible_devices import GpuVendor, gpu_minors_named_by_variable, gpu_vendor_of

_OTHER_GPUS = re.compile(r"nvidia\.com/(gpu\.shared|mig-.+)|amd\.com/[a-z]+_.+")
"""Resources that are GPUs or parts of them: time-sliced, instances, partitions."""

_INSTANCE = "MIG-"
"""The prefix of the ids of MIG instances."""

_UUID = re.compile(r"GPU-[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
"""A GPU's id as NVIDIA's driver writes it; no two GPUs have the same."""

_REPLICA = re.compile(r"::[0-9]+\Z")
"""The suffix that tells the replicas of a shared GPU apart in the ids of NVIDIA's plugin."""

_MOUNTED = re.compile(r"/var/run/nvidia-container-devices/(?!cdi/|imex/)([^/]+)")
_DEVICE_NODE = re.compile(r"/dev/nvidia([0-9]+)")
_CDI = {GpuVendor.NVIDIA: "nvidia.com/gpu", GpuVendor.AMD: "amd.com/gpu"}
_CDI_ANNOTATION = "cdi.k8s.io/"
_ADDRESS = re.compile(r"(?:[0-9a-f]*([0-9a-f]{4}):)?([0-9a-f]{2}:[0-9a-f]{2}\.[0-7])")


def device_type_counted_by_resource(resource: str) -> str:
    """Return the type of the devices that a resource counts."""
    return GPU if resource in WHOLE_GPUS or _OTHER_GPUS.fullmatch(resource) else resource


def devices_of_checkpoint_entry(
    entry: KubeletDevicesOfContainer, devices: Sequence[Device], modes: Modes = ()
) -> frozenset[DeviceKey] | None:
    """Return the devices of a node that an entry means, or None if it is unknown which.

    MIG instances hold their GPU; if that is unknown they hold all GPUs in MIG mode. GPUs that the
    node lacks (``gpus_unknown_to_node``) are none of its devices.
    """
    kind = device_type_counted_by_resource(entry.resource)
    found: set[DeviceKey] = set()
    unknown: list[str] = []
    for id in entry.ids:
        named = _by_id(id, kind, devices)
        found |= named
        unknown += [] if named else [id]
    if (unknown or not entry.ids) and (told := gpus_given_by_plugin(entry.response, devices)):
        return frozenset(found | {(GPU, minor) for minor in told})
    if unknown and modes and all(id.startswith(_INSTANCE) for id in entry.ids):
        return frozenset((GPU, minor) for minor, _ in modes)
    elsewhere = gpus_unknown_to_node(entry, devices)
    lost = any(_uuid(id) not in elsewhere for id in unknown)
    return None if lost and any(device.type == kind for device in devices) else frozenset(found)


def gpus_unknown_to_node(
    entry: KubeletDevicesOfContainer, devices: Sequence[Device]
) -> frozenset[str]:
    """Return the UUIDs of GPUs in an entry that are none of the node's devices.

    That is certain only if all of the node's devices of the type have such UUIDs, too, and the
    plugin told the runtime of none of them. Then the entry is of a GPU that was taken out, or
    that nobody has listed yet.
    """
    kind = device_type_counted_by_resource(entry.resource)
    known = {_uuid(device.id) for device in devices if device.type == kind}
    if not known or "" in known or gpus_given_by_plugin(entry.response, devices):
        return frozenset()
    return frozenset(uuid for uuid in map(_uuid, entry.ids) if uuid) - known


def gpus_given_by_plugin(
    response: KubeletAllocateResponse, devices: Sequence[Device]
) -> frozenset[int] | None:
    """Return the GPUs that a plugin gave to a container, or None if it is unknown which."""
    known = False
    for vendor in GpuVendor:
        gpus = [one for one in devices if one.type == GPU and gpu_vendor_of(one) is vendor]
        for value in _values(response, vendor):
            found = gpu_minors_named_by_variable(value, gpus)
            if found:
                return found
            known |= found is not None
    return frozenset() if known else None


def _values(response: KubeletAllocateResponse, vendor: GpuVendor) -> Iterator[str]:
    """Yield texts that may name GPUs in the form of the vendor's variable, most reliable first."""
    yield from (value for name, value in response.environment if name == vendor.value)
    prefix = f"{_CDI[vendor]}="
    names = [*response.cdi_devices]
    for key, value in response.annotations:
        if key.startswith(_CDI_ANNOTATION):
            names += value.split(",")
    if cdi := [name.removeprefix(prefix) for name in names if name.startswith(prefix)]:
        yield "all" if "all" in cdi else ",".join(cdi)
    if vendor is GpuVendor.NVIDIA:
        for pattern, paths in ((_MOUNTED, response.mounts), (_DEVICE_NODE, response.devices)):
            if matches := [match[1] for path in paths if (match := pattern.fullmatch(path))]:
                yield ",".join(matches)


def _by_id(id: str, kind: str, devices: Sequence[Device]) -> set[DeviceKey]:
    """Return the devices that a plugin's id means, matched by their id, address or minor."""
    plain, uuid = _plain(id), _uuid(id)
    address = _address(plain)
    found = {
        (one.type, one.minor)
        for one in devices
        if plain == one.id
        or (uuid and uuid == _uuid(one.id))
        or (address and address in {_address(a) for a in (one.bus_id, *_functions(one))})
    }
    of_kind = [one for one in devices if one.type == kind]
    if not found and kind == GPU:
        found = (
            {(GPU, minor) for minor in gpu_minors_named_by_variable(plain, of_kind) or ()}
            if plain
            else set()
        )
    if not found and plain.isascii() and plain.isdecimal():
        found = {(kind, one.minor) for one in of_kind if str(one.minor) == plain}
    return found


def _plain(id: str) -> str:
    """Return a plugin's id without what tells replicas apart."""
    return _REPLICA.sub("", id)


def _uuid(id: str) -> str:
    """Return the UUID of a GPU in small letters, or an empty text if the id is none."""
    plain = _plain(id)
    return f"{plain[:4]}{plain[4:].lower()}" if _UUID.fullmatch(plain) else ""


def _functions(device: Device) -> Iterator[str]:
    return (function.bus_id for function in device.virtual_functions)


def _address(text: str) -> str:
    """Return a PCI address with a domain of four digits, or an empty text if it is none."""
    match = _ADDRESS.fullmatch(text.lower())
    return f"{match[1] or '0000'}:{match[2]}" if match else ""
