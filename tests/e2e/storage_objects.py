"""Objects of storage for tests: volumes, claims on them, classes and what nodes can attach."""

from collections.abc import Mapping, Sequence
from typing import Any

from kubernetes_worlds import Json

DRIVER = "csi.example.com"
ZONE = "topology.kubernetes.io/zone"
HOSTNAME = "kubernetes.io/hostname"


def one_of(key: str, *values: str) -> Json:
    """Return a node selector: the label has one of the values."""
    expression = {"key": key, "operator": "In", "values": list(values)}
    return {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}


def volume(
    name: str,
    claim: str = "",
    where: Json | None = None,
    *,
    storage: str = "10Gi",
    labels: Mapping[str, str] | None = None,
    **spec: Any,
) -> Json:
    """Return a PersistentVolume, bound to a claim of namespace `default` if it has one."""
    source = {} if "csi" in spec else {"local": {"path": "/mnt"}}
    held = {"claimRef": {"namespace": "default", "name": claim}} if claim else {}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "uid": f"uid-{name}", "labels": dict(labels or {})},
        "spec": {
            "capacity": {"storage": storage},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "local",
            **source,
            **held,
            **({"nodeAffinity": {"required": where}} if where else {}),
            **spec,
        },
        "status": {"phase": "Bound" if claim else "Available"},
    }


def csi_volume(name: str, claim: str, where: Json | None = None) -> Json:
    """Return a volume of a CSI driver, bound to a claim."""
    return volume(name, claim, where, csi={"driver": DRIVER, "volumeHandle": name})


def volume_claim(
    name: str,
    bound_to: str = "",
    *,
    of_class: str = "local",
    mode: str = "ReadWriteOnce",
    phase: str = "",
    namespace: str = "default",
    **metadata: Any,
) -> Json:
    """Return a PersistentVolumeClaim of 10 GiB, bound to a volume if one is named."""
    done = {"pv.kubernetes.io/bind-completed": "yes"} if bound_to else {}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": f"uid-{name}",
            "annotations": done,
            **metadata,
        },
        "spec": {
            "accessModes": [mode],
            "storageClassName": of_class,
            "resources": {"requests": {"storage": "10Gi"}},
            **({"volumeName": bound_to} if bound_to else {}),
        },
        "status": {"phase": phase or ("Bound" if bound_to else "Pending")},
    }


def storage_class(
    name: str = "local",
    provisioner: str = "kubernetes.io/no-provisioner",
    *,
    mode: str = "WaitForFirstConsumer",
    zones: Sequence[str] = (),
) -> Json:
    """Return a StorageClass, which may allow some zones only."""
    allowed = [{"matchLabelExpressions": [{"key": ZONE, "values": list(zones)}]}]
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name, "uid": f"uid-{name}"},
        "provisioner": provisioner,
        "volumeBindingMode": mode,
        **({"allowedTopologies": allowed} if zones else {}),
    }


def csi_driver(**spec: Any) -> Json:
    """Return the CSIDriver."""
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIDriver",
        "metadata": {"name": DRIVER, "uid": f"uid-{DRIVER}"},
        "spec": spec,
    }


def csi_node(name: str, most: int) -> Json:
    """Return a CSINode: its node attaches so many volumes of the driver."""
    driver = {"name": DRIVER, "nodeID": name, "allocatable": {"count": most}}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": {"name": name, "uid": f"uid-csi-{name}"},
        "spec": {"drivers": [driver]},
    }


def capacity(name: str, zone: str, free: str, of_class: str = "dynamic") -> Json:
    """Return a CSIStorageCapacity: what can still be provisioned in a zone."""
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIStorageCapacity",
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}"},
        "nodeTopology": {"matchLabels": {ZONE: zone}},
        "storageClassName": of_class,
        "capacity": free,
    }


def attachment(name: str, of_volume: str, node: str) -> Json:
    """Return a VolumeAttachment: a volume of the driver is attached to a node still."""
    source = {"persistentVolumeName": of_volume}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "VolumeAttachment",
        "metadata": {"name": name},
        "spec": {"attacher": DRIVER, "nodeName": node, "source": source},
    }


def with_claim(name: str) -> Json:
    """Return what in a pod's spec mounts a claim."""
    return {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": name}}]}


def ephemeral(of_class: str = "local") -> Json:
    """Return what in a pod's spec has a claim made for it: named ``POD-data``."""
    wanted = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": of_class,
        "resources": {"requests": {"storage": "10Gi"}},
    }
    return {"volumes": [{"name": "data", "ephemeral": {"volumeClaimTemplate": {"spec": wanted}}}]}
