"""Objects that others publish as examples read, or have the error that is right."""

from pathlib import Path

import pytest

from placer.kubernetes.objects import ClusterObjects
from placer_models.kubernetes.stream import load_kubernetes_objects
from shared_files import shared

FOLDER = "topologies/clusters/k8s"

READS = {
    "koordinator_device_1.yaml": ["Device node-1"],
    "koordinator_nrt_cpu_topology.yaml": ["NodeResourceTopology node1"],
    "nrt_4numa_nic_example.yaml": ["NodeResourceTopology node1"],
    "nrt_worker_node_A.yaml": ["NodeResourceTopology worker-node-a"],
    "nrt_worker_node_B.yaml": ["NodeResourceTopology worker-node-b"],
    "resourceslice_2node_8xh100_real.yaml": [
        "ResourceSlice gpu-node-1-compute-domain.nvidia.com-q9xqc",
        "ResourceSlice gpu-node-1-gpu.nvidia.com-7cbz2",
        "ResourceSlice gpu-node-2-compute-domain.nvidia.com-2n2cq",
        "ResourceSlice gpu-node-2-gpu.nvidia.com-79gvw",
    ],
    "resourceslice_dra_cpu_0.yaml": [
        "ResourceSlice 00000-dra.cpu-dra-driver-cpu-worker-tp869",
        "ResourceSlice dra-driver-cpu-worker-dra.cpu-qskwf",
    ],
    "resourceslice_dra_cpu_1.yaml": ["ResourceSlice 00000-dra.cpu-dra-driver-cpu-worker-v7pdl"],
}
"""File -> the objects that it holds."""

REFUSED = {
    # Comments inside the JSON of an annotation.
    "koordinator_device_0.yaml": "gpu-partitions: Device node-1: $: is not JSON",
    # A list without a kind; fields of no object at all.
    "kep4815_mig_counters.yaml": "apiVersion: is missing",
    "resourceslice_nvidia_gpu_mig_vfio_devices.yaml": "a list; expected an object",
    # A HyperNode writes 'version' where Kubernetes has 'apiVersion'.
    "volcano_hypernodes.yaml": "apiVersion: is missing",
    # No driver, no pool; two objects of one name, and amounts as an alpha version had them.
    "resourceslice_dranet_h100_nic_gke.yaml": "-8nq9c: is missing",
    "resourceslice_kep4815_partitionable_and_multihost.yaml": "is given already at",
    # The configuration of another scheduler.
    "hived_config_basic.yaml": "apiVersion: is missing",
    "hived_config_design.yaml": "apiVersion: is missing",
}
"""File -> what is wrong with it."""

BESIDE = {
    "resourceslice_kep4815_partitionable_and_multihost.yaml": [
        "ResourceSlice counter-slice",
        "ResourceSlice device-slice",
    ],
}
"""File -> objects in it that read all the same."""


def read(path: Path) -> ClusterObjects:
    """Return what a file says."""
    objects = ClusterObjects()
    for found in load_kubernetes_objects(path):
        objects.add(found)
    return objects


@pytest.mark.parametrize(("name", "titles"), READS.items())
def test_an_example_reads(name: str, titles: list[str]) -> None:
    """
    Its objects are taken in, with no fault.
    """
    objects = read(shared(f"{FOLDER}/{name}"))
    assert not objects.faults
    assert list(objects.places) == titles


@pytest.mark.parametrize(("name", "message"), REFUSED.items())
def test_an_example_that_is_no_object_says_why(name: str, message: str) -> None:
    """
    With its file and line.
    """
    objects = read(shared(f"{FOLDER}/{name}"))
    assert list(objects.places) == BESIDE.get(name, [])
    first = str(objects.faults[0])
    assert f"{name}:" in first
    assert message in first
