"""Whole Pods with their nodes, to be created anew."""

from collections.abc import Iterator, Mapping
from typing import cast

from placer.kubernetes.emit.annotations import Annotations, annotations_by_pod
from placer.kubernetes.emit.placed_pods import ObjectFile, PlacedDump
from placer_models.kubernetes.object_fields import Object

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


def placed_pod(pod: Object, node: str, annotations: Annotations) -> Object:
    """Return a Pod with its node and annotations, and without what a cluster has added."""
    metadata = dict(cast("Mapping[str, object]", pod["metadata"]))
    for name in _OF_THE_CLUSTER:
        metadata.pop(name, None)
    known = cast("Mapping[str, str]", metadata.get("annotations") or {})
    if known or annotations:
        metadata["annotations"] = {**known, **annotations}
    spec = {**cast("Mapping[str, object]", pod["spec"]), "nodeName": node}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def file_of_placed_pods(dump: PlacedDump) -> Iterator[ObjectFile]:
    """Yield one file with all pods that are placed."""
    whole = tuple(
        placed_pod(dump.objects.whole[one.part.identity.key], one.node.name, written)
        for one, written in annotations_by_pod(dump)
    )
    if whole:
        yield ObjectFile("pods.yaml", whole)
