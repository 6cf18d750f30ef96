"""Objects of a cluster as parts, by kind and name, added one at a time in any order."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from placer.kubernetes.doubts import UnreadableObjects
from placer.kubernetes.salvage import (
    bound_or_nominated_node,
    has_complete_identity,
    node_offering_nothing,
    node_with_readable_labels,
    note_unreadable_object,
    salvaged_bound_pod,
    unreadable_waiting_pod,
)
from placer_models.files.errors import InputError
from placer_models.files.tree import field_path_text
from placer_models.kubernetes.device import KubeKoordinatorDevice, read_kube_koordinator_device
from placer_models.kubernetes.device_class import KubeDeviceClass, read_kube_device_class
from placer_models.kubernetes.namespaces import KubeNamespace, read_kube_namespace
from placer_models.kubernetes.node import KubeNode, read_kube_node
from placer_models.kubernetes.node_access import DeviceAccessNodeSelector
from placer_models.kubernetes.object_fields import KubeObjectIdentity, KubernetesObjectError, Object
from placer_models.kubernetes.pod import KubePod, read_kube_pod
from placer_models.kubernetes.pod_gang import (
    CRD_GROUPS,
    KUBERNETES_GROUP,
    KubePodGroup,
    read_kube_pod_group,
)
from placer_models.kubernetes.priority import KubePriorityClass, read_kube_priority_class
from placer_models.kubernetes.resource_claim import (
    KubeResourceClaim,
    KubeResourceClaimTemplate,
    read_kube_claim_template,
    read_kube_resource_claim,
)
from placer_models.kubernetes.resource_slice import KubeResourceSlice, read_kube_resource_slice
from placer_models.kubernetes.storage import (
    KubeCsiDriver,
    KubeCsiNode,
    KubeStorageCapacity,
    KubeStorageClass,
    KubeVolumeAttachment,
    read_kube_csi_driver,
    read_kube_csi_node,
    read_kube_storage_capacity,
    read_kube_storage_class,
    read_kube_volume_attachment,
)
from placer_models.kubernetes.stream import Found, ParsedObject
from placer_models.kubernetes.topology import (
    KubeNodeResourceTopology,
    read_kube_node_resource_topology,
)
from placer_models.kubernetes.volume import (
    KubePersistentVolume,
    KubeVolumeClaim,
    read_kube_persistent_volume,
    read_kube_volume_claim,
)
from placer_models.left_out import PodLeftOutBeforeSolve
from placer_models.placement import NamespacedName

CLAIM_VERSIONS = tuple(f"resource.k8s.io/{version}" for version in ("v1", "v1beta2", "v1beta1"))
"""Versions of ResourceClaims and the kinds around them that are read."""


class _Part(Protocol):
    """The attributes that every part has."""

    @property
    def identity(self) -> KubeObjectIdentity:
        """The identity of its object."""


@dataclass(frozen=True, slots=True)
class _ReadKind:
    """A kind of objects that is read.

    Attributes:
        field: The field of `ClusterObjects` that keeps them.
        read: Returns the contents of an object.
        apis: API groups of the kind, empty for the core one; or versions, where not all are read.

    """

    field: str
    read: Callable[[Object], _Part]
    apis: tuple[str, ...] = ("",)


_STORAGE = ("storage.k8s.io",)

_KINDS: Mapping[str, _ReadKind] = {
    "Node": _ReadKind("nodes", read_kube_node),
    "Namespace": _ReadKind("namespaces", read_kube_namespace),
    "Pod": _ReadKind("pods", read_kube_pod),
    "NodeResourceTopology": _ReadKind(
        "topologies", read_kube_node_resource_topology, ("topology.node.k8s.io",)
    ),
    "Device": _ReadKind("devices", read_kube_koordinator_device, ("scheduling.koordinator.sh",)),
    "PodGroup": _ReadKind("groups", read_kube_pod_group, (*CRD_GROUPS, KUBERNETES_GROUP)),
    "PriorityClass": _ReadKind("priorities", read_kube_priority_class, ("scheduling.k8s.io",)),
    "PersistentVolume": _ReadKind("volumes", read_kube_persistent_volume),
    "PersistentVolumeClaim": _ReadKind("volume_claims", read_kube_volume_claim),
    "StorageClass": _ReadKind("storage_classes", read_kube_storage_class, _STORAGE),
    "CSIDriver": _ReadKind("csi_drivers", read_kube_csi_driver, _STORAGE),
    "CSINode": _ReadKind("csi_nodes", read_kube_csi_node, _STORAGE),
    "CSIStorageCapacity": _ReadKind("storage_capacities", read_kube_storage_capacity, _STORAGE),
    "VolumeAttachment": _ReadKind("attachments", read_kube_volume_attachment, _STORAGE),
    "ResourceSlice": _ReadKind("slices", read_kube_resource_slice, CLAIM_VERSIONS),
    "DeviceClass": _ReadKind("device_classes", read_kube_device_class, CLAIM_VERSIONS),
    "ResourceClaim": _ReadKind("claims", read_kube_resource_claim, CLAIM_VERSIONS),
    "ResourceClaimTemplate": _ReadKind("claim_templates", read_kube_claim_template, CLAIM_VERSIONS),
}
"""All kinds that are read, by their names."""


@dataclass(slots=True)
class ClusterObjects:
    """The objects that are known of a cluster.

    Attributes:
        nodes: Nodes by name, in the order of reading, like all other kinds.
        groups: PodGroups by (Kubernetes' own, namespace, name).
        skipped: Kinds that are not read -> how many.
        faults: Faults of objects and of files.
        places: Title of an object -> its file and line.
        refused: Titles of the faulty objects.
        cut_off: Whether a file holds what is no object, or could not be read to its end.
        keeps_whole: Whether waiting pods are kept as they were written.
        whole: Those pods, by key.
        bears: Whether faults of objects end nothing where they loosen nothing: a Node that cannot
            be read offers nothing; a Device, a NodeResourceTopology, a ResourceSlice or a bound
            pod closes its node; a waiting pod is not asked; what else cannot be read keeps the
            pods waiting that need it. Each object has to say its name, and none may be there twice.
        borne: How many of ``faults`` are of that kind.
        closed: Names of nodes to which nothing comes because of them.
        unread: Waiting pods that cannot be read.
        doubts: What else is unknown because of such objects.

    """

    nodes: dict[str, KubeNode] = field(default_factory=dict)
    namespaces: dict[str, KubeNamespace] = field(default_factory=dict)
    topologies: dict[str, KubeNodeResourceTopology] = field(default_factory=dict)
    devices: dict[str, KubeKoordinatorDevice] = field(default_factory=dict)
    pods: dict[NamespacedName, KubePod] = field(default_factory=dict)
    groups: dict[tuple[bool, str, str], KubePodGroup] = field(default_factory=dict)
    priorities: dict[str, KubePriorityClass] = field(default_factory=dict)
    slices: dict[str, KubeResourceSlice] = field(default_factory=dict)
    device_classes: dict[str, KubeDeviceClass] = field(default_factory=dict)
    claims: dict[NamespacedName, KubeResourceClaim] = field(default_factory=dict)
    claim_templates: dict[NamespacedName, KubeResourceClaimTemplate] = field(default_factory=dict)
    volumes: dict[str, KubePersistentVolume] = field(default_factory=dict)
    volume_claims: dict[NamespacedName, KubeVolumeClaim] = field(default_factory=dict)
    storage_classes: dict[str, KubeStorageClass] = field(default_factory=dict)
    csi_drivers: dict[str, KubeCsiDriver] = field(default_factory=dict)
    csi_nodes: dict[str, KubeCsiNode] = field(default_factory=dict)
    storage_capacities: dict[NamespacedName, KubeStorageCapacity] = field(default_factory=dict)
    attachments: dict[str, KubeVolumeAttachment] = field(default_factory=dict)
    skipped: Counter[str] = field(default_factory=Counter)
    faults: list[InputError] = field(default_factory=list)
    places: dict[str, tuple[str, int]] = field(default_factory=dict)
    refused: set[str] = field(default_factory=set)
    cut_off: bool = False
    keeps_whole: bool = False
    whole: dict[NamespacedName, Object] = field(default_factory=dict)
    bears: bool = False
    borne: int = 0
    closed: set[str] = field(default_factory=set)
    unread: list[PodLeftOutBeforeSolve] = field(default_factory=list)
    doubts: UnreadableObjects = field(default_factory=UnreadableObjects)

    def add(self, found: Found) -> None:
        """Add one object; if it is faulty, note the fault and go on."""
        if isinstance(found, InputError):
            self.faults.append(found)
            self.cut_off = True
            return
        try:
            if not self._take(found):
                self.skipped[f"{found.kind} ({found.api_version})"] += 1
        except KubernetesObjectError as error:
            self._fault_at(found.file, found.line_at(error.path), error)
            if self.bears and error.title not in self.places:
                self.borne += self._salvage(found, error)

    def _salvage(self, found: ParsedObject, error: KubernetesObjectError) -> bool:
        """Keep what holds of an object that cannot be read; return whether it loosens nothing."""
        if not has_complete_identity(found.value):
            return False
        self.doubts.why[error.title] = f"{field_path_text(error.path)}: {error.message}"
        match found.kind:
            case "Node":
                try:
                    node = node_offering_nothing(found.value)
                except KubernetesObjectError:
                    node = node_with_readable_labels(found.value)
                    self.doubts.domains.append(node.identity.title)
                self.nodes[node.identity.name] = node
                self.closed.add(node.identity.name)
                self.places[node.identity.title] = (found.file, found.line)
            case "Pod":
                self._salvage_pod(found, error)
            case "Device" | "NodeResourceTopology":
                self.closed.add(error.title.partition(" ")[2])
            case _:
                claim = note_unreadable_object(found.kind, found.value, self.doubts)
                if claim is not None:
                    self.claims[claim.identity.key] = claim
                    self.places[claim.identity.title] = (found.file, found.line)
        return True

    def _salvage_pod(self, found: ParsedObject, error: KubernetesObjectError) -> None:
        place = bound_or_nominated_node(found.value)
        left_out = unreadable_waiting_pod(found.value, error, self.doubts)
        self.unread += [left_out] if left_out else []
        self.doubts.everywhere |= place is None
        if not place:
            return
        pod = salvaged_bound_pod(found.value, place, self.doubts)
        self.closed.add(place)
        if not pod.ended:
            self.pods[pod.identity.key] = pod
            self.places[pod.identity.title] = (found.file, found.line)

    def bear(self, error: KubernetesObjectError) -> None:
        """Note a fault of an object that was added before, which loosens nothing."""
        self.fault(error)
        self.borne += self.bears

    def fault(self, error: KubernetesObjectError) -> None:
        """Note a fault of an object that was added before."""
        file, line = self.places.get(error.title, ("", None))
        self._fault_at(file, line, error)

    def _fault_at(self, file: str, line: int | None, error: KubernetesObjectError) -> None:
        self.refused.add(error.title)
        message = f"{error.title}: {error.message}"
        self.faults.append(InputError(file, line, field_path_text(error.path), message))

    def nodes_with_access(self, access: DeviceAccessNodeSelector) -> list[str]:
        """Return the names of the nodes that can use a device."""
        if access.node:
            return [access.node] if access.node in self.nodes else []
        return [
            name
            for name, node in self.nodes.items()
            if access.includes(name, tuple(sorted(node.identity.labels.items())))
        ]

    def claims_of(self, part: KubePod) -> list[KubeResourceClaim]:
        """Return the ResourceClaims of a pod, as far as they are known."""
        keys = ((part.identity.namespace, one.claim) for one in part.claims)
        return [self.claims[key] for key in keys if key in self.claims]

    def counts_by_kind(self) -> Counter[str]:
        """Return how many objects of each kind were read."""
        counts = {kind: len(self._kept(read)) for kind, read in _KINDS.items()}
        return Counter({kind: count for kind, count in counts.items() if count})

    def _take(self, found: ParsedObject) -> bool:
        kind, api = _KINDS.get(found.kind), found.api_version
        group = api.rpartition("/")[0]
        if kind is None or (api if api in CLAIM_VERSIONS else group) not in kind.apis:
            return False
        part = kind.read(found.value)
        known, key, title = self._kept(kind), _key(part), part.identity.title
        if key in known:
            file, line = self.places[title]
            message = f"is given already at {file}:{line}; keep the newer of the two"
            raise KubernetesObjectError(title, ("metadata", "name"), message)
        self.places[title] = (found.file, found.line)
        known[key] = part
        if self.keeps_whole and isinstance(part, KubePod) and not part.node:
            self.whole[part.identity.key] = found.value
        return True

    def _kept(self, kind: _ReadKind) -> dict[object, _Part]:
        known: dict[object, _Part] = getattr(self, kind.field)
        return known


def _key(part: _Part) -> object:
    """Return the key by which an object is kept among those of its kind."""
    if isinstance(part, KubePodGroup):
        return part.is_kubernetes, *part.identity.key
    return part.identity.key if part.identity.namespace else part.identity.name
