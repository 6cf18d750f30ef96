"""ResourceClaim and ResourceClaimTemplate: devices asked for, and devices given."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from placer_models.kubernetes.device_class import cel_expressions_in
from placer_models.kubernetes.node_access import DeviceAccessNodeSelector, node_access_of_selector
from placer_models.kubernetes.object_fields import (
    KubeObjectFieldValue,
    KubeObjectIdentity,
    Object,
    read_object_identity_and_fields,
)
from placer_models.kubernetes.resources import milli_rounding_up

KIND = "ResourceClaim"
TEMPLATE_KIND = "ResourceClaimTemplate"

MOST_DEVICES = 32
"""The most devices that an allocation names."""

MOST_CONSUMERS = 256
"""The most pods that a claim is reserved for."""


@dataclass(frozen=True, slots=True)
class ClaimDeviceRequest:
    """A request for devices of one class.

    Attributes:
        name: Its name in allocations: ``gpu``, or ``gpu/large`` for one of several alternatives.
        count: How many devices, or None for all that there are.
        capacity_milli: Capacity asked of each device, in thousandths.
        lacks: Its demands that Placer cannot express.

    """

    name: str
    device_class: str
    selectors: tuple[str, ...] = ()
    count: int | None = 1
    capacity_milli: Mapping[str, int] = field(default_factory=dict)
    lacks: tuple[str, ...] = ()


def is_request_meant(request: str, names: Collection[str]) -> bool:
    """Return whether these names of requests mean a request; none of them mean all requests.

    The name of a request means each of its alternatives.
    """
    return not names or not {request, request.partition("/")[0]}.isdisjoint(names)


@dataclass(frozen=True, slots=True)
class SameAttributeConstraint:
    """A demand that devices have the same value of an attribute.

    Attributes:
        requests: Names of requests; empty means all requests of the claim.

    """

    attribute: str
    requests: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KubeResourceClaimSpec:
    """What a claim asks for.

    Attributes:
        requests: For each request its alternatives, the best first; most requests have only one.
        configs: Configurations for drivers, each with the names of its requests.

    """

    requests: tuple[tuple[ClaimDeviceRequest, ...], ...]
    constraints: tuple[SameAttributeConstraint, ...] = ()
    configs: tuple[tuple[tuple[str, ...], Object], ...] = ()
    lacks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ClaimAllocatedDevice:
    """A device that a claim was given.

    Attributes:
        capacity_milli: The capacity taken of it, if several claims share it.

    """

    request: str
    driver: str
    pool: str
    device: str
    capacity_milli: Mapping[str, int] = field(default_factory=dict)

    @property
    def key(self) -> tuple[str, str, str]:
        """Driver, pool, device."""
        return self.driver, self.pool, self.device


@dataclass(frozen=True, slots=True)
class ClaimAllocation:
    """What a claim was given.

    Attributes:
        access: The nodes that can use the devices.
        configs: Configurations that drivers were given.

    """

    devices: tuple[ClaimAllocatedDevice, ...]
    access: DeviceAccessNodeSelector
    configs: tuple[Object, ...] = ()


@dataclass(frozen=True, slots=True)
class ClaimedExtendedResource:
    """An extended resource that a container of a pod gets by a request of a claim."""

    container: str
    resource: str
    request: str


@dataclass(frozen=True, slots=True)
class KubeResourceClaim:
    """The contents of a ResourceClaim.

    Attributes:
        made_for: Of a claim that Placer makes for a pod: what the pod gets by it. Unless it was
            made earlier, it has no uid.
        allocation: The devices that it was given, or None if there are none yet.
        reserved_for: The consumers that may use it, as they are written.

    """

    identity: KubeObjectIdentity
    spec: KubeResourceClaimSpec
    allocation: ClaimAllocation | None = None
    reserved_for: tuple[Object, ...] = ()
    finalizers: tuple[str, ...] = ()
    made_for: tuple[ClaimedExtendedResource, ...] = ()

    @property
    def devices(self) -> tuple[ClaimAllocatedDevice, ...]:
        """The devices that it was given; none if there are none yet."""
        return self.allocation.devices if self.allocation else ()


@dataclass(frozen=True, slots=True)
class KubeResourceClaimTemplate:
    """The contents of a ResourceClaimTemplate, from which one claim per pod is made."""

    identity: KubeObjectIdentity
    spec: KubeResourceClaimSpec


def read_kube_resource_claim(found: Object) -> KubeResourceClaim:
    """Return the contents of a ResourceClaim.

    Raises:
        KubernetesObjectError: Something is wrong with it.

    """
    identity, root = read_object_identity_and_fields(found, KIND, namespaced=True)
    status = root.get("status")
    allocation = status.get("allocation")
    return KubeResourceClaim(
        identity,
        _spec(root.get("spec")),
        _allocation(allocation) if allocation.there else None,
        tuple(_raw(item) for item in status.get("reservedFor").items()),
        tuple(item.text() for item in root.get("metadata", "finalizers").items()),
    )


def read_kube_claim_template(found: Object) -> KubeResourceClaimTemplate:
    """Return the contents of a ResourceClaimTemplate.

    Raises:
        KubernetesObjectError: Something is wrong with it.

    """
    identity, root = read_object_identity_and_fields(found, TEMPLATE_KIND, namespaced=True)
    return KubeResourceClaimTemplate(identity, _spec(root.get("spec", "spec")))


def _spec(part: KubeObjectFieldValue) -> KubeResourceClaimSpec:
    devices = part.get("devices")
    requests: dict[str, tuple[ClaimDeviceRequest, ...]] = {}
    for item in devices.get("requests").items():
        name = item.get("name").text()
        if name in requests:
            item.get("name").refuse(f"'{name}' is there twice; each request has its own name")
        requests[name] = _alternatives(item, name)
    constraints = []
    lacks = []
    for item in devices.get("constraints").items():
        names = tuple(one.text() for one in item.get("requests").items())
        attribute = item.get("matchAttribute").text("")
        if unknown := [one for one in names if one.partition("/")[0] not in requests]:
            item.get("requests").refuse(
                f"names '{unknown[0]}'; the claim has {', '.join(requests) or 'no request'}"
            )
        if attribute:
            constraints.append(SameAttributeConstraint(attribute, names))
        else:
            kinds = sorted(item.members().keys() - {"requests"})
            lacks.append(f"constraint {', '.join(kinds) or 'of no kind'}")
    return KubeResourceClaimSpec(
        tuple(requests.values()),
        tuple(constraints),
        tuple(
            (
                tuple(one.text() for one in item.get("requests").items()),
                {key: one.value for key, one in item.members().items() if key != "requests"},
            )
            for item in devices.get("config").items()
        ),
        tuple(lacks),
    )


def _alternatives(part: KubeObjectFieldValue, name: str) -> tuple[ClaimDeviceRequest, ...]:
    choices = part.get("firstAvailable").items()
    if choices:
        return tuple(_request(one, f"{name}/{one.get('name').text()}") for one in choices)
    # In v1beta1 these fields stand one step above.
    exactly = part.get("exactly")
    return (_request(exactly if exactly.there else part, name),)


def _request(part: KubeObjectFieldValue, name: str) -> ClaimDeviceRequest:
    mode = part.get("allocationMode").text("") or "ExactCount"
    if mode not in ("ExactCount", "All"):
        part.get("allocationMode").refuse(f"got '{mode}'; expected ExactCount or All")
    lacks = ["access for admins"] if part.get("adminAccess").flag() else []
    lacks += ["tolerations of device taints"] if part.get("tolerations").items() else []
    return ClaimDeviceRequest(
        name,
        part.get("deviceClassName").text(),
        cel_expressions_in(part.get("selectors")),
        None if mode == "All" else part.get("count").integer(1, least=1),
        _amounts(part.get("capacity", "requests")),
        tuple(lacks),
    )


def _allocation(part: KubeObjectFieldValue) -> ClaimAllocation:
    devices = part.get("devices")
    selector = part.get("nodeSelector")
    return ClaimAllocation(
        tuple(
            ClaimAllocatedDevice(
                item.get("request").text(),
                item.get("driver").text(),
                item.get("pool").text(),
                item.get("device").text(),
                _amounts(item.get("consumedCapacity")),
            )
            for item in devices.get("results").items()
        ),
        node_access_of_selector(selector)
        if selector.there
        else DeviceAccessNodeSelector(everywhere=True),
        tuple(_raw(item) for item in devices.get("config").items()),
    )


def _amounts(part: KubeObjectFieldValue) -> dict[str, int]:
    return {name: one.amount(milli_rounding_up) for name, one in part.members().items()}


def _raw(part: KubeObjectFieldValue) -> Object:
    return {name: one.value for name, one in part.members().items()}
