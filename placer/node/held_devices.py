"""Devices that a document gives to one pod and the kubelet has given to another (D12)."""

from collections.abc import Iterator, Sequence

from placer_models.device import GPU, DeviceKey, is_mig_instance
from placer_models.kubernetes.checkpoints.device_manager import (
    DEVICE_MANAGER_CHECKPOINT,
    KubeletDevicesOfContainer,
)
from placer_models.kubernetes.plugin_devices import (
    device_type_counted_by_resource,
    devices_of_checkpoint_entry,
)
from placer_models.message_text import in_quotes
from placer_models.mig import gpu_minor_of_mig_instance
from placer_models.node_placement import NodePlacement, NodePlacementPod


def kubelet_device_conflicts(
    document: NodePlacement,
    held: Sequence[KubeletDevicesOfContainer],
    file: str = DEVICE_MANAGER_CHECKPOINT,
) -> Iterator[str]:
    """Yield the pods of a document that are given what another pod holds, each in one line.

    Devices that the document itself gives twice are left to the document's own rules. A pod
    without a uid is not one that the kubelet runs. The file is the checkpoint that says what is
    held.
    """
    given = [(one, _devices_of(one)) for one in document.pods]
    by_uid = {one.uid: devices for one, devices in given if one.uid}
    for entry in held:
        own = by_uid.get(entry.pod_uid, frozenset())
        meant = devices_of_checkpoint_entry(entry, document.node.machine.devices, document.node.mig)
        kind = device_type_counted_by_resource(entry.resource)
        if meant is None and any(of == kind for of, _ in own):
            continue  # the document says which
        for one, devices in given:
            twice = {
                key for key in devices - own if (key[0] == kind if meant is None else key in meant)
            }
            if one.uid != entry.pod_uid and twice:
                yield _told(one, min(twice), entry, file, known=meant is not None)


def _devices_of(one: NodePlacementPod) -> frozenset[DeviceKey]:
    """Return the devices that a pod is given; for a MIG instance its GPU."""
    return frozenset(
        (GPU, gpu_minor_of_mig_instance(grant.minor))
        if is_mig_instance(grant.type)
        else (grant.type, grant.minor)
        for grant in one.placement.devices
    )


def _told(
    one: NodePlacementPod,
    key: DeviceKey,
    entry: KubeletDevicesOfContainer,
    file: str,
    *,
    known: bool,
) -> str:
    kind, minor = key
    ids = ", ".join(in_quotes(id) for id in entry.ids) or "no ids"
    lost = "" if known else f", and nothing says which {kind} that is"
    same = "" if one.uid else ", or give it that uid if it is the same pod"
    return (
        f"pod {one.pod.title!r}: placement.devices: {kind} {minor} {'is' if known else 'may be'} "
        f"another pod's: pod {in_quotes(entry.pod_uid)} holds {entry.resource} {ids} by the "
        "kubelet's "
        f"/{file}{lost}; place it on a device that is free{same}; a pod that "
        "has ended is dropped from the file when the kubelet next gives out a device"
    )
