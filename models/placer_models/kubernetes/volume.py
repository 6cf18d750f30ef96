"""PersistentVolumes and PersistentVolumeClaims: storage, and who asks for it or has it."""

from collections.abc import Mapping
from dataclasses import dataclass

from placer_models.kubernetes.label_selectors import LabelSelector, label_selector_of
from placer_models.kubernetes.names import REGIONS, ZONES
from placer_models.kubernetes.node_access import DeviceAccessNodeSelector, node_access_of_selector
from placer_models.kubernetes.object_fields import (
    KubeObjectFieldValue,
    KubeObjectIdentity,
    Object,
    first_annotation_present,
    read_object_identity_and_fields,
)
from placer_models.placement import NamespacedName
from placer_models.quantity import parse_amount_rounding_up

VOLUME_KIND = "PersistentVolume"
CLAIM_KIND = "PersistentVolumeClaim"

ONE_POD = "ReadWriteOncePod"
"""The access mode of a claim that one pod at a time can use."""

BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
"""The node for which a claim's volume is to be provisioned."""

_OLD_CLASS = "volume.beta.kubernetes.io/storage-class"
_LOST = "Lost"
_AVAILABLE = "Available"
_FILESYSTEM = "Filesystem"
_BETWEEN_ZONES = "__"

IN_TREE_DRIVERS: Mapping[str, str] = {
    "awsElasticBlockStore": "ebs.csi.aws.com",
    "azureDisk": "disk.csi.azure.com",
    "azureFile": "file.csi.azure.com",
    "cinder": "cinder.csi.openstack.org",
    "gcePersistentDisk": "pd.csi.storage.gke.io",
    "portworxVolume": "pxd.portworx.com",
    "vsphereVolume": "csi.vsphere.vmware.com",
}
"""Volume sources of former days -> the CSI drivers that serve them."""


@dataclass(frozen=True, slots=True)
class KubePersistentVolume:
    """The contents of a PersistentVolume.

    Attributes:
        storage_class: Name of its StorageClass; empty if it has none.
        modes: Its access modes.
        mode: ``Filesystem`` or ``Block``.
        attributes_class: Name of its VolumeAttributesClass; empty if it has none.
        access: The nodes that reach it, or None if it says nothing of them.
        zones: Its labels of zones and regions -> the values of which a node must have one.
        claim: The claim that it is bound to, or kept for; None if there is none.
        claim_uid: That claim's uid; empty if it is not said.
        driver: The CSI driver that attaches it; empty if there is none.
        handle: Its name for that driver.
        free: Whether it is available to any claim.
        leaving: Whether it is being deleted.

    """

    identity: KubeObjectIdentity
    storage_class: str = ""
    capacity_bytes: int = 0
    modes: frozenset[str] = frozenset()
    mode: str = _FILESYSTEM
    attributes_class: str = ""
    access: DeviceAccessNodeSelector | None = None
    zones: tuple[tuple[str, frozenset[str]], ...] = ()
    claim: NamespacedName | None = None
    claim_uid: str = ""
    driver: str = ""
    handle: str = ""
    free: bool = False
    leaving: bool = False


@dataclass(frozen=True, slots=True)
class KubeVolumeClaim:
    """The contents of a PersistentVolumeClaim.

    Attributes:
        volume: Name of the volume that it has, or is kept for; empty if there is none.
        is_bound: Whether its binding to the volume is complete.
        is_lost: Whether its volume is gone.
        storage_class: Name of its StorageClass; empty if it has none.
        modes: The access modes that it asks for.
        mode: ``Filesystem`` or ``Block``.
        attributes_class: Name of its VolumeAttributesClass; empty if it has none.
        selector: Which volumes will do, by their labels; None: any.
        owners: Uids of the objects that own it.
        selected_node: The node for which its volume is being provisioned; empty if there is none.
        leaving: Whether it is being deleted.

    """

    identity: KubeObjectIdentity
    volume: str = ""
    is_bound: bool = False
    is_lost: bool = False
    storage_class: str = ""
    requested_bytes: int = 0
    modes: frozenset[str] = frozenset()
    mode: str = _FILESYSTEM
    attributes_class: str = ""
    selector: LabelSelector | None = None
    owners: frozenset[str] = frozenset()
    selected_node: str = ""
    leaving: bool = False

    def matches(self, volume: KubePersistentVolume) -> bool:
        """Return whether the claim could be bound to the volume, on a node that reaches it."""
        fits = (
            not volume.leaving
            and volume.capacity_bytes >= self.requested_bytes
            and volume.mode == self.mode
            and volume.attributes_class == self.attributes_class
        )
        if not fits or volume.claim is not None:
            return fits and self.is_kept(volume)
        return (
            volume.free
            and volume.storage_class == self.storage_class
            and self.modes <= volume.modes
            and (
                self.selector is None
                or self.selector.selects(tuple(sorted(volume.identity.labels.items())))
            )
        )

    def is_kept(self, volume: KubePersistentVolume) -> bool:
        """Return whether the volume is kept for this claim, and no other."""
        uids = ("", self.identity.uid)
        return volume.claim == self.identity.key and volume.claim_uid in uids


