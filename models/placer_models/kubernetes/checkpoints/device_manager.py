"""``kubelet_internal_checkpoint``: the plugin devices that a kubelet has given to pods (D12)."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from placer_models.kubernetes.checkpoints.allocate_response import (
    NO_RESPONSE,
    KubeletAllocateResponse,
    read_allocate_response,
)
from placer_models.kubernetes.checkpoints.checksum import check_checksum
from placer_models.kubernetes.checkpoints.go_types import (
    BYTES,
    CHECKSUM,
    INT64,
    MEND,
    TEXT,
    GoStructField,
    GoTypeCodec,
    KubeletCheckpointError,
    go_map_codec,
    go_slice_codec,
    go_struct_codec,
    parse_go_json,
)

DEVICE_MANAGER_CHECKPOINT = "var/lib/kubelet/device-plugins/kubelet_internal_checkpoint"
"""The file's path below the root of a system."""


@dataclass(frozen=True, slots=True)
class KubeletDevicesOfContainer:
    """Devices that a kubelet gave to a container of a pod.

    Attributes:
        ids: The device plugin's ids of the devices.
        response: What the plugin told the container's runtime.

    """

    pod_uid: str
    container: str
    resource: str
    ids: tuple[str, ...]
    response: KubeletAllocateResponse = NO_RESPONSE


@dataclass(frozen=True, slots=True)
class KubeletDeviceManagerState:
    """The plugins' devices that a kubelet knows and has given out.

    Attributes:
        registered: Resource -> ids of all its devices.

    """

    held: tuple[KubeletDevicesOfContainer, ...]
    registered: Mapping[str, tuple[str, ...]]


def _version(ids: GoTypeCodec) -> tuple[GoTypeCodec, GoTypeCodec]:
    """Return the structs of a version: that of the data, and that of the file."""
    entry = go_struct_codec(
        "checkpoint.PodDevicesEntry",
        *(GoStructField(name, name, TEXT) for name in ("PodUID", "ContainerName", "ResourceName")),
        GoStructField("DeviceIDs", "DeviceIDs", ids),
        GoStructField("AllocResp", "AllocResp", BYTES),
    )
    data = go_struct_codec(
        "checkpoint.checkpointData",
        GoStructField("PodDeviceEntries", "PodDeviceEntries", go_slice_codec(entry)),
        GoStructField(
            "RegisteredDevices", "RegisteredDevices", go_map_codec(TEXT, go_slice_codec(TEXT))
        ),
    )
    return data, go_struct_codec(
        "checkpoint.Data",
        GoStructField("Data", "Data", data),
        GoStructField("Checksum", "Checksum", CHECKSUM),
    )


_V1 = _version(go_slice_codec(TEXT))
_V2 = _version(go_map_codec(INT64, go_slice_codec(TEXT), "checkpoint.DevicesPerNUMA"))


def read_device_manager_checkpoint(text: str) -> KubeletDeviceManagerState:
    """Return the contents of the checkpoint, whatever its version.

    Raises:
        KubeletCheckpointError: It is not what a kubelet writes, or its checksum does not match
            the rest.

    """
    tree = parse_go_json(text)
    data, file = _V1 if _has_lists(tree) else _V2
    value = file.read(tree, "")
    check_checksum(value["Checksum"], [data.typed(value["Data"])], "Checksum")
    content = value["Data"]
    return KubeletDeviceManagerState(
        tuple(_held(content["PodDeviceEntries"] or ())),
        {name: tuple(ids or ()) for name, ids in (content["RegisteredDevices"] or {}).items()},
    )


def _has_lists(tree: object) -> bool:
    """Return whether devices are plain lists, as in version 1, not grouped by NUMA node."""
    data = tree.get("Data") if isinstance(tree, dict) else None
    entries = data.get("PodDeviceEntries") if isinstance(data, dict) else None
    return isinstance(entries, list) and any(
        isinstance(one, dict) and isinstance(one.get("DeviceIDs"), list) for one in entries
    )


def _held(entries: Iterable[Mapping[str, Any]]) -> Iterator[KubeletDevicesOfContainer]:
    for i, entry in enumerate(entries):
        ids = entry["DeviceIDs"] or ()
        if isinstance(ids, dict):
            ids = [id for numa in sorted(ids) for id in ids[numa] or ()]
        try:
            response = read_allocate_response(entry["AllocResp"] or b"")
        except ValueError as error:
            field = f"Data.PodDeviceEntries[{i}].AllocResp"
            raise KubeletCheckpointError(field, f"{error}; {MEND}") from None
        yield KubeletDevicesOfContainer(
            entry["PodUID"], entry["ContainerName"], entry["ResourceName"], tuple(ids), response
        )
