"""Objects for a cluster's API: Bindings of all placed members of a gang (G1), Evictions, Pods."""

from collections.abc import Iterator, Mapping
from typing import cast

from placer.kubernetes.emit.annotations import Annotations, annotations_by_pod, identifying_metadata
from placer.kubernetes.emit.placed_pods import DumpWithPlacement, EmittedFile
from placer_models.kubernetes.object_fields import KubeObjectIdentity, Object


def binding_object(identity: KubeObjectIdentity, node: str, annotations: Annotations) -> Object:
    """Return a Binding of a pod, for ``POST pods/NAME/binding``.

    The cluster writes its annotations on the pod together with the node. It refuses the Binding
    if the uid differs or the pod has a node. There is no resourceVersion in it, because waiting
    pods change with each attempt of a scheduler.
    """
    return {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": identifying_metadata(identity, annotations, with_version=False),
        "target": {"apiVersion": "v1", "kind": "Node", "name": node},
    }


def binding_object_files(dump: DumpWithPlacement) -> Iterator[EmittedFile]:
    """Yield a Binding for each pod, in one folder with those of all pods bound together with it."""
    for one, written in annotations_by_pod(dump):
        identity = one.part.identity
        namespace, together = one.together[0]
        path = f"bindings/{namespace}.{together}/{identity.namespace}/{identity.name}.json"
        yield EmittedFile(path, (binding_object(identity, one.node.name, written),))


def eviction_object(identity: KubeObjectIdentity) -> Object:
    """Return an Eviction of a pod, for ``POST pods/NAME/eviction``.

    The cluster holds it to the pod's disruption budgets, and refuses it if the uid differs.
    """
    metadata = {"name": identity.name, "namespace": identity.namespace}
    found: dict[str, object] = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata}
    if identity.uid:
        found["deleteOptions"] = {"preconditions": {"uid": identity.uid}}
    return found


def eviction_object_files(dump: DumpWithPlacement) -> Iterator[EmittedFile]:
    """Yield an Eviction for each pod that moves; names of files ascend in the order of moves."""
    digits = len(str(len(dump.leaving)))
    for number, identity in enumerate(dump.leaving, 1):
        name = f"{number:0{digits}}.{identity.namespace}.{identity.name}"
        yield EmittedFile(f"evictions/{name}.json", (eviction_object(identity),))


_OF_THE_CLUSTER = (
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
)
"""Metadata that a cluster adds to its objects; a new object has none of it."""


def placed_pod_object(pod: Object, node: str, annotations: Annotations) -> Object:
    """Return a Pod with its node and annotations, and without what a cluster has added."""
    metadata = dict(cast("Mapping[str, object]", pod["metadata"]))
    for name in _OF_THE_CLUSTER:
        metadata.pop(name, None)
    known = cast("Mapping[str, str]", metadata.get("annotations") or {})
    if known or annotations:
        metadata["annotations"] = {**known, **annotations}
    spec = {**cast("Mapping[str, object]", pod["spec"]), "nodeName": node}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def file_of_placed_pods(dump: DumpWithPlacement) -> Iterator[EmittedFile]:
    """Yield one file with all pods that are placed."""
    whole = tuple(
        placed_pod_object(dump.objects.whole[one.part.identity.key], one.node.name, written)
        for one, written in annotations_by_pod(dump)
    )
    if whole:
        yield EmittedFile("pods.yaml", whole)
