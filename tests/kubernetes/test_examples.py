"""Objects that others publish as examples read, or have the error that is right."""

from pathlib import Path

import pytest

from placer.kubernetes.objects import Objects
from placer_models.kubernetes.stream import read_objects
from shared_files import shared

FOLDER = "topologies/clusters/k8s"

READS = {
    "koordinator_device_1.yaml": "Device node-1",
    "koordinator_nrt_cpu_topology.yaml": "NodeResourceTopology node1",
    "nrt_4numa_nic_example.yaml": "NodeResourceTopology node1",
    "nrt_worker_node_A.yaml": "NodeResourceTopology worker-node-a",
    "nrt_worker_node_B.yaml": "NodeResourceTopology worker-node-b",
}
"""File -> the object that it holds."""

REFUSED = {
    # Comments inside the JSON of an annotation.
    "koordinator_device_0.yaml": "gpu-partitions: Device node-1: $: is not JSON",
    # A list without a kind; fields of no object at all.
    "kep4815_mig_counters.yaml": "apiVersion: is missing",
    "resourceslice_nvidia_gpu_mig_vfio_devices.yaml": "a list; expected an object",
    # A HyperNode writes 'version' where Kubernetes has 'apiVersion'.
    "volcano_hypernodes.yaml": "apiVersion: is missing",
    # The configuration of another scheduler.
    "hived_config_basic.yaml": "apiVersion: is missing",
    "hived_config_design.yaml": "apiVersion: is missing",
}
"""File -> what is wrong with it."""

SKIPPED = {
    "resourceslice_2node_8xh100_real.yaml": 4,
    "resourceslice_dra_cpu_0.yaml": 2,
    "resourceslice_dra_cpu_1.yaml": 1,
    "resourceslice_dranet_h100_nic_gke.yaml": 1,
    "resourceslice_kep4815_partitionable_and_multihost.yaml": 4,
}
"""File of objects of a kind that is not read -> how many."""


def read(path: Path) -> Objects:
    """Return what a file says."""
    objects = Objects()
    for found in read_objects(path):
        objects.add(found)
    return objects


@pytest.mark.parametrize(("name", "title"), READS.items())
def test_an_example_reads(name: str, title: str) -> None:
    """
    Its object is taken in, with no fault.
    """
    objects = read(shared(f"{FOLDER}/{name}"))
    assert not objects.faults
    assert list(objects.places) == [title]


@pytest.mark.parametrize(("name", "message"), REFUSED.items())
def test_an_example_that_is_no_object_says_why(name: str, message: str) -> None:
    """
    With its file and line.
    """
    objects = read(shared(f"{FOLDER}/{name}"))
    assert not objects.places
    first = str(objects.faults[0])
    assert f"{name}:" in first
    assert message in first


@pytest.mark.parametrize(("name", "count"), SKIPPED.items())
def test_an_example_of_a_kind_that_is_not_read_is_counted(name: str, count: int) -> None:
    """
    One line in the summary says how many.
    """
    objects = read(shared(f"{FOLDER}/{name}"))
    assert not objects.faults
    assert dict(objects.skipped) == {"ResourceSlice (resource.k8s.io/v1)": count}


def test_every_example_is_in_a_table() -> None:
    """
    So that none is forgotten.
    """
    files = {path.name for path in shared(FOLDER).iterdir()}
    assert files == READS.keys() | REFUSED.keys() | SKIPPED.keys()
