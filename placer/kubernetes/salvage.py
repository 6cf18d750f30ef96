"""Salvage: what still holds of an object that cannot be read, so that it loosens nothing."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

from placer.kubernetes.doubts import EVERY_NODE, UnreadableObjects, UnreadableResourceSlice
from placer_models.annotations.names import DEVICE_ALLOCATED, MEMORY_STATUS, RESOURCE_STATUS
from placer_models.kubernetes.names import GANG_NAMES, POD_GROUP_LABELS
from placer_models.kubernetes.node import KubeNode, read_kube_node
from placer_models.kubernetes.node_access import nodes_with_access_to_slice
from placer_models.kubernetes.object_fields import (
    KubeObjectFieldValue,
    KubernetesObjectError,
    Object,
)
from placer_models.kubernetes.pod import ENDED, KubePod, read_kube_pod
from placer_models.kubernetes.pod_gang import GangNamedByPod, gang_of
from placer_models.kubernetes.pod_terms import read_kube_pod_affinity_terms
from placer_models.kubernetes.pod_volumes import pod_volumes
from placer_models.kubernetes.resource_claim import KubeResourceClaim, read_kube_resource_claim
from placer_models.left_out import PodLeftOutBeforeSolve
from placer_models.placement import NamespacedName
from placer_models.reasons import NotTried
from placer_models.spreading import OWN_PREFIX

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_UNREADABLE = object()

_HELD = (DEVICE_ALLOCATED, MEMORY_STATUS, RESOURCE_STATUS)
"""Annotations that say what a bound pod holds, and nothing of what it wants."""


def node_offering_nothing(found: Object) -> KubeNode:
    """Return a node with its name, labels and taints alone, which offers nothing.

    The labels say in which domains it is, so that pods there still keep others away; the taints,
    whether topology spread counts it.

    Raises:
        KubernetesObjectError: Not even these can be read.

    """
    known = _mapping(found.get("metadata"))
    metadata = {key: known[key] for key in ("name", "labels") if key in known}
    spec = _mapping(found.get("spec"))
    taints = {key: spec[key] for key in ("taints", "unschedulable") if key in spec}
    return read_kube_node(
        {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": taints}
    )


def as_node_offering_nothing(node: KubeNode) -> KubeNode:
    """Return a node as `node_offering_nothing` does, as objects about it contradict each other."""
    identity = node.identity
    metadata = {"name": identity.name, "labels": dict(identity.labels)}
    return replace(node_offering_nothing({"metadata": metadata}), taints=node.taints)


def has_complete_identity(found: Object) -> bool:
    """Return whether an object says which one it is: its name, and its namespace if it has one."""
    known = _mapping(found.get("metadata"))
    name, namespace = known.get("name"), known.get("namespace", "")
    return isinstance(name, str) and bool(name) and isinstance(namespace, str | None)


def node_with_readable_labels(found: Object) -> KubeNode:
    """Return a node with its name and those of its labels that can be read."""
    known = _mapping(found.get("metadata"))
    metadata = {"name": known.get("name"), "labels": _texts(known.get("labels"))}
    return read_kube_node({"apiVersion": "v1", "kind": "Node", "metadata": metadata})


def salvaged_bound_pod(found: Object, node: str, doubts: UnreadableObjects) -> KubePod:
    """Return a pod that holds room on a node, and of which not all can be read.

    What it wants of others is taken at its widest; what else is unknown goes to ``doubts``.
    """
    metadata, spec = _mapping(found.get("metadata")), _mapping(found.get("spec"))
    given = _mapping(metadata.get("annotations"))
    kept = {key: value for key, value in given.items() if key not in _HELD}
    with suppress(KubernetesObjectError):
        stripped = {**found, "metadata": {**metadata, "annotations": kept}}
        return replace(read_kube_pod(stripped), node=node)
    name, namespace = metadata.get("name"), metadata.get("namespace") or "default"
    title = f"Pod {namespace}/{name}"
    labels, phase = metadata.get("labels"), _mapping(found.get("status")).get("phase")
    bare: dict[str, object] = {"name": name, "namespace": namespace}
    bare |= {"labels": _texts(labels)}
    whole = _mapping(found.get("status")) == (found.get("status") or {})
    if bare["labels"] != (labels or {}) or not isinstance(phase, str | None) or not whole:
        doubts.labels.append(title)  # it may be one that has ended, too, so it is no company
        bare["labels"] = {}
    if metadata.get("deletionTimestamp") is not None:
        bare["deletionTimestamp"] = "now"
    try:
        pod_volumes(KubeObjectFieldValue(title, {"volumes": spec.get("volumes")}), str(name))
        volumes = spec.get("volumes")
    except KubernetesObjectError:
        doubts.holders.add(str(namespace))
        doubts.unattached.add(node)
        volumes = None
    return read_kube_pod(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": bare,
            "spec": {
                "nodeName": node,
                "containers": [{"name": "unread"}],
                "volumes": volumes,
                "affinity": {"podAntiAffinity": {_REQUIRED: _apart(found, title, doubts)}},
            },
            "status": {"phase": phase if isinstance(phase, str) else ""},
        }
    )


def _apart(found: Object, title: str, doubts: UnreadableObjects) -> list[object]:
    """Return a pod's required anti-affinity; what cannot be read of a term is taken as widest."""
    spec = found.get("spec")
    here: object = spec
    for step in ("affinity", "podAntiAffinity", _REQUIRED):
        if here is None:
            return []
        here = here.get(step) if isinstance(here, dict) else _UNREADABLE
    if here is None:
        return []
    terms = []
    for item in here if isinstance(here, list) else [None]:
        known = _mapping(item)
        own = {"labelSelector": {}, "namespaceSelector": {}, "topologyKey": EVERY_NODE[0]}
        key = known.get("topologyKey")
        same = {"topologyKey": key} if isinstance(key, str) and key else {}
        whom = {key: value for key, value in known.items() if key != "topologyKey"}
        tried: list[dict[str, object]] = [
            dict(known),
            {**whom, "topologyKey": EVERY_NODE[0]},
            {**own, **same},
            dict(own),
        ]
        tried = tried if isinstance(item, dict) else tried[-1:]
        term = next(one for one in tried if _is_term(one, title))
        doubts.widened |= term.get("topologyKey") == EVERY_NODE[0]
        terms.append(term)
    return list(terms)


