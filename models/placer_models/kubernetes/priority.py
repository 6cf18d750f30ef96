"""PriorityClass: the value that the name of a priority stands for."""

from dataclasses import dataclass

from placer_models.kubernetes.object_fields import (
    KubeObjectIdentity,
    Object,
    read_object_identity_and_fields,
)

SYSTEM_PRIORITIES = {
    "system-cluster-critical": 2_000_000_000,
    "system-node-critical": 2_000_001_000,
}
"""The priority classes that every cluster has, with their values."""


@dataclass(frozen=True, slots=True)
class KubePriorityClass:
    """The contents of a PriorityClass.

    Attributes:
        is_default: Whether pods that name no class are of this one.

    """

    identity: KubeObjectIdentity
    value: int
    is_default: bool = False


def read_kube_priority_class(found: Object) -> KubePriorityClass:
    """Return the contents of a PriorityClass.

    Raises:
        KubernetesObjectError: Something is wrong with it.

    """
    identity, root = read_object_identity_and_fields(found, "PriorityClass", namespaced=False)
    return KubePriorityClass(
        identity,
        root.get("value").integer(least=-(2**31)),
        root.get("globalDefault").flag(),
    )
