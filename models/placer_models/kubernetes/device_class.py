"""DeviceClass: the devices that a name stands for, and how they are set up."""

from dataclasses import dataclass

from placer_models.kubernetes.object_fields import (
    KubeObjectFieldValue,
    KubeObjectIdentity,
    Object,
    read_object_identity_and_fields,
)

KIND = "DeviceClass"


@dataclass(frozen=True, slots=True)
class KubeDeviceClass:
    """The contents of a DeviceClass.

    Attributes:
        selectors: Expressions in CEL, all of which its devices meet.
        configs: Configurations for its drivers, each under the name of a kind such as ``opaque``.
        extended_resource: The name by which pods may ask for its devices as plain amounts.
        created: When it was created, as written; of two classes with one such name the newer
            counts.

    """

    identity: KubeObjectIdentity
    selectors: tuple[str, ...] = ()
    configs: tuple[Object, ...] = ()
    extended_resource: str = ""
    created: str = ""


def read_kube_device_class(found: Object) -> KubeDeviceClass:
    """Return the contents of a DeviceClass.

    Raises:
        KubernetesObjectError: Something is wrong with it.

    """
    identity, root = read_object_identity_and_fields(found, KIND, namespaced=False)
    spec = root.get("spec")
    return KubeDeviceClass(
        identity,
        cel_expressions_in(spec.get("selectors")),
        tuple(
            {name: value.value for name, value in item.members().items()}
            for item in spec.get("config").items()
        ),
        spec.get("extendedResourceName").text(""),
        root.get("metadata", "creationTimestamp").text(""),
    )


def cel_expressions_in(part: KubeObjectFieldValue) -> tuple[str, ...]:
    """Return the expressions of a list of selectors.

    Raises:
        KubernetesObjectError: A selector is not in CEL.

    """
    return tuple(item.get("cel", "expression").text() for item in part.items())
