"""GPUs in MIG mode and their instances, partition tables and scopes: what files say of them."""

from collections.abc import Callable

import pytest

from features.mig import mig_instance
from features.partitions import partitioned
from instance.test_round_trip import canonical
from instance_texts import reread
from placer_models.cluster import Instance
from placer_models.placement import DeviceGrant
from placer_models.pod import DeviceRequest
from placer_models.policy import PartitionPolicy, SameTypeDevicesScope

TEXT = """\
apiVersion: placer/v1
kind: Instance
machines:
  - name: box
    numaNodes: [{id: 0, memory: 4Gi, cpus: 0-3}]
    devices: [{type: gpu, count: 2}]
nodes:
  - {name: a, machine: box, mig: {H100-80GB: [1]}}
pods:
  - {name: p, requests: {nvidia.com/mig-1g.10gb: 2}}
running:
  - {name: r, node: a, requests: {mig-3g.40gb: 1}, devices: {nvidia.com/mig-3g.40gb: [12]}}
"""


def test_an_instance_is_a_device_of_its_gpu_and_start(read: Callable[..., Instance]) -> None:
    """
    Minor 12 is start 4 of GPU 1, and the id says so.
    """
    instance = read(TEXT)

    assert instance.nodes[0].mig == ((1, "H100-80GB"),)
    assert instance.gangs[0].pods[0].spec.requests.devices == (DeviceRequest("mig-1g.10gb", 2),)
    assert instance.running[0].placement.devices == (
        DeviceGrant("mig-3g.40gb", 12, "gpu-1/3g.40gb@4"),
    )


def test_running_instances_do_not_overlap(refusal: Callable[[str], str]) -> None:
    """
    A second one that shares a slice is refused by name.
    """
    twice = TEXT + (
        "  - {name: s, node: a, requests: {mig-1g.10gb: 1}, devices: {mig-1g.10gb: [13]}}\n"
    )

    assert (
        "running[1].devices.mig-1g.10gb[0]: mig-1g.10gb 13 overlaps an instance that the "
        "running pod 'r' holds; instances of a GPU share no slice" in refusal(twice)
    )


TABLES = """\
apiVersion: placer/v1
kind: Instance
machines:
  - name: box
    numaNodes: [{id: 0, memory: 4Gi, cpus: 0-3}]
    devices: [{type: gpu, count: 4}]
    partitions: [0-3, "1,0", 2-3, 0]
nodes:
  - {name: a, machine: box, gpuPartitionPolicy: Honor}
  - {name: b, machine: box, gpuPartitionPolicy: Prefer, partitions: [1-2]}
  - {name: c, machine: box}
pods:
  - {name: p, requests: {gpu: 2}, requiredTopologyScope: {nvidia.com/gpu: NUMANode}}
"""


def test_tables_stand_in_order_and_a_node_may_have_its_own(read: Callable[..., Instance]) -> None:
    """
    Small partitions first; without a policy nobody looks at the table.
    """
    instance = read(TABLES)
    a, b, c = instance.nodes

    assert a.machine.partitions == ((0,), (0, 1), (2, 3), (0, 1, 2, 3))
    assert (a.table, a.partition_policy) == (a.machine.partitions, PartitionPolicy.HONOR)
    assert (b.table, b.partition_policy) == (((1, 2),), PartitionPolicy.PREFER)
    assert c.table is None
    assert instance.gangs[0].pods[0].spec.scopes == (("gpu", SameTypeDevicesScope.NUMA_NODE),)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("drawn", [mig_instance, partitioned])
def test_what_is_written_is_read_back(drawn: Callable[[int], Instance], seed: int) -> None:
    """
    Modes, requests and instances held, and tables, policies and scopes, of random worlds.
    """
    instance = drawn(seed)

    again = reread(instance)

    assert canonical(again) == canonical(instance)
