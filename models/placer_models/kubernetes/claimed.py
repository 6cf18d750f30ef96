"""Requests that a pod makes by claims, beside those of its containers."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from placer_models.kubernetes.chosen_devices import share_marking_device_set
from placer_models.kubernetes.pod_spec import ParsedPodSpec
from placer_models.pod import (
    Container,
    ContainerRole,
    DeviceRequest,
    JointDevicesRequest,
    Resources,
)
from placer_models.policy import (
    AlignmentPolicy,
    AlignmentScope,
    JointDevicesScope,
    RequiredOrPreferred,
    SameTypeDevicesScope,
)

OF_THE_CLAIMS = "resource-claims"
"""The name of the container that stands for what a pod has by claims, from its start to its end.

If CPUs have to be of one NUMA node, there are several such containers, numbered.
"""

_OF_CLAIMS = re.compile(rf"{OF_THE_CLAIMS}(-[0-9]+)?")


def is_container_name_for_claims(container: str) -> bool:
    """Return whether the container of this name stands for what its pod has by claims."""
    return _OF_CLAIMS.fullmatch(container) is not None


def claim_container_name(index: int) -> str:
    """Return the name of the container that stands for one part of the claims."""
    return f"{OF_THE_CLAIMS}-{index + 1}"


@dataclass(frozen=True, slots=True)
class SameNumaClaimedResources:
    """CPUs of one NUMA node, and devices beside them there."""

    cpus: int
    devices: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class PodResourcesByClaims:
    """What a pod has by claims.

    Attributes:
        devices: Type -> how many whole devices.
        scopes: Type -> the kind of place that all its devices have to share.
        joint: Types whose devices have to be side by side; may be empty.
        joint_scope: The kind of place that these devices have to share.
        numa_parts: All CPUs by claims and some of the devices, in parts that are each on one
            NUMA node; empty if the CPUs may be anywhere.
        chosen: (Type, mark) -> how many whole devices, of those with the mark; none of them is in
            ``devices``.

    """

    devices: Mapping[str, int] = field(default_factory=dict)
    scopes: Mapping[str, SameTypeDevicesScope] = field(default_factory=dict)
    joint: tuple[str, ...] = ()
    joint_scope: JointDevicesScope = JointDevicesScope.SAME_PCIE
    numa_parts: tuple[SameNumaClaimedResources, ...] = ()
    chosen: Mapping[tuple[str, str], int] = field(default_factory=dict)


def spec_with_claims(asked: ParsedPodSpec, claimed: PodResourcesByClaims) -> ParsedPodSpec:
    """Return what a pod asks for, including what its claims give it.

    If CPUs have to be of one NUMA node, each part of the claims is aligned by itself, and so is
    each container. The pod's own policy stays if it puts everything on one NUMA node.
    """
    spec = asked.spec
    parts = tuple(_parts(claimed))
    if not parts:
        return asked
    limit = 0 if spec.constrained_burst else None
    role = ContainerRole.RESTARTABLE_INIT
    itself = tuple(Container(name, amounts, role, limit) for name, amounts in parts)
    joint = spec.joint
    if claimed.joint:
        joint = JointDevicesRequest(
            claimed.joint, claimed.joint_scope, RequiredOrPreferred.REQUIRED
        )
    found = replace(
        spec,
        containers=(*itself, *spec.containers),
        scopes=tuple(sorted({**dict(spec.scopes), **claimed.scopes}.items())),
        joint=joint,
    )
    if claimed.numa_parts:
        # The CPUs that containers ask for are those of the claims.
        others = tuple(
            replace(one, requests=replace(one.requests, cpu_milli=0)) for one in spec.containers
        )
        found = replace(found, containers=(*itself, *others))
        if spec.alignment in (None, AlignmentPolicy.NONE):
            found = replace(
                found, alignment=AlignmentPolicy.SINGLE_NUMA_NODE, scope=AlignmentScope.CONTAINER
            )
    return replace(asked, spec=found)


def _parts(claimed: PodResourcesByClaims) -> Iterator[tuple[str, Resources]]:
    """Yield the name and amounts of each container that stands for claimed resources.

    If some parts are each on one NUMA node, each other device is a part of its own, anywhere.
    """
    left = Counter(claimed.devices)
    for i, part in enumerate(claimed.numa_parts):
        left.subtract(part.devices)
        yield claim_container_name(i), Resources(1000 * part.cpus, devices=_requests(part.devices))
    if not claimed.numa_parts:
        marked = [
            DeviceRequest(kind, count, share_marking_device_set(kind, mark))
            for (kind, mark), count in sorted(claimed.chosen.items())
        ]
        if devices := sorted((*_requests(left), *marked), key=lambda one: one.type):
            yield OF_THE_CLAIMS, Resources(devices=tuple(devices))
        return
    for i, kind in enumerate(sorted(left.elements()), len(claimed.numa_parts)):
        yield claim_container_name(i), Resources(devices=(DeviceRequest(kind, 1),))


def _requests(devices: Mapping[str, int]) -> tuple[DeviceRequest, ...]:
    return tuple(DeviceRequest(kind, count) for kind, count in sorted(devices.items()) if count)
