"""Requests that a pod makes by claims, beside those of its containers."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from placer_models.kubernetes.pod_spec import AskedPod
from placer_models.pod import Container, ContainerRole, DeviceRequest, JointAllocation, Resources
from placer_models.policy import DeviceScope, JointScope, Strength

OF_THE_CLAIMS = "resource-claims"
"""The container that stands for what a pod has by claims: it is there from start to end."""


@dataclass(frozen=True, slots=True)
class Claimed:
    """Devices by claims.

    Attributes:
        devices: Type -> how many whole ones.
        scopes: Types of which all are in one place.
        joint: Types that are side by side, and where; none of them: empty.

    """

    devices: Mapping[str, int] = field(default_factory=dict)
    scopes: Mapping[str, DeviceScope] = field(default_factory=dict)
    joint: tuple[str, ...] = ()
    joint_scope: JointScope = JointScope.SAME_PCIE


def with_claimed(asked: AskedPod, claimed: Claimed) -> AskedPod:
    """Return what a pod asks for, its claims included."""
    spec = asked.spec
    counts = sorted((kind, count) for kind, count in claimed.devices.items() if count)
    if not counts:
        return asked
    itself = Container(
        OF_THE_CLAIMS,
        Resources(devices=tuple(DeviceRequest(kind, count) for kind, count in counts)),
        ContainerRole.RESTARTABLE_INIT,
        0 if spec.constrained_burst else None,
    )
    joint = spec.joint
    if claimed.joint:
        joint = JointAllocation(claimed.joint, claimed.joint_scope, Strength.REQUIRED)
    found = replace(
        spec,
        containers=(itself, *spec.containers),
        scopes=tuple(sorted({**dict(spec.scopes), **claimed.scopes}.items())),
        joint=joint,
    )
    return replace(asked, spec=found)
