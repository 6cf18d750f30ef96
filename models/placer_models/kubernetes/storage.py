"""StorageClasses and CSI objects: where volumes can be provisioned, and how many are attached."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from placer_models.kubernetes.label_selectors import LabelSelector, label_selector_of
from placer_models.kubernetes.object_fields import (
    KubeObjectFieldValue,
    KubeObjectIdentity,
    Object,
    read_object_identity_and_fields,
)
from placer_models.kubernetes.volume import IN_TREE_DRIVERS
from placer_models.node_affinity import NodeTerm
from placer_models.quantity import parse_amount_rounding_up
from placer_models.selectors import LabelExpression, Labels, SelectorOperator

CLASS_KIND = "StorageClass"

_NOT_PROVISIONED = "kubernetes.io/no-provisioner"
_WAITS = "WaitForFirstConsumer"
_IN_TREE = {
    "kubernetes.io/aws-ebs": IN_TREE_DRIVERS["awsElasticBlockStore"],
    "kubernetes.io/azure-disk": IN_TREE_DRIVERS["azureDisk"],
    "kubernetes.io/azure-file": IN_TREE_DRIVERS["azureFile"],
    "kubernetes.io/cinder": IN_TREE_DRIVERS["cinder"],
    "kubernetes.io/gce-pd": IN_TREE_DRIVERS["gcePersistentDisk"],
    "kubernetes.io/portworx-volume": IN_TREE_DRIVERS["portworxVolume"],
    "kubernetes.io/vsphere-volume": IN_TREE_DRIVERS["vsphereVolume"],
}
"""Provisioners of former days -> the CSI drivers that do their work."""


@dataclass(frozen=True, slots=True)
class KubeStorageClass:
    """The contents of a StorageClass.

    Attributes:
        provisioner: Name of what provisions its volumes; empty if nothing does.
        waits: Whether a claim gets its volume once a pod that uses it has its node.
        topologies: Terms of which a node must meet one, for a volume to be provisioned there;
            empty: any node will do.

    """

    identity: KubeObjectIdentity
    provisioner: str = ""
    waits: bool = False
    topologies: tuple[NodeTerm, ...] = ()

    @property
    def driver(self) -> str:
        """The CSI driver that provisions its volumes; empty if nothing does."""
        return _IN_TREE.get(self.provisioner, self.provisioner)

    def allows(self, name: str, labels: Labels) -> bool:
        """Return whether a volume may be provisioned for a node."""
        allowed = any(term.met_by(name, labels) for term in self.topologies)
        return bool(self.provisioner) and (allowed or not self.topologies)


@dataclass(frozen=True, slots=True)
class KubeCsiDriver:
    """The contents of a CSIDriver: whether it says how much can still be provisioned where."""

    identity: KubeObjectIdentity
    tells_capacity: bool = False


@dataclass(frozen=True, slots=True)
class KubeCsiNode:
    """The contents of a CSINode: CSI driver -> how many of its volumes the node can attach."""

    identity: KubeObjectIdentity
    limits: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class KubeStorageCapacity:
    """The contents of a CSIStorageCapacity.

    Attributes:
        storage_class: Name of the StorageClass that it is about.
        most_bytes: The largest volume that can be provisioned there.
        nodes: Which nodes it is about, by their labels; None: no node.

    """

    identity: KubeObjectIdentity
    storage_class: str
    most_bytes: int = 0
    nodes: LabelSelector | None = None


@dataclass(frozen=True, slots=True)
class KubeVolumeAttachment:
    """The contents of a VolumeAttachment: a volume that a node has, or is about to have."""

    identity: KubeObjectIdentity
    driver: str
    node: str
    volume: str = ""


def read_kube_storage_class(found: Object) -> KubeStorageClass:
    """Return the contents of a StorageClass.

    Raises:
        KubernetesObjectError: Something is wrong with it.

    """
    identity, root = read_object_identity_and_fields(found, CLASS_KIND, namespaced=False)
    provisioner = root.get("provisioner").text("")
    return KubeStorageClass(
        identity,
        provisioner="" if provisioner == _NOT_PROVISIONED else provisioner,
        waits=root.get("volumeBindingMode").text("") == _WAITS,
        topologies=tuple(map(_topology, root.get("allowedTopologies").items())),
    )


def _topology(part: KubeObjectFieldValue) -> NodeTerm:
    expressions = []
    for item in part.get("matchLabelExpressions").items():
        key, values = item.get("key").text(), item.get("values")
        asked = tuple(sorted({value.text() for value in values.items()}))
        expressions.append(values.checked(LabelExpression, key, SelectorOperator.IN, asked))
    return NodeTerm(tuple(expressions))


def read_kube_csi_driver(found: Object) -> KubeCsiDriver:
    """Return the contents of a CSIDriver.

    Raises:
        KubernetesObjectError: Something is wrong with it.

    """
    identity, root = read_object_identity_and_fields(found, "CSIDriver", namespaced=False)
    return KubeCsiDriver(identity, root.get("spec", "storageCapacity").flag())


def read_kube_csi_node(found: Object) -> KubeCsiNode:
    """Return the contents of a CSINode.

    Raises:
        KubernetesObjectError: Something is wrong with it.

    """
    identity, root = read_object_identity_and_fields(found, "CSINode", namespaced=False)
    drivers = root.get("spec", "drivers").items()
    counts = {item.get("name").text(): item.get("allocatable", "count") for item in drivers}
    return KubeCsiNode(
        identity, {name: count.integer() for name, count in counts.items() if count.there}
    )


def read_kube_storage_capacity(found: Object) -> KubeStorageCapacity:
    """Return the contents of a CSIStorageCapacity.

    Raises:
        KubernetesObjectError: Something is wrong with it.

    """
    identity, root = read_object_identity_and_fields(found, "CSIStorageCapacity", namespaced=True)
    largest = root.get("maximumVolumeSize")
    said = largest if largest.there else root.get("capacity")
    return KubeStorageCapacity(
        identity,
        root.get("storageClassName").text(),
        said.amount(parse_amount_rounding_up) if said.there else -1,
        label_selector_of(root.get("nodeTopology")),
    )


def read_kube_volume_attachment(found: Object) -> KubeVolumeAttachment:
    """Return the contents of a VolumeAttachment.

    Raises:
        KubernetesObjectError: Something is wrong with it.

    """
    identity, root = read_object_identity_and_fields(found, "VolumeAttachment", namespaced=False)
    spec = root.get("spec")
    return KubeVolumeAttachment(
        identity,
        spec.get("attacher").text(),
        spec.get("nodeName").text(),
        spec.get("source", "persistentVolumeName").text(""),
    )
