"""Salvage: what still holds of an object that cannot be read, so that it loosens nothing."""

from collections.abc import Mapping
from dataclasses import replace

from placer_models.annotations.names import DEVICE_ALLOCATED, MEMORY_STATUS, RESOURCE_STATUS
from placer_models.kubernetes.node import KubeNode, node_part
from placer_models.kubernetes.object_fields import Object, ObjectError, identity_of
from placer_models.kubernetes.pod import KubePod, pod_part
from placer_models.left_out import LeftOut
from placer_models.reasons import NotAsked

_HELD = (DEVICE_ALLOCATED, MEMORY_STATUS, RESOURCE_STATUS)
"""Annotations that say what a bound pod holds, and nothing of what it wants."""


def bare_node(found: Object) -> KubeNode:
    """Return a node with its name, labels and taints alone, which offers nothing.

    The labels say in which domains it is, so that pods there still keep others away; the taints,
    whether topology spread counts it.

    Raises:
        ObjectError: Not even these can be read.

    """
    known = _mapping(found.get("metadata"))
    metadata = {key: known[key] for key in ("name", "labels") if key in known}
    spec = _mapping(found.get("spec"))
    taints = {key: spec[key] for key in ("taints", "unschedulable") if key in spec}
    return node_part({"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": taints})


def without_amounts(node: KubeNode) -> KubeNode:
    """Return a node as `bare_node` does, as objects about it contradict each other."""
    identity = node.identity
    metadata = {"name": identity.name, "labels": dict(identity.labels)}
    return replace(bare_node({"metadata": metadata}), taints=node.taints)


def name_of_node(found: Object) -> str:
    """Return the name of an object that has the name of its node; empty if it has none."""
    name = _mapping(found.get("metadata")).get("name")
    return name if isinstance(name, str) else ""


def stripped_pod(found: Object) -> KubePod:
    """Return a pod without what its annotations say that it holds.

    Raises:
        ObjectError: Something else of it cannot be read, either.

    """
    metadata = _mapping(found.get("metadata"))
    given = _mapping(metadata.get("annotations"))
    kept = {key: value for key, value in given.items() if key not in _HELD}
    return pod_part({**found, "metadata": {**metadata, "annotations": kept}})


def unnamed_holder(part: KubePod) -> KubePod:
    """Return a bound pod as one of which nobody says what it holds."""
    return replace(part, allocated=None, status=None, memory_status=None, claims=())


def node_of(found: Object) -> str:
    """Return the node that a Pod object is bound to; empty if it is bound to none."""
    name = _mapping(found.get("spec")).get("nodeName")
    return name if isinstance(name, str) else ""


def waiting_unread(found: Object, error: ObjectError) -> LeftOut | None:
    """Return a waiting pod that cannot be read as one that nobody is asked about.

    None if it waits for nothing any more.

    Raises:
        ObjectError: Not even its name can be read, or it may be bound or nominated to some node.

    """
    identity, _ = identity_of(found, "Pod", namespaced=True)
    spec, status = found.get("spec"), _mapping(found.get("status"))
    if not isinstance(spec, dict) or spec.get("nodeName") or status.get("nominatedNodeName"):
        raise error
    phase = status.get("phase")
    leaving = _mapping(found.get("metadata")).get("deletionTimestamp")
    if phase in ("Succeeded", "Failed") or leaving:
        return None
    why = f"it cannot be read: {error.message}"
    return LeftOut(identity.name, identity.namespace, None, (NotAsked(why),))


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}
