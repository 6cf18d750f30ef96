"""Annotations that Koordinator's scheduler writes on a pod that it places (C14, D11, G1)."""

from collections import Counter
from collections.abc import Iterator, Mapping

from placer.kubernetes.emit.placed_pods import DumpWithPlacement, EmittedFile, EmittedPod
from placer_models.annotations.device_allocated import (
    device_allocations_of_placement,
    write_device_allocated_annotation,
)
from placer_models.annotations.names import DEVICE_ALLOCATED, MEMORY_STATUS, RESOURCE_STATUS
from placer_models.annotations.resource_status import (
    ResourceStatusAnnotation,
    pod_memory_not_in_status,
    resource_status_of_placement,
    write_resource_status_annotation,
)
from placer_models.cluster import Node
from placer_models.kubernetes.claimed import is_container_name_for_claims
from placer_models.kubernetes.device import KubeKoordinatorDevice
from placer_models.kubernetes.names import BIND_GANG_GROUP, BIND_GANG_MEMBERS
from placer_models.kubernetes.object_fields import KubeObjectIdentity, Object
from placer_models.kubernetes.pod import KubePod
from placer_models.placement import PodPlacement
from placer_models.pod import PodSpec

Annotations = Mapping[str, str]


def placement_annotations(
    place: PodPlacement,
    spec: PodSpec,
    node: Node,
    *,
    part: KubePod | None = None,
    devices: KubeKoordinatorDevice | None = None,
) -> dict[str, str]:
    """Return a pod's annotations about its place, without those about its gang.

    They name devices whose type the node's Device object lists. All others are given out by the
    kubelet, which asks nobody, or named by ResourceClaims. An annotation of Placer's own tells
    where memory is counted if ``resource-status`` may not name it.

    Args:
        place: Where the pod goes.
        spec: What it asks for.
        node: The node of the place.
        part: The pod as it is; annotations about another place are overwritten.
        devices: The Device object of the node.

    Raises:
        ValueError: The placement is not on this node, or has what the node lacks.

    """
    found = {}
    status = resource_status_of_placement(place, spec, node)
    if status != ResourceStatusAnnotation() or (part is not None and part.status is not None):
        found[RESOURCE_STATUS] = write_resource_status_annotation(status)
    several = len(node.machine.topology.numa_nodes) > 1
    beyond = pod_memory_not_in_status(place, status) if several else ResourceStatusAnnotation()
    if beyond != ResourceStatusAnnotation() or (
        part is not None and part.memory_status is not None
    ):
        found[MEMORY_STATUS] = write_resource_status_annotation(beyond)
    listed = {device.type for device in devices.devices} if devices else set()
    claimed = {
        (grant.type, grant.minor)
        for container in place.containers
        if is_container_name_for_claims(container.name)
        for grant in container.devices
    }
    held = [
        one
        for one in device_allocations_of_placement(place, node)
        if one.type in listed and (one.type, one.minor) not in claimed
    ]
    if held or (part is not None and part.allocated is not None):
        found[DEVICE_ALLOCATED] = write_device_allocated_annotation(held)
    return found


def gang_annotations(
    part: KubePod, groups: tuple[tuple[str, str], ...], members: int
) -> dict[str, str]:
    """Return a pod's annotations about the pods that are bound with it.

    Args:
        part: The pod.
        groups: Namespaces and names of the gangs that its PodGroup groups together.
        members: How many pods of these gangs are placed together.

    """
    if part.gang is None or part.gang.is_kubernetes or members < 2:
        return {}
    keys = part.gang.groups or groups or (part.gang.key,)
    names = sorted(f"{namespace}/{name}" for namespace, name in keys)
    return {BIND_GANG_GROUP: ",".join(names), BIND_GANG_MEMBERS: str(members)}


def annotations_by_pod(dump: DumpWithPlacement) -> Iterator[tuple[EmittedPod, Annotations]]:
    """Yield each placed pod with all annotations that Placer writes on it."""
    members = Counter(one.together for one in dump.pods)
    for one in dump.pods:
        written = placement_annotations(
            one.place, one.pod.spec, one.node, part=one.part, devices=one.devices
        )
        ref = one.part.gang
        group = dump.objects.groups.get((ref.is_kubernetes, *ref.key)) if ref else None
        gang = gang_annotations(one.part, group.groups if group else (), members[one.together])
        yield one, {**written, **gang}


def identifying_metadata(
    identity: KubeObjectIdentity, annotations: Annotations, *, with_version: bool = True
) -> Object:
    """Return metadata that identify an object, with annotations and the version that was read."""
    known = {
        "name": identity.name,
        "namespace": identity.namespace,
        "uid": identity.uid,
        "resourceVersion": identity.resource_version if with_version else "",
    }
    metadata: dict[str, object] = {key: value for key, value in known.items() if value}
    return {**metadata, "annotations": dict(annotations)} if annotations else metadata


def identified_object(
    identity: KubeObjectIdentity, annotations: Annotations, *, with_version: bool = True
) -> dict[str, object]:
    """Return an object of API version v1 with what identifies it, annotations and nothing else."""
    metadata = identifying_metadata(identity, annotations, with_version=with_version)
    return {"apiVersion": "v1", "kind": identity.kind, "metadata": metadata}


def annotated_pod(identity: KubeObjectIdentity, annotations: Annotations) -> Object:
    """Return a Pod with annotations and nothing else.

    It works as a merge patch and for ``kubectl apply --server-side``. It has the uid and
    the resourceVersion, so the cluster refuses it if the pod has changed meanwhile.
    """
    return identified_object(identity, annotations)


def annotation_file(dump: DumpWithPlacement) -> Iterator[EmittedFile]:
    """Yield one file with the annotations of all pods that get any."""
    pods = tuple(
        annotated_pod(one.part.identity, written)
        for one, written in annotations_by_pod(dump)
        if written
    )
    if pods:
        yield EmittedFile("annotations.yaml", pods)


def annotation_patches(dump: DumpWithPlacement) -> Iterator[EmittedFile]:
    """Yield a merge patch for each pod that gets annotations."""
    for one, written in annotations_by_pod(dump):
        if written:
            identity = one.part.identity
            path = f"patches/{identity.namespace}/{identity.name}.yaml"
            yield EmittedFile(path, (annotated_pod(identity, written),))
