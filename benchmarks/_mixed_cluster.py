"""A cluster of 50 nodes as a dump: nodes of several kinds, pods of many wishes, and claims."""

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from _node_objects import devices, topology

from placer.load import load_instance
from placer_models.cluster import Instance

Json = dict[str, Any]

SEED = 20261123
ZONES = "abc"
DRIVER = "gpu.nvidia.com"
ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
IGNORED = "IgnoredDuringExecution"


def mixed_cluster(folder: Path) -> Instance:
    """Write the dump to a folder, and return what is read of it."""
    path = folder / "cluster.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects())}))
    return load_instance([path])


def objects() -> Iterator[Json]:
    """Yield the objects: 34 general nodes, 6 with GPUs, 4 with GPUs for claims, 6 with NUMA."""
    draw = Random(SEED)
    general = [f"w-{i}" for i in range(34)]
    for i, name in enumerate(general):
        taints = [{"key": "spot", "effect": "PreferNoSchedule"}] if i % 11 == 3 else []
        labels = {"disk": "ssd" if i % 2 else "hdd"}
        yield node(name, i, 16, 64, labels, taints, unschedulable=i == 7)
    for i in range(6):
        yield node(f"gpu-{i}", i, 64, 512, {"accel": "gpu"}, [only("gpu")])
        yield topology(f"gpu-{i}", 64, 512)
        yield devices(f"gpu-{i}", 8)
    for i in range(4):
        yield node(f"dra-{i}", i, 64, 512, {"accel": "dra"}, [only("dra")])
        yield resource_slice(f"dra-{i}", 4)
    for i in range(6):
        policy = {"node.koordinator.sh/numa-topology-policy": "BestEffort"}
        yield node(f"numa-{i}", i, 32, 128, {"accel": "numa", **policy}, [only("numa")])
        yield topology(f"numa-{i}", 32, 128)
    yield from running(draw, general)
    yield from waiting()
    yield from claimed()


def running(draw: Random, general: list[str]) -> Iterator[Json]:
    """Yield pods that run, more on some nodes than on others."""
    for i in range(110):
        amounts = {"cpu": draw.choice(("250m", "500m", "1", "2")), "memory": "512Mi"}
        yield pod(f"old-{i}", amounts, {"app": "old"}, nodeName=draw.choice(general))
    for i, name in enumerate(("w-1", "w-12", "w-23")):
        apart = term("podAntiAffinity", {"app": "base"}, ZONE)
        yield pod(f"base-{i}", {"cpu": "2"}, {"app": "base"}, affinity=apart, nodeName=name)


def waiting() -> Iterator[Json]:
    """Yield pods that spread, keep apart, stay near, own CPUs or want GPUs; some are too large."""
    for i in range(14):
        yield pod(f"front-{i}", {"cpu": "500m"}, {"app": "front"}, **spread("front", ZONE))
    for i in range(12):
        yield pod(f"host-{i}", {"cpu": "250m"}, {"app": "host"}, **spread("host", HOST))
    for i in range(9):
        apart = term("podAntiAffinity", {"app": "apart"}, HOST)
        yield pod(f"apart-{i}", {"cpu": "1"}, {"app": "apart"}, affinity=apart)
    for i in range(5):
        near = term("podAffinity", {"app": "base"}, ZONE)
        yield pod(f"near-{i}", {"cpu": "500m"}, {"app": "near"}, affinity=near)
    for i in range(4):
        near = term("podAffinity", {"app": "own"}, ZONE)
        yield pod(f"own-{i}", {"cpu": "500m"}, {"app": "own"}, affinity=near)
    for i in range(20):
        amounts = {"cpu": "4", "memory": "16Gi", "nvidia.com/gpu": str(1 + i % 4)}
        yield pod(f"train-{i}", amounts, qos="LSR", **tolerates("gpu"))
    for i in range(16):
        amounts = {"cpu": str(2 + 2 * (i % 3)), "memory": "8Gi"}
        yield pod(f"pinned-{i}", amounts, qos="LSR", **tolerates("numa"))
    yield {
        "apiVersion": "scheduling.sigs.k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": "gang", "namespace": "default"},
        "spec": {"minMember": 6},
    }
    member = {"pod-group.scheduling.sigs.k8s.io": "gang"}
    for i in range(6):
        amounts = {"cpu": "8", "memory": "32Gi", "nvidia.com/gpu": "4"}
        yield pod(f"gang-{i}", amounts, member, qos="LSR", **tolerates("gpu"))
    for i in range(3):
        yield pod(f"large-{i}", {"cpu": str(40 + 40 * i)}, {"app": "large"})


