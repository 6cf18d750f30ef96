"""Objects of a dump that say what a node has inside: NUMA nodes and GPUs."""

import json
from typing import Any

Json = dict[str, Any]


def topology(name: str, cpus: int, memory_gib: int) -> Json:
    """Return a NodeResourceTopology of two NUMA nodes, two threads a core."""
    half = cpus // 2
    detail = [
        {"id": i, "core": i % half, "socket": i % half * 2 // half, "node": i % half * 2 // half}
        for i in range(cpus)
    ]
    rows = [
        {"name": kind, **dict.fromkeys(("capacity", "allocatable", "available"), amount)}
        for kind, amount in (("cpu", str(half)), ("memory", f"{memory_gib // 2}Gi"))
    ]
    return {
        "apiVersion": "topology.node.k8s.io/v1alpha1",
        "kind": "NodeResourceTopology",
        "metadata": {
            "name": name,
            "annotations": {"node.koordinator.sh/cpu-topology": json.dumps({"detail": detail})},
        },
        "topologyPolicies": [],
        "zones": [{"name": f"node-{n}", "type": "Node", "resources": rows} for n in range(2)],
    }


def devices(name: str, count: int) -> Json:
    """Return a Device object of so many GPUs, half of them on each NUMA node."""
    resources = {
        "koordinator.sh/gpu-core": "100",
        "koordinator.sh/gpu-memory": "80Gi",
        "koordinator.sh/gpu-memory-ratio": "100",
    }
    listed = [
        {
            "type": "gpu",
            "id": f"GPU-{name}-{minor}",
            "minor": minor,
            "health": True,
            "resources": resources,
            "topology": {"socketID": 2 * minor // count, "nodeID": 2 * minor // count},
        }
        for minor in range(count)
    ]
    return {
        "apiVersion": "scheduling.koordinator.sh/v1alpha1",
        "kind": "Device",
        "metadata": {"name": name},
        "spec": {"devices": listed},
    }
