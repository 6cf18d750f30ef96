"""Partition tables and scopes in files."""

from collections.abc import Callable
from pathlib import Path

import pytest

from features.partitions import partitioned
from instance.test_round_trip import canonical, read_back
from placer.load import is_catalogue_machine
from placer_models.cluster import Instance
from placer_models.instance.writer import instance_to_yaml
from placer_models.policy import DeviceScope, PartitionPolicy

TEXT = """\
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
    instance = read(TEXT)
    a, b, c = instance.nodes

    assert a.machine.partitions == ((0,), (0, 1), (2, 3), (0, 1, 2, 3))
    assert (a.table, a.partition_policy) == (a.machine.partitions, PartitionPolicy.HONOR)
    assert (b.table, b.partition_policy) == (((1, 2),), PartitionPolicy.PREFER)
    assert c.table is None
    assert instance.gangs[0].pods[0].spec.scopes == (("gpu", DeviceScope.NUMA_NODE),)


@pytest.mark.parametrize("seed", range(20))
def test_what_is_written_is_read_back(seed: int, tmp_path: Path) -> None:
    """
    Tables, policies and scopes of random worlds.
    """
    instance = partitioned(seed)

    again = read_back(instance_to_yaml(instance, is_catalogue_machine), tmp_path)

    assert canonical(again) == canonical(instance)