def claimed() -> Iterator[Json]:
    """Yield pods with claims on one GPU, or on two below one PCIe root, and what they name."""
    yield {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "gpu"},
        "spec": {
            "selectors": [
                {
                    "cel": {
                        "expression": f"device.driver == '{DRIVER}' && "
                        f"device.attributes['{DRIVER}'].type == 'gpu'"
                    }
                }
            ]
        },
    }
    for i in range(14):
        count = 1 + i % 2
        asked: Json = {"requests": [{"name": "g", "exactly": {"deviceClassName": "gpu"}}]}
        asked["requests"][0]["exactly"]["count"] = count
        if count > 1:
            root = "resource.kubernetes.io/pcieRoot"
            asked["constraints"] = [{"requests": ["g"], "matchAttribute": root}]
        yield {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"name": f"c-{i}", "namespace": "default", "uid": f"uid-c-{i}"},
            "spec": {"devices": asked},
        }
        claims = [{"name": "g", "resourceClaimName": f"c-{i}"}]
        amounts = {"cpu": "2", "memory": "4Gi"}
        yield pod(f"claim-{i}", amounts, resourceClaims=claims, **tolerates("dra"))


def node(
    name: str,
    number: int,
    cpus: int,
    memory_gib: int,
    labels: dict[str, str],
    taints: list[Json],
    **spec: object,
) -> Json:
    amounts = {"cpu": str(cpus), "memory": f"{memory_gib}Gi", "pods": "110"}
    zone = {HOST: name, ZONE: f"zone-{ZONES[number % 3]}"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "uid": f"uid-{name}", "labels": zone | labels},
        "spec": {"taints": taints, **spec},
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def only(key: str) -> Json:
    """Return the taint of nodes that are for some pods alone."""
    return {"key": key, "effect": "NoSchedule"}


def tolerates(key: str) -> Json:
    return {"tolerations": [{"key": key, "operator": "Exists"}], "nodeSelector": {"accel": key}}


def pod(
    name: str, amounts: dict[str, str], labels: dict[str, str] | None = None, **more: Any
) -> Json:
    """Return a pod; ``qos`` is Koordinator's, all else is of its spec."""
    qos = more.pop("qos", "")
    labels = {**(labels or {}), **({"koordinator.sh/qosClass": qos} if qos else {})}
    limits = amounts if qos else {k: v for k, v in amounts.items() if "/" in k}
    main = {"name": "main", "resources": {"requests": amounts, "limits": limits}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}", "labels": labels},
        "spec": {"containers": [main], **more},
        "status": {"phase": "Running" if "nodeName" in more else "Pending"},
    }


def spread(app: str, key: str) -> Json:
    selector = {"matchLabels": {"app": app}}
    constraint = {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule"}
    return {"topologySpreadConstraints": [{**constraint, "labelSelector": selector}]}


def term(kind: str, labels: dict[str, str], key: str) -> Json:
    """Return a required affinity to pods with labels, or an anti-affinity."""
    asked = {"labelSelector": {"matchLabels": labels}, "topologyKey": key}
    return {kind: {f"requiredDuringScheduling{IGNORED}": [asked]}}


def resource_slice(name: str, count: int) -> Json:
    """Return the GPUs that a driver publishes for a node, two below each PCIe root."""
    listed = [
        {
            "name": f"gpu-{number}",
            "attributes": {
                "type": {"string": "gpu"},
                "uuid": {"string": f"GPU-{name}-{number}"},
                "productName": {"string": "H100"},
                "resource.kubernetes.io/pcieRoot": {"string": f"pci0000:{number // 2:02x}"},
            },
            "capacity": {"memory": {"value": "80Gi"}},
        }
        for number in range(count)
    ]
    pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": f"{name}-{DRIVER}"},
        "spec": {"driver": DRIVER, "nodeName": name, "pool": pool, "devices": listed},
    }
