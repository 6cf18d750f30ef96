"""Device: Koordinator's list of the devices of a node (D1, D6, D10, D11)."""

from dataclasses import dataclass

from placer_models.annotations.json_parts import LocatedJsonValue
from placer_models.capacity import DeviceQuantity
from placer_models.device import GPU, Device, PartitionTable, VirtualFunction
from placer_models.device_request import GPU_CORE, GPU_MEMORY, GPU_MEMORY_RATIO, PERCENT_TYPES
from placer_models.kubernetes.checkpoints.allocate_response import (
    NO_RESPONSE,
    KubeletAllocateResponse,
    read_allocate_response,
)
from placer_models.kubernetes.checkpoints.device_manager import KubeletDevicesOfContainer
from placer_models.kubernetes.checkpoints.go_types import BYTES, KubeletCheckpointError
from placer_models.kubernetes.names import (
    DEVICE_CHECKPOINTS,
    GPU_MODELS,
    GPU_PARTITION_POLICY,
    GPU_PARTITIONS,
)
from placer_models.kubernetes.object_fields import (
    KubeObjectFieldValue,
    KubeObjectIdentity,
    Object,
    first_label_present,
    read_json_annotation,
    read_object_identity_and_fields,
)
from placer_models.kubernetes.resources import KubeResourceList, read_resource_list
from placer_models.policy import PartitionPolicy

KIND = "Device"

_TYPE = ("type", "deviceType")
_RESOURCES = ("resources", "resource")
"""Tags of a device in use today, then those of the proposal's Go type; its example has today's."""

_OF_WHOLE = frozenset({GPU_CORE, GPU_MEMORY_RATIO, *PERCENT_TYPES})
"""Resources of which a whole device has 100."""


@dataclass(frozen=True, slots=True)
class KoordinatorDeviceHolder:
    """A pod that holds devices, according to the status of a Device object."""

    namespace: str
    name: str
    type: str
    minors: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class KubeKoordinatorDevice:
    """The contents of a Device object, which has the name of its node.

    Attributes:
        devices: Ascending by (type, minor).
        partitions: The partition table, or None if it has none.
        checkpoints: Devices that the kubelet gave out.
        holders: Pods that hold devices, according to the object's status.

    """

    identity: KubeObjectIdentity
    devices: tuple[Device, ...]
    partitions: PartitionTable | None = None
    partition_policy: PartitionPolicy | None = None
    checkpoints: tuple[KubeletDevicesOfContainer, ...] = ()
    holders: tuple[KoordinatorDeviceHolder, ...] = ()


def read_kube_koordinator_device(found: Object) -> KubeKoordinatorDevice:
    """Return the contents of a Device object.

    Raises:
        KubernetesObjectError: Something is wrong with it.

    """
    identity, root = read_object_identity_and_fields(found, KIND, namespaced=False)
    model = next((identity.labels[key] for key in GPU_MODELS if identity.labels.get(key)), "")
    devices: dict[tuple[str, int], Device] = {}
    for item in root.get("spec", "devices").items():
        device = _device(item, model)
        if (device.type, device.minor) in devices:
            item.get("minor").refuse(
                f"{device.type} {device.minor} is there twice; "
                "each device of a type has a minor of its own"
            )
        devices[device.type, device.minor] = device
    policy = first_label_present(root, GPU_PARTITION_POLICY)
    return KubeKoordinatorDevice(
        identity=identity,
        devices=tuple(devices[key] for key in sorted(devices)),
        partitions=read_json_annotation(root, _partitions, *GPU_PARTITIONS),
        partition_policy=policy.word(PartitionPolicy) if policy else None,
        checkpoints=tuple(
            one
            for key in DEVICE_CHECKPOINTS  # neither hides what the other says
            for one in read_json_annotation(root, _checkpoints, key) or ()
        ),
        holders=tuple(_holders(root.get("status", "allocations"))),
    )


def _device(part: KubeObjectFieldValue, gpu_model: str) -> Device:
    kind = _kind(part)
    resources, *again = _spelt(part, _RESOURCES, empty={})
    amounts = read_resource_list(resources)
    for other in again:
        if read_resource_list(other) != amounts:
            other.refuse("says something else than resources; keep one of them")
    topology = part.get("topology")
    switch = topology.get("pcieID").text("") or None
    return Device(
        type=kind,
        minor=part.get("minor").integer(0),
        id=part.get("id").text(""),
        model=gpu_model if kind == GPU else "",
        memory_bytes=amounts.other.get(GPU_MEMORY, 0),
        healthy=part.get("health").flag() and not _is_sick(part.get("conditions")),
        numa_node=_place(topology.get("nodeID")),
        package=_place(topology.get("socketID")),
        pcie_root=switch if switch and switch.startswith("pci") else None,
        pcie_switch=switch,
        bus_id=topology.get("busID").text(""),
        virtual_functions=_functions(part.get("vfGroups")),
        capacity=_capacity(kind, amounts, resources),
    )


