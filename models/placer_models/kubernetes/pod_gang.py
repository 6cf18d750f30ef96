"""Gangs as pods name them, and PodGroup objects (G1)."""

import json
from dataclasses import dataclass

from placer_models.kubernetes.names import (
    GANG_GROUPS,
    GANG_MINIMUMS,
    GANG_NAMES,
    GANG_NETWORK,
    POD_GROUP_LABELS,
)
from placer_models.kubernetes.object_fields import (
    KubeObjectFieldValue,
    KubeObjectIdentity,
    Object,
    first_annotation_present,
    first_label_present,
    read_object_identity_and_fields,
)
from placer_models.placement import NamespacedName

KIND = "PodGroup"

CRD_GROUPS = ("scheduling.sigs.k8s.io", "scheduling.x-k8s.io", "scheduling.volcano.sh")
"""API groups of the PodGroups of the scheduler plugins, Koordinator and Volcano."""

KUBERNETES_GROUP = "scheduling.k8s.io"
"""The API group of Kubernetes' own PodGroup."""

WORKLOAD_REF = "workloadRef of Kubernetes 1.35 (since 1.36 it is schedulingGroup)"
"""How pods named a group inside a Workload before there were PodGroups."""


@dataclass(frozen=True, slots=True)
class GangNamedByPod:
    """The gang that a pod says it belongs to.

    Attributes:
        key: Namespace and name.
        is_kubernetes: Whether ``spec.schedulingGroup`` names it, not a label or annotation.
        minimum: The minimum that the pod itself gives, or None if the PodGroup gives it.
        groups: Gangs that are placed together, by annotation.
        lacks: Its demands that Placer cannot express.

    """

    key: NamespacedName
    is_kubernetes: bool = False
    minimum: int | None = None
    groups: tuple[NamespacedName, ...] = ()
    lacks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KubePodGroup:
    """The contents of a PodGroup object.

    Attributes:
        is_kubernetes: Whether it is Kubernetes' own PodGroup.
        minimum: The minimum, or None if its pods need not be placed together.
        groups: As in a GangNamedByPod.
        lacks: As in a GangNamedByPod.

    """

    identity: KubeObjectIdentity
    is_kubernetes: bool
    minimum: int | None
    groups: tuple[NamespacedName, ...] = ()
    lacks: tuple[str, ...] = ()


def gang_of(root: KubeObjectFieldValue, namespace: str) -> GangNamedByPod | None:
    """Return the gang that a pod names, or None if it belongs to none.

    Raises:
        KubernetesObjectError: What it says about the gang is not what it should be.

    """
    own = root.get("spec", "schedulingGroup", "podGroupName")
    if own.there:
        return GangNamedByPod((namespace, own.text()), is_kubernetes=True)
    workload = root.get("spec", "workloadRef")
    if workload.there:
        name = f"{workload.get('name').text()}.{workload.get('podGroup').text()}"
        return GangNamedByPod((namespace, name), is_kubernetes=True, lacks=(WORKLOAD_REF,))
    named = first_label_present(root, *POD_GROUP_LABELS) or first_annotation_present(
        root, *GANG_NAMES
    )
    if named is None:
        return None
    return GangNamedByPod(
        (namespace, named.text()),
        minimum=_minimum(
            first_annotation_present(root, *GANG_MINIMUMS)
            or first_label_present(root, *GANG_MINIMUMS)
        ),
        groups=_groups(first_annotation_present(root, GANG_GROUPS), namespace),
        lacks=_lacks(root),
    )


def read_kube_pod_group(found: Object) -> KubePodGroup:
    """Return the contents of a PodGroup of either kind.

    Raises:
        KubernetesObjectError: Something is wrong with it.

    """
    identity, root = read_object_identity_and_fields(found, KIND, namespaced=True)
    spec = root.get("spec")
    if str(found.get("apiVersion", "")).partition("/")[0] == KUBERNETES_GROUP:
        gang = spec.get("schedulingPolicy", "gang")
        topology = spec.get("schedulingConstraints", "topology").items()
        minimum = gang.get("minCount").integer(least=1) if gang.there else None
        lacks = ("spec.schedulingConstraints.topology",) if topology else ()
        return KubePodGroup(identity, True, minimum, lacks=lacks)
    return KubePodGroup(
        identity,
        False,
        spec.get("minMember").integer(1),
        _groups(first_annotation_present(root, GANG_GROUPS), identity.namespace),
        (*_lacks(root), *_lacks_of_volcano(spec)),
    )


def _minimum(part: KubeObjectFieldValue | None) -> int | None:
    if part is None:
        return None
    text = part.text()
    if not (text.isascii() and text.isdecimal() and len(text) <= 9):
        part.refuse(f"got {part.got}; expected a whole number, in quotes")
    return int(text)


def _groups(part: KubeObjectFieldValue | None, namespace: str) -> tuple[NamespacedName, ...]:
    """Return the gangs that a text such as ``["ns/a","ns/b"]`` names."""
    if part is None:
        return ()
    try:
        names = json.loads(part.text())
    except ValueError:
        names = None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        part.refuse(f'got {part.got}; expected a list of gangs, such as ["default/a","default/b"]')
    keys = []
    for name in names:
        above, slash, below = name.rpartition("/")
        keys.append((above if slash else namespace, below))
    return tuple(keys)


def _lacks(root: KubeObjectFieldValue) -> tuple[str, ...]:
    """Return a gang's demands on the network: Placer reads no network tree from a cluster yet."""
    part = first_annotation_present(root, GANG_NETWORK)
    if part is None:
        return ()
    return (f"the annotation {GANG_NETWORK}",) if "MustGather" in part.text() else ()


def _lacks_of_volcano(spec: KubeObjectFieldValue) -> tuple[str, ...]:
    """Return demands of Volcano's PodGroup beyond a minimum: on single tasks, on the network."""
    tasks = spec.get("minTaskMember").members().values()
    lacks = ("spec.minTaskMember",) if any(one.integer() for one in tasks) else ()
    hard = spec.get("networkTopology", "mode").text("") == "hard"
    return (*lacks, *(("spec.networkTopology",) if hard else ()))
