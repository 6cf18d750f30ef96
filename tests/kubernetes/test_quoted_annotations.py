"""Annotations as notes about Koordinator quote them: each reads on the object that has it."""

import json
import re
from collections.abc import Callable

import pytest

from kubernetes_worlds import Json, device, node, pod, topology
from placer_models.kubernetes.device import read_kube_koordinator_device
from placer_models.kubernetes.node import read_kube_node
from placer_models.kubernetes.object_fields import Object
from placer_models.kubernetes.pod import read_kube_pod
from placer_models.kubernetes.topology import read_kube_node_resource_topology
from shared_files import shared

Reader = tuple[Callable[[], Json], Callable[[Object], object]]

POD: Reader = (pod, read_kube_pod)
NODE: Reader = (node, read_kube_node)
TOPOLOGY: Reader = (topology, read_kube_node_resource_topology)
DEVICE: Reader = (device, read_kube_koordinator_device)

READ_ON: dict[str, Reader] = {
    "scheduling.koordinator.sh/resource-spec": POD,
    "scheduling.koordinator.sh/resource-status": POD,
    "scheduling.koordinator.sh/numa-topology-spec": POD,
    "scheduling.koordinator.sh/device-allocated": POD,
    "scheduling.koordinator.sh/device-allocate-hint": POD,
    "scheduling.koordinator.sh/device-joint-allocate": POD,
    "scheduling.koordinator.sh/gpu-partition-spec": POD,
    "gang.scheduling.koordinator.sh/network-topology-spec": POD,
    "scheduling.koordinator.sh/gpu-partitions": DEVICE,
    "node.koordinator.sh/cpu-topology": TOPOLOGY,
    "node.koordinator.sh/pod-cpu-allocs": TOPOLOGY,
    "node.koordinator.sh/cpu-shared-pools": TOPOLOGY,
    "kubelet.koordinator.sh/cpu-manager-policy": TOPOLOGY,
    "node.koordinator.sh/reservation": NODE,
    "node.koordinator.sh/system-qos-resource": NODE,
    "node.koordinator.sh/resource-amplification-ratio": NODE,
}

_QUOTED = re.compile(r'^"([a-z.]+/[a-z-]+)"[^:]*: *(?=[{\[])', re.MULTILINE)


def quoted(key: str) -> object:
    """Return an annotation as the notes quote it first."""
    text = shared("research/koordinator.md").read_text("utf-8").replace("\n   ", " ")
    match = next(found for found in _QUOTED.finditer(text) if found[1] == key)
    return json.JSONDecoder().raw_decode(text, match.end())[0]


@pytest.mark.parametrize("key", READ_ON)
def test_a_quoted_annotation_reads(key: str) -> None:
    """
    With no fault, on the object that it is of.
    """
    make, read = READ_ON[key]
    found = make()
    found["metadata"].setdefault("annotations", {})[key] = json.dumps(quoted(key))
    read(found)
