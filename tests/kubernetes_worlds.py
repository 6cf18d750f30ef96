"""Objects of Kubernetes for tests: small, and only as complete as a reader needs."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

Json = dict[str, Any]

GROUP = "pod-group.scheduling.sigs.k8s.io"
"""The label by which a pod names its PodGroup."""

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
"""Under this stands what an affinity has to have."""


def node(name: str = "n1", **more: Any) -> Json:
    """Return a Node of 8 CPUs and 16 GiB that is ready."""
    amounts = {"cpu": "8", "memory": "16Gi", "pods": "110", **more.pop("amounts", {})}
    metadata = {"name": name, "uid": f"uid-{name}", "resourceVersion": "7"}
    metadata["labels"] = {"kubernetes.io/hostname": name, **more.pop("labels", {})}
    metadata["annotations"] = more.pop("annotations", {})
    status = {
        "capacity": more.pop("capacity", dict(amounts)),
        "allocatable": amounts,
        "conditions": more.pop("conditions", [{"type": "Ready", "status": "True"}]),
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": metadata,
        "spec": more,
        "status": status,
    }


def namespace(name: str, **labels: str) -> Json:
    """Return a Namespace with the label that each has, and others."""
    every = {"kubernetes.io/metadata.name": name, **labels}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": every}}


def pod(
    name: str = "p",
    requests: Mapping[str, str] | None = None,
    *,
    namespace: str = "default",
    limits: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, object] | None = None,
    phase: str = "",
    **spec: Any,
) -> Json:
    """Return a Pod of one container, or of those in ``spec``; annotations may be documents."""
    asked = {"cpu": "2", "memory": "4Gi"} if requests is None else dict(requests)
    main = {"name": "main", "resources": {"requests": asked, "limits": dict(limits or {})}}
    texts = {
        key: value if isinstance(value, str) else json.dumps(value)
        for key, value in (annotations or {}).items()
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": f"uid-{name}",
            "resourceVersion": "9",
            "labels": dict(labels or {}),
            "annotations": texts,
        },
        "spec": {"containers": [main], **spec},
        "status": {"phase": phase or ("Running" if "nodeName" in spec else "Pending")},
    }


def lsr(name: str = "p", cpus: int = 2, **more: Any) -> Json:
    """Return a pod that owns CPUs."""
    amounts = {"cpu": str(cpus), "memory": "1Gi"}
    labels = {"koordinator.sh/qosClass": "LSR", **more.pop("labels", {})}
    return pod(name, amounts, limits=amounts, labels=labels, **more)


def topology(
    name: str = "n1",
    *,
    cpus: Sequence[tuple[int, int, int, int]] = (),
    numa_nodes: int = 2,
    annotations: Mapping[str, object] | None = None,
    policies: Sequence[str] = (),
    **more: Any,
) -> Json:
    """Return a NodeResourceTopology: 8 CPUs, two threads a core, over two NUMA nodes.

    Args:
        name: Of its node.
        cpus: (Id, core, socket, NUMA node), where it is to be others.
        numa_nodes: How many zones it has, of 8 GiB each.
        annotations: Further ones, as documents.
        policies: Of the topology manager.
        more: Further fields of the object.

    """
    placed = cpus or [(i, i // 2, 0, i // 4) for i in range(8)]
    detail = [dict(zip(("id", "core", "socket", "node"), cpu, strict=True)) for cpu in placed]
    documents = {"node.koordinator.sh/cpu-topology": {"detail": detail}, **(annotations or {})}
    return {
        "apiVersion": "topology.node.k8s.io/v1alpha1",
        "kind": "NodeResourceTopology",
        "metadata": {
            "name": name,
            "annotations": {key: json.dumps(value) for key, value in documents.items()},
        },
        "topologyPolicies": list(policies),
        "zones": [
            {
                "name": f"node-{i}",
                "type": "Node",
                "resources": [
                    {"name": "cpu", "capacity": "4", "allocatable": "4", "available": "4"},
                    {"name": "memory", "capacity": "8Gi", "allocatable": "8Gi", "available": "8Gi"},
                ],
            }
            for i in range(numa_nodes)
        ],
        **more,
    }


def gpu(minor: int, **more: Any) -> Json:
    """Return a GPU of 16 GiB, as a Device object has it."""
    return {
        "type": "gpu",
        "id": f"GPU-{minor}",
        "minor": minor,
        "health": True,
        "resources": {
            "koordinator.sh/gpu-core": "100",
            "koordinator.sh/gpu-memory": "16Gi",
            "koordinator.sh/gpu-memory-ratio": "100",
        },
        "topology": {"socketID": 0, "nodeID": minor // 2, "pcieID": f"pci0000:{minor // 2}0"},
        **more,
    }


def device(name: str = "n1", devices: Sequence[Json] = (), **metadata: Any) -> Json:
    """Return a Device object: four GPUs on two NUMA nodes, or what is given."""
    return {
        "apiVersion": "scheduling.koordinator.sh/v1alpha1",
        "kind": "Device",
        "metadata": {"name": name, **metadata},
        "spec": {"devices": list(devices) or [gpu(minor) for minor in range(4)]},
    }


def spreading(app: str, key: str, **more: Any) -> Json:
    """Return a constraint by which the pods of an app have to be spread evenly."""
    return {
        "maxSkew": 1,
        "topologyKey": key,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": app}},
        **more,
    }


def pod_group(name: str, minimum: int, **metadata: Any) -> Json:
    """Return a PodGroup of Koordinator."""
    return {
        "apiVersion": "scheduling.sigs.k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default", **metadata},
        "spec": {"minMember": minimum},
    }


def member(name: str, gang: str, requests: Mapping[str, str] | None = None, **more: Any) -> Json:
    """Return a pod of a gang, which names its PodGroup."""
    return pod(name, requests, labels={GROUP: gang}, **more)


def held(*minors: int) -> Mapping[str, object]:
    """Return the annotation of a pod that holds GPUs."""
    full = {"koordinator.sh/gpu-core": "100", "koordinator.sh/gpu-memory-ratio": "100"}
    given = [{"minor": minor, "resources": full} for minor in minors]
    return {"scheduling.koordinator.sh/device-allocated": {"gpu": given}}


def owned(cpus: str) -> Mapping[str, object]:
    """Return the annotation of a pod that owns CPUs."""
    return {"scheduling.koordinator.sh/resource-status": {"cpuset": cpus}}
