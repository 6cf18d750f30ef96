"""PriorityClass: the value that the name of a priority stands for."""

from dataclasses import dataclass

from placer_models.kubernetes.object_fields import Object, ObjectIdentity, read_identity_and_root

SYSTEM_PRIORITIES = {
    "system-cluster-critical": 2_000_000_000,
    "system-node-critical": 2_000_001_000,
}
"""The priority classes that every cluster has, with their values."""


@dataclass(frozen=True, slots=True)
class PriorityClassPart:
    """The contents of a PriorityClass.

    Attributes:
        is_default: Whether pods that name no class are of this one.

    """

    identity: ObjectIdentity
    value: int
    is_default: bool = False


def priority_class_part(found: Object) -> PriorityClassPart:
    """Return the contents of a PriorityClass.

    Raises:
        ObjectError: Something is wrong with it.

    """
    identity, root = read_identity_and_root(found, "PriorityClass", namespaced=False)
    return PriorityClassPart(
        identity,
        root.get("value").integer(least=-(2**31)),
        root.get("globalDefault").flag(),
    )
