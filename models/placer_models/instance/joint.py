"""Devices side by side, as files say it (D9)."""

from collections.abc import Collection

from placer_models.files.faults import DocumentLocation
from placer_models.files.part import Json
from placer_models.instance.requests import device_type_of_written_name
from placer_models.instance.wish_schema import JointDevicesPart
from placer_models.message_text import in_quotes
from placer_models.pod import JointDevicesRequest
from placer_models.policy import JointDevicesScope, RequiredOrPreferred


def read_joint_allocation(
    part: JointDevicesPart | None, asked: Collection[str], place: DocumentLocation
) -> JointDevicesRequest | None:
    """Return the wish, or None if there is none or it is faulty.

    Args:
        part: The wish as it is written.
        asked: Device types that the pod asks for.
        place: Where it is written.

    """
    if part is None:
        return None
    types = tuple(device_type_of_written_name(kind) for kind in part.device_types)
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
        return JointDevicesRequest(types, part.required_scope, RequiredOrPreferred.REQUIRED)
    return JointDevicesRequest(types, part.preferred_scope or JointDevicesScope.SAME_PCIE)


def joint_allocation_to_dict(joint: JointDevicesRequest | None) -> Json | None:
    """Return the wish as files write it, or None if there is none."""
    if joint is None:
        return None
    required = joint.strength is RequiredOrPreferred.REQUIRED
    return {
        "deviceTypes": list(joint.types),
        "requiredScope" if required else "preferredScope": joint.scope.value,
    }