def _kind(part: KubeObjectFieldValue) -> str:
    said, *again = _spelt(part, _TYPE, empty="")
    if said.value in (None, ""):
        said.refuse("is missing; expected a type such as gpu or rdma")
    kind = said.text()
    for other in again:
        if other.text() != kind:
            other.refuse(f"got {other.got}, and type says {said.got}; keep one of them")
    return kind


def _spelt(
    part: KubeObjectFieldValue, tags: tuple[str, ...], *, empty: object
) -> list[KubeObjectFieldValue]:
    """Return what stands under each of the tags; the first one if there is nothing under any."""
    found = [part.get(tag) for tag in tags]
    return [one for one in found if one.value not in (None, empty)] or found[:1]


def _place(part: KubeObjectFieldValue) -> int | None:
    """Return a socket or a NUMA node, or None for -1, which stands for an unknown one."""
    return None if part.value in (None, -1) else part.integer()


def _is_sick(part: KubeObjectFieldValue) -> bool:
    return any(
        item.get("type").text("") == "Healthy" and item.get("status").text("") == "False"
        for item in part.items()
    )


def _functions(part: KubeObjectFieldValue) -> tuple[VirtualFunction, ...]:
    found: dict[int, VirtualFunction] = {}
    for group in part.items():
        labels = tuple(sorted(group.get("labels").texts().items()))
        for item in group.get("vfs").items():
            minor = item.get("minor").integer(0)
            if minor in found:
                item.get("minor").refuse(
                    f"virtual function {minor} is there twice; each has a minor of its own"
                )
            found[minor] = VirtualFunction(minor, item.get("busID").text(""), labels)
    return tuple(found[minor] for minor in sorted(found))


def _capacity(
    kind: str, amounts: KubeResourceList, part: KubeObjectFieldValue
) -> tuple[DeviceQuantity, ...]:
    """Return the other quantities of a device that pods may take a part of."""
    found = []
    for name, amount in sorted(amounts.other.items()):
        if name == GPU_MEMORY or not amount:
            continue
        if name in _OF_WHOLE:
            if amount != 100:
                part.refuse(f"{name} is {amount}; a device has 100 of it")
        elif name != kind:
            found.append(DeviceQuantity(name, amount))
    return tuple(found)


def _partitions(whole: LocatedJsonValue) -> PartitionTable:
    found = set()
    for size, listed in whole.members().items():
        for item in listed.items():
            fields = item.fields(("minors",))
            minors = [minor.integer() for minor in item.need(fields, "minors").items()]
            if str(len(set(minors))) != size:
                fields["minors"].refuse(f"names {len(set(minors))} GPUs; expected {size}")
            found.add(tuple(sorted(minors)))
    return tuple(sorted(found, key=lambda minors: (len(minors), minors)))


def _checkpoints(whole: LocatedJsonValue) -> tuple[KubeletDevicesOfContainer, ...]:
    found = []
    for item in [] if whole.value is None else whole.items():
        names = ("podUID", "containerName", "resourceName")
        fields = item.fields((*names, "deviceIDs", "allocResp"))
        texts = {name: fields[name].text() for name in names if name in fields}
        ids = fields["deviceIDs"].items() if "deviceIDs" in fields else []
        found.append(
            KubeletDevicesOfContainer(
                texts.get("podUID", ""),
                texts.get("containerName", ""),
                texts.get("resourceName", ""),
                tuple(one.text() for one in ids),
                _response(fields["allocResp"]) if "allocResp" in fields else NO_RESPONSE,
            )
        )
    return tuple(found)


def _response(part: LocatedJsonValue) -> KubeletAllocateResponse:
    try:
        return read_allocate_response(BYTES.read(part.text(), ""))
    except KubeletCheckpointError:
        part.refuse(f"got {part.got}; expected bytes in base64, as the kubelet's checkpoint has it")
    except ValueError as error:
        part.refuse(f"{error}; expected it as the kubelet's checkpoint has it")


def _holders(part: KubeObjectFieldValue) -> list[KoordinatorDeviceHolder]:
    return [
        KoordinatorDeviceHolder(
            entry.get("namespace").text("default"),
            entry.get("name").text(""),
            item.get("type").text(""),
            tuple(minor.integer() for minor in entry.get("minors").items()),
        )
        for item in part.items()
        for entry in item.get("entries").items()
    ]