def _is_term(item: Mapping[str, object], title: str) -> bool:
    apart = {"podAntiAffinity": {_REQUIRED: [item]}}
    try:
        return bool(
            list(
                read_kube_pod_affinity_terms(KubeObjectFieldValue(title, apart), "default", (), [])
            )
        ) or not item.get("labelSelector")
    except KubernetesObjectError:
        return False


def pod_without_allocation_records(part: KubePod) -> KubePod:
    """Return a bound pod as one of which nobody says what it holds."""
    return replace(part, allocated=None, status=None, memory_status=None, claims=())


def bound_or_nominated_node(found: Object) -> str | None:
    """Return the node where a pod has room, or is to have it; empty if there is none.

    None if that cannot be read.
    """
    spec, status = found.get("spec"), found.get("status")
    if not isinstance(spec, dict) or not isinstance(status, dict | None):
        return None
    for name in (spec.get("nodeName"), _mapping(status).get("nominatedNodeName")):
        if name is not None and not isinstance(name, str):
            return None
        if name:
            return name
    return ""


def unreadable_waiting_pod(
    found: Object, error: KubernetesObjectError, doubts: UnreadableObjects
) -> PodLeftOutBeforeSolve | None:
    """Return a pod that cannot be read as one that nobody is asked about.

    None if it is bound, or waits for nothing any more.
    """
    metadata = _mapping(found.get("metadata"))
    spec, status = _mapping(found.get("spec")), _mapping(found.get("status"))
    ended = status.get("phase") in ENDED
    if ended or metadata.get("deletionTimestamp") is not None or spec.get("nodeName"):
        return None
    name, namespace = str(metadata["name"]), str(metadata.get("namespace") or "default")
    title = f"Pod {namespace}/{name}"
    ref = _gang_unread(found, title, namespace, doubts)
    if ref is not None:
        doubts.gangs.setdefault((ref.is_kubernetes, *ref.key), []).append(title)
    why = f"it cannot be read: {error.message}"
    return PodLeftOutBeforeSolve(name, namespace, ref.key[1] if ref else None, (NotTried(why),))


