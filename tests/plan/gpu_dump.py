"""A dump of 40 GPU nodes in three zones, as `kubectl` prints one: services, notebooks, training."""

import json
from pathlib import Path

ZONE = "topology.kubernetes.io/zone"
NODES = 40
GPUS = 8

Object = dict[str, object]


def write_dump(file: Path) -> None:
    """Write the dump.

    Nodes 0 to 13 are in zone a, 14 to 26 in b, 27 to 39 in c. Of each ten nodes, six hold a
    service of 4 GPUs and two notebooks of one, three hold a member of a training gang with all
    8 GPUs, and one is empty. On each node runs an agent of a DaemonSet.
    """
    items: list[Object] = [_node(i) for i in range(NODES)]
    items += [_group(gang) for gang in range(4)]
    for i in range(NODES):
        items.append(_pod(f"agent-{i}", i, cpu="1", gpus=0, owner="DaemonSet"))
        match i % 10:
            case 0 | 1 | 2 | 3 | 4 | 5:
                items.append(_pod(f"serve-{i}", i, cpu="16", gpus=4))
                items += [_pod(f"notebook-{2 * i + n}", i, cpu="4", gpus=1) for n in range(2)]
            case 6 | 7 | 8:
                items.append(_pod(f"train-{i}", i, cpu="32", gpus=8, gang=f"train-{i // 10}"))
            case _:
                pass
    document = {"apiVersion": "v1", "kind": "List", "items": items}
    file.write_text(json.dumps(document))


def zone_of(node: int) -> str:
    """Return the zone of a node."""
    return "a" if node < 14 else "b" if node < 27 else "c"


def _node(i: int) -> Object:
    amounts = {"cpu": "96", "memory": "768Gi", "pods": "110", "nvidia.com/gpu": str(GPUS)}
    labels = {
        "kubernetes.io/hostname": f"gpu-{i}",
        "node.kubernetes.io/instance-type": "gpu.8x",
        ZONE: zone_of(i),
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": f"gpu-{i}", "labels": labels},
        "spec": {},
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def _group(number: int) -> Object:
    return {
        "apiVersion": "scheduling.sigs.k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": f"train-{number}", "namespace": "ml"},
        "spec": {"minMember": 3},
    }


def _pod(
    name: str, node: int, *, cpu: str, gpus: int, gang: str = "", owner: str = "ReplicaSet"
) -> Object:
    amounts = {"cpu": cpu, "memory": "16Gi"}
    amounts |= {"nvidia.com/gpu": str(gpus)} if gpus else {}
    metadata: Object = {"name": name, "namespace": "ml"}
    metadata["ownerReferences"] = [
        {"apiVersion": "apps/v1", "kind": owner, "name": "any", "uid": "u", "controller": True}
    ]
    if gang:
        metadata["labels"] = {"pod-group.scheduling.sigs.k8s.io": gang}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {
            "nodeName": f"gpu-{node}",
            "containers": [{"name": "main", "resources": {"requests": amounts, "limits": amounts}}],
        },
        "status": {"phase": "Running"},
    }
