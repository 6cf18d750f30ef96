"""Bindings, which give pods their nodes: all placed members of a gang, or none (G1)."""

from collections.abc import Iterator

from placer.kubernetes.emit.annotations import Annotations, annotations_by_pod, metadata_of
from placer.kubernetes.emit.placed_pods import ObjectFile, PlacedDump
from placer_models.kubernetes.object_fields import Object, ObjectIdentity


def binding(identity: ObjectIdentity, node: str, annotations: Annotations) -> Object:
    """Return a Binding of a pod, for ``POST pods/NAME/binding``.

    The cluster writes its annotations on the pod together with the node. It refuses the Binding
    if the uid differs or the pod has a node. There is no resourceVersion in it, because waiting
    pods change with each attempt of a scheduler.
    """
    return {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": metadata_of(identity, annotations, with_version=False),
        "target": {"apiVersion": "v1", "kind": "Node", "name": node},
    }


def bindings(dump: PlacedDump) -> Iterator[ObjectFile]:
    """Yield a Binding for each pod, in one folder with those of all pods bound together with it."""
    for one, written in annotations_by_pod(dump):
        identity = one.part.identity
        namespace, together = one.together[0]
        path = f"bindings/{namespace}.{together}/{identity.namespace}/{identity.name}.json"
        yield ObjectFile(path, (binding(identity, one.node.name, written),))