def _gang_unread(
    found: Object, title: str, namespace: str, doubts: UnreadableObjects
) -> GangNamedByPod | None:
    """Return the gang of a pod that cannot be read, as far as it can be told."""
    try:
        ref = gang_of(KubeObjectFieldValue(title, found), namespace)
    except KubernetesObjectError as error:
        metadata = _mapping(found.get("metadata"))
        labels = _texts(metadata.get("labels"))
        notes = _texts(metadata.get("annotations"))
        names = [labels.get(key) for key in POD_GROUP_LABELS]
        names += [notes.get(key) for key in GANG_NAMES]
        group = _mapping(_mapping(found.get("spec")).get("schedulingGroup")).get("podGroupName")
        own = isinstance(group, str) and bool(group)
        name = group if own else next((one for one in names if one), "")
        if not isinstance(name, str) or not name:
            return None
        ref = GangNamedByPod((namespace, name), is_kubernetes=own)
        doubts.vague[own, namespace, name] = f"{title} cannot be read: {error.message}"
    else:
        if ref is not None:
            doubts.refs.append(ref)
    return ref


def note_unreadable_object(
    kind: str, found: Object, doubts: UnreadableObjects
) -> KubeResourceClaim | None:
    """Note what is unknown as an object of another kind cannot be read.

    Returns:
        A ResourceClaim of which it is known what it was given.

    """
    known = _mapping(found.get("metadata"))
    name, spec = str(known["name"]), _mapping(found.get("spec"))
    key = str(known.get("namespace") or "default"), name
    match kind:
        case "ResourceSlice":
            doubts.slices.append(_slice_unread(spec))
        case "ResourceClaim":
            try:
                metadata = {field: known.get(field) for field in ("name", "namespace")}
                return read_kube_resource_claim({**found, "metadata": metadata, "spec": {}})
            except KubernetesObjectError:
                doubts.claims.append(key)
        case "PersistentVolume":
            doubts.kept_volumes |= _kept_for(found)
        case "CSINode":
            doubts.unattached.add(name)
        case "VolumeAttachment":
            node = spec.get("nodeName")
            doubts.unattached.add(node if isinstance(node, str) and node else None)
    return None


def _slice_unread(spec: Mapping[str, object]) -> UnreadableResourceSlice:
    root = KubeObjectFieldValue("", spec)
    pool = access = None
    with suppress(KubernetesObjectError):
        driver, name = root.get("driver").text(""), root.get("pool", "name").text("")
        pool = (driver, name) if driver and name else None
    with suppress(KubernetesObjectError):
        access = None if spec.get("perDeviceNodeSelection") else nodes_with_access_to_slice(root)
    return UnreadableResourceSlice(pool, access)


def _kept_for(found: Object) -> set[NamespacedName | None]:
    """Return the claim for which a volume is kept; None stands for any."""
    spec = found.get("spec")
    if not isinstance(spec, dict):
        return {None}
    held = spec.get("claimRef")
    if held is None:
        return set()
    namespace, name = _mapping(held).get("namespace", "default"), _mapping(held).get("name")
    if isinstance(namespace, str) and isinstance(name, str) and name:
        return {(namespace or "default", name)}
    return {None}


def _texts(value: object) -> dict[str, str]:
    """Return those labels that can be read."""
    known = _mapping(value)
    return {
        key: text
        for key, text in known.items()
        if isinstance(key, str) and isinstance(text, str) and not key.startswith(OWN_PREFIX)
    }


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}
