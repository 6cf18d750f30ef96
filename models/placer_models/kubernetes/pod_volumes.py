"""Volumes of a pod that only some nodes reach: claims on storage, and disks by name."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from placer_models.kubernetes.object_fields import KubeObjectFieldValue


@dataclass(frozen=True, slots=True)
class KubePodVolumeClaim:
    """A claim on storage that a pod uses.

    Attributes:
        claim: Name of the PersistentVolumeClaim, in the pod's namespace.
        is_own: Whether the claim is made for this pod alone, of an ephemeral volume's template.

    """

    claim: str
    is_own: bool = False


@dataclass(frozen=True, slots=True, order=True)
class InlineDisk:
    """A disk that a pod names itself, without a claim.

    Attributes:
        names: What may be this disk: two disks with one of these names in common are the same.
        read_only: Whether the pod only reads it, beside others that only read it.

    """

    names: tuple[str, ...]
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class PodVolumes:
    """The volumes of a pod that only some nodes reach."""

    claims: tuple[KubePodVolumeClaim, ...] = ()
    disks: tuple[InlineDisk, ...] = ()


NO_VOLUMES = PodVolumes()


def pod_volumes(spec: KubeObjectFieldValue, name: str) -> PodVolumes:
    """Return the volumes of a pod.

    Args:
        spec: The pod's spec.
        name: The pod's name.

    Raises:
        KubernetesObjectError: Something is wrong with them.

    """
    volumes = spec.get("volumes").items()
    if not volumes:
        return NO_VOLUMES
    claims: list[KubePodVolumeClaim] = []
    for one in volumes:
        if (source := one.get("persistentVolumeClaim")).there:
            claims.append(KubePodVolumeClaim(source.get("claimName").text()))
        elif one.get("ephemeral").there:
            claims.append(KubePodVolumeClaim(f"{name}-{one.get('name').text()}", is_own=True))
    disks = chain.from_iterable(map(_disks, volumes))
    return PodVolumes(tuple(dict.fromkeys(claims)), tuple(dict.fromkeys(disks)))


def _disks(part: KubeObjectFieldValue) -> Iterator[InlineDisk]:
    """Yield the disk of a volume, if it is one that pods cannot share on a node."""
    for kind, key in (("gcePersistentDisk", "pdName"), ("iscsi", "iqn")):
        if (source := part.get(kind)).there:
            disk = f"{kind}/{source.get(key).text()}"
            yield InlineDisk((disk,), source.get("readOnly").flag())
    if (source := part.get("awsElasticBlockStore")).there:
        yield InlineDisk((f"awsElasticBlockStore/{source.get('volumeID').text()}",))
    if (source := part.get("rbd")).there:
        image = f"{source.get('pool').text('') or 'rbd'}/{source.get('image').text()}"
        names = sorted(f"rbd/{one.text()}/{image}" for one in source.get("monitors").items())
        yield InlineDisk(tuple(names), source.get("readOnly").flag())
