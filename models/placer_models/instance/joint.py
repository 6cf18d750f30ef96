"""Devices side by side, as files say it (D9)."""

from collections.abc import Collection

from placer_models.files.errors import in_quotes
from placer_models.files.faults import DocumentLocation
from placer_models.files.part import Json
from placer_models.instance.requests import device_type_of
from placer_models.instance.wish_schema import JointPart
from placer_models.pod import JointAllocation
from placer_models.policy import JointScope, Strength


def read_joint(
    part: JointPart | None, asked: Collection[str], place: DocumentLocation
) -> JointAllocation | None:
    """Return the wish, or None if there is none or it is faulty.

    Args:
        part: The wish as it is written.
        asked: Device types that the pod asks for.
        place: Where it is written.

    """
    if part is None:
        return None
    types = tuple(device_type_of(kind) for kind in part.device_types)
    for i, kind in enumerate(types):
        if kind in types[:i]:
            place.at("deviceTypes", i).fault(
                f"{in_quotes(kind)} is named twice; name it once", illegal=True
            )
            return None
        if kind not in asked:
            place.at("deviceTypes", i).fault(
                f"the pod asks for no {in_quotes(kind)}; ask for one or more in requests",
                illegal=True,
            )
            return None
    if part.required_scope:
        return JointAllocation(types, part.required_scope, Strength.REQUIRED)
    return JointAllocation(types, part.preferred_scope or JointScope.SAME_PCIE)


def joint_to_dict(joint: JointAllocation | None) -> Json | None:
    """Return the wish as files write it, or None if there is none."""
    if joint is None:
        return None
    required = joint.strength is Strength.REQUIRED
    return {
        "deviceTypes": list(joint.types),
        "requiredScope" if required else "preferredScope": joint.scope.value,
    }
