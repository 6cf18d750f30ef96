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
    Object,
    ObjectFieldValue,
    ObjectIdentity,
    first_annotation_of,
    first_label_of,
    read_identity_and_root,
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
class GangRef:
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
class PodGroupPart:
    """The contents of a PodGroup object.

    Attributes:
        is_kubernetes: Whether it is Kubernetes' own PodGroup.
        minimum: The minimum, or None if its pods need not be placed together.
        groups: As in a GangRef.
        lacks: As in a GangRef.

    """

    identity: ObjectIdentity
    is_kubernetes: bool
    minimum: int | None
    groups: tuple[NamespacedName, ...] = ()
    lacks: tuple[str, ...] = ()


def gang_of(root: ObjectFieldValue, namespace: str) -> GangRef | None:
    """Return the gang that a pod names, or None if it belongs to none.

    Raises:
        ObjectError: What it says about the gang is not what it should be.

    """
    own = root.get("spec", "schedulingGroup", "podGroupName")
    if own.there:
        return GangRef((namespace, own.text()), is_kubernetes=True)
    workload = root.get("spec", "workloadRef")
    if workload.there:
        name = f"{workload.get('name').text()}.{workload.get('podGroup').text()}"
        return GangRef((namespace, name), is_kubernetes=True, lacks=(WORKLOAD_REF,))
    named = first_label_of(root, *POD_GROUP_LABELS) or first_annotation_of(root, *GANG_NAMES)
    if named is None:
        return None
    return GangRef(
        (namespace, named.text()),
        minimum=_minimum(
            first_annotation_of(root, *GANG_MINIMUMS) or first_label_of(root, *GANG_MINIMUMS)
        ),
        groups=_groups(first_annotation_of(root, GANG_GROUPS), namespace),
        lacks=_lacks(root),
    )


def pod_group_part(found: Object) -> PodGroupPart:
    """Return the contents of a PodGroup of either kind.

    Raises:
        ObjectError: Something is wrong with it.

    """
    identity, root = read_identity_and_root(found, KIND, namespaced=True)
    spec = root.get("spec")
    if str(found.get("apiVersion", "")).partition("/")[0] == KUBERNETES_GROUP:
        gang = spec.get("schedulingPolicy", "gang")
        topology = spec.get("schedulingConstraints", "topology").items()
        minimum = gang.get("minCount").integer(least=1) if gang.there else None
        lacks = ("spec.schedulingConstraints.topology",) if topology else ()
        return PodGroupPart(identity, True, minimum, lacks=lacks)
    return PodGroupPart(
        identity,
        False,
        spec.get("minMember").integer(1),
        _groups(first_annotation_of(root, GANG_GROUPS), identity.namespace),
        (*_lacks(root), *_lacks_of_volcano(spec)),
    )


def _minimum(part: ObjectFieldValue | None) -> int | None:
    if part is None:
        return None
    text = part.text()
    if not (text.isascii() and text.isdecimal() and len(text) <= 9):
        part.refuse(f"got {part.got}; expected a whole number, in quotes")
    return int(text)


def _groups(part: ObjectFieldValue | None, namespace: str) -> tuple[NamespacedName, ...]:
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


def _lacks(root: ObjectFieldValue) -> tuple[str, ...]:
    """Return a gang's demands on the network: Placer reads no network tree from a cluster yet."""
    part = first_annotation_of(root, GANG_NETWORK)
    if part is None:
        return ()
    return (f"the annotation {GANG_NETWORK}",) if "MustGather" in part.text() else ()


def _lacks_of_volcano(spec: ObjectFieldValue) -> tuple[str, ...]:
    """Return demands of Volcano's PodGroup beyond a minimum: on single tasks, on the network."""
    tasks = spec.get("minTaskMember").members().values()
    lacks = ("spec.minTaskMember",) if any(one.integer() for one in tasks) else ()
    hard = spec.get("networkTopology", "mode").text("") == "hard"
    return (*lacks, *(("spec.networkTopology",) if hard else ()))
