"""ResourceSlice: devices that a driver publishes, slice by slice of a pool."""

from dataclasses import dataclass, replace

from placer_models.kubernetes.device_attributes import (
    AttributeScalar,
    AttributeValue,
    ResourceSliceDevice,
    parse_semantic_version,
)
from placer_models.kubernetes.node_access import (
    DeviceAccessNodeSelector,
    nodes_with_access_to_slice,
)
from placer_models.kubernetes.object_fields import (
    KubeObjectFieldValue,
    KubeObjectIdentity,
    Object,
    read_object_identity_and_fields,
)
from placer_models.kubernetes.resources import milli_rounding_up

KIND = "ResourceSlice"

KEEPS_OFF = ("NoSchedule", "NoExecute")
"""Effects of a taint that keep a device from claims that do not tolerate it."""

_BEYOND = {
    "consumesCounters": "consumes shared counters",
    "bindingConditions": "has binding conditions",
    "bindsToNode": "binds to a node",
    "nodeAllocatableResources": "stands for allocatable resources of its node",
    "nodeAllocatableResourceMappings": "stands for allocatable resources of its node",
}
"""Field of a device -> the property that Placer cannot express."""

MULTIPLE = "is given to several claims at once"

_LISTS = {"bools": "bool", "ints": "int", "strings": "string", "versions": "version"}


@dataclass(frozen=True, slots=True)
class KubeResourceSlice:
    """The contents of a ResourceSlice.

    Attributes:
        slices: The number of slices that the pool has in this generation.
        devices: The devices, each with the nodes that can use it.
        counters: Its shared counters, by name.

    """

    identity: KubeObjectIdentity
    driver: str
    pool: str
    generation: int
    slices: int
    devices: tuple[tuple[ResourceSliceDevice, DeviceAccessNodeSelector], ...] = ()
    counters: tuple[str, ...] = ()


def read_kube_resource_slice(found: Object) -> KubeResourceSlice:
    """Return the contents of a ResourceSlice.

    Raises:
        KubernetesObjectError: Something is wrong with it.

    """
    identity, root = read_object_identity_and_fields(found, KIND, namespaced=False)
    spec = root.get("spec")
    driver, pool = spec.get("driver").text(), spec.get("pool")
    access = nodes_with_access_to_slice(spec)
    each = spec.get("perDeviceNodeSelection").flag()
    counters = tuple(item.get("name").text() for item in spec.get("sharedCounters").items())
    items = spec.get("devices").items()
    if access is None and not each and items:
        spec.get("nodeName").refuse(
            "is missing; a slice names its node, or has nodeSelector, allNodes or "
            "perDeviceNodeSelection"
        )
    devices: dict[str, tuple[ResourceSliceDevice, DeviceAccessNodeSelector]] = {}
    for item in items:
        device, own = _device(item, driver)
        if device.name in devices:
            item.get("name").refuse(
                f"'{device.name}' is there twice; each device of a pool has a name of its own"
            )
        where = own if each else access
        if where is None:
            item.get("nodeName").refuse("is missing; the slice has perDeviceNodeSelection")
        devices[device.name] = device, where
    return KubeResourceSlice(
        identity=identity,
        driver=driver,
        pool=pool.get("name").text(),
        generation=_whole(pool.get("generation")),
        slices=pool.get("resourceSliceCount").integer(least=1),
        devices=tuple(devices.values()),
        counters=counters,
    )


def _device(
    part: KubeObjectFieldValue, driver: str
) -> tuple[ResourceSliceDevice, DeviceAccessNodeSelector | None]:
    name = part.get("name").text()
    # In v1beta1 all other fields of a device stand one step below.
    body = part.get("basic") if part.get("basic").there else part
    device = ResourceSliceDevice(
        driver,
        name,
        {
            _full(key, driver): _attribute(one)
            for key, one in body.get("attributes").members().items()
        },
        {
            _full(key, driver): one.get("value").amount(milli_rounding_up)
            for key, one in body.get("capacity").members().items()
        },
        taints=tuple(
            f"{taint.get('key').text()}={taint.get('value').text('')}:{taint.get('effect').text()}"
            for taint in body.get("taints").items()
            if taint.get("effect").text() in KEEPS_OFF
        ),
    )
    lacks = [what for field, what in _BEYOND.items() if body.get(field).value]
    if any(one.get("requestPolicy").there for one in body.get("capacity").members().values()):
        lacks.append("has a policy for requests of its capacity")
    lacks += [MULTIPLE] if body.get("allowMultipleAllocations").flag() else []
    return replace(device, lacks=tuple(dict.fromkeys(lacks))), nodes_with_access_to_slice(body)


def _full(name: str, driver: str) -> str:
    """Return a name with its domain, which is that of the driver if the name has none."""
    return name if "/" in name else f"{driver}/{name}"


def _attribute(part: KubeObjectFieldValue) -> AttributeValue:
    said = part.members()
    if len(said) != 1:
        part.refuse(
            f"says {len(said)} values; expected one of int, bool, string, version, or a list"
        )
    ((kind, value),) = said.items()
    if kind in _LISTS:
        return tuple(_scalar(_LISTS[kind], item) for item in value.items())
    return _scalar(kind, value)


def _scalar(kind: str, part: KubeObjectFieldValue) -> AttributeScalar:
    match kind:
        case "bool":
            return part.flag()
        case "int":
            return _whole(part)
        case "string":
            return part.text()
        case "version":
            return part.checked(parse_semantic_version, part.text())
        case _:
            return part.refuse("expected int, bool, string, version, or a list of them")


def _whole(part: KubeObjectFieldValue) -> int:
    """Return a whole number of 64 bits."""
    value = part.value
    if isinstance(value, bool) or not isinstance(value, int) or not -(2**63) <= value < 2**63:
        part.refuse(f"got {part.got}; expected a whole number of 64 bits")
    return value