def read_kube_persistent_volume(found: Object) -> KubePersistentVolume:
    """Return the contents of a PersistentVolume.

    Raises:
        KubernetesObjectError: Something is wrong with it.

    """
    identity, root = read_object_identity_and_fields(found, VOLUME_KIND, namespaced=False)
    spec, held = root.get("spec"), root.get("spec", "claimRef")
    required = spec.get("nodeAffinity", "required")
    driver, handle = _driven(spec)
    return KubePersistentVolume(
        identity,
        storage_class=_class_of(root),
        capacity_bytes=_bytes(spec.get("capacity", "storage")),
        modes=_texts(spec.get("accessModes")),
        mode=spec.get("volumeMode").text("") or _FILESYSTEM,
        attributes_class=spec.get("volumeAttributesClassName").text(""),
        access=node_access_of_selector(required) if required.there else None,
        zones=tuple(
            (key, frozenset(value.strip() for value in said.split(_BETWEEN_ZONES)))
            for key, said in sorted(identity.labels.items())
            if key in (*ZONES, *REGIONS)
        ),
        claim=(held.get("namespace").text("") or "default", held.get("name").text())
        if held.there
        else None,
        claim_uid=held.get("uid").text(""),
        driver=driver,
        handle=handle or identity.name,
        free=root.get("status", "phase").text("") == _AVAILABLE,
        leaving=root.get("metadata", "deletionTimestamp").there,
    )


def read_kube_volume_claim(found: Object) -> KubeVolumeClaim:
    """Return the contents of a PersistentVolumeClaim.

    Raises:
        KubernetesObjectError: Something is wrong with it.

    """
    identity, root = read_object_identity_and_fields(found, CLAIM_KIND, namespaced=True)
    spec, volume = root.get("spec"), root.get("spec", "volumeName").text("")
    texts = root.get("metadata", "annotations").texts()
    selected = first_annotation_present(root, SELECTED_NODE)
    return KubeVolumeClaim(
        identity,
        volume=volume,
        is_bound=bool(volume) and BIND_COMPLETED in texts,
        is_lost=root.get("status", "phase").text("") == _LOST,
        storage_class=_class_of(root),
        requested_bytes=_bytes(spec.get("resources", "requests", "storage")),
        modes=_texts(spec.get("accessModes")),
        mode=spec.get("volumeMode").text("") or _FILESYSTEM,
        attributes_class=spec.get("volumeAttributesClassName").text(""),
        selector=label_selector_of(spec.get("selector")),
        owners=frozenset(
            item.get("uid").text("")
            for item in root.get("metadata", "ownerReferences").items()
            if item.get("controller").flag()
        ),
        selected_node=selected.text() if selected else "",
        leaving=root.get("metadata", "deletionTimestamp").there,
    )


def _class_of(root: KubeObjectFieldValue) -> str:
    old = first_annotation_present(root, _OLD_CLASS)
    return old.text() if old else root.get("spec", "storageClassName").text("")


def _driven(spec: KubeObjectFieldValue) -> tuple[str, str]:
    """Return the CSI driver of a volume and the volume's name there, or nothing."""
    source = spec.get("csi")
    if source.there:
        return source.get("driver").text(), source.get("volumeHandle").text("")
    return next((IN_TREE_DRIVERS[name] for name in IN_TREE_DRIVERS if spec.get(name).there), ""), ""


def _bytes(part: KubeObjectFieldValue) -> int:
    return part.amount(parse_amount_rounding_up) if part.there else 0


def _texts(part: KubeObjectFieldValue) -> frozenset[str]:
    return frozenset(item.text() for item in part.items())
