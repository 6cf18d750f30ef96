"""DeviceClass: the devices that a name stands for, and how they are set up."""

from dataclasses import dataclass

from placer_models.kubernetes.object_fields import (
    Object,
    ObjectFieldValue,
    ObjectIdentity,
    read_identity_and_root,
)

KIND = "DeviceClass"


@dataclass(frozen=True, slots=True)
class DeviceClassPart:
    """The contents of a DeviceClass.

    Attributes:
        selectors: Expressions in CEL, all of which its devices meet.
        configs: Configurations for its drivers, each under the name of a kind such as ``opaque``.
        extended_resource: The name by which pods may ask for its devices as plain amounts.
        created: When it was created, as written; of two classes with one such name the newer
            counts.

    """

    identity: ObjectIdentity
    selectors: tuple[str, ...] = ()
    configs: tuple[Object, ...] = ()
    extended_resource: str = ""
    created: str = ""


def device_class_part(found: Object) -> DeviceClassPart:
    """Return the contents of a DeviceClass.

    Raises:
        ObjectError: Something is wrong with it.

    """
    identity, root = read_identity_and_root(found, KIND, namespaced=False)
    spec = root.get("spec")
    return DeviceClassPart(
        identity,
        cel_expressions_in(spec.get("selectors")),
        tuple(
            {name: value.value for name, value in item.members().items()}
            for item in spec.get("config").items()
        ),
        spec.get("extendedResourceName").text(""),
        root.get("metadata", "creationTimestamp").text(""),
    )


def cel_expressions_in(part: ObjectFieldValue) -> tuple[str, ...]:
    """Return the expressions of a list of selectors.

    Raises:
        ObjectError: A selector is not in CEL.

    """
    return tuple(item.get("cel", "expression").text() for item in part.items())
