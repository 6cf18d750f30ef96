"""NodeResourceTopology in and out, and the kubelet's own file (C15, C16, C5)."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from annotations.documents import spoilt
from kernel_trees import files_of, smt_machine
from placer.node.discover import discover_hardware, machine_from_inventory
from placer.node.discover.inventory import HardwareInventory
from placer.node.discover.machine import DiscoveredMachine
from placer.node.discover.node_resource_topology import write_node_resource_topology
from placer.node.discover.report import DiscoverOutputKind, discovered_machine_to_dict
from placer.node.discover.sysfs import read_sysfs
from placer_models.cpuset import format_cpu_list
from placer_models.files.errors import InputError
from placer_models.instance.machine_schema import MachineFile
from placer_models.instance.machine_schema import machine_of_file as read_machine
from placer_models.policy import AlignmentPolicy, AlignmentScope
from placer_models.topology import Hugepages

TOPOLOGY = [(0, 0, 0, 0), (1, 1, 0, 0), (2, 0, 1, 1), (3, 1, 1, 1), (8, 0, 0, 0)]


def an_object(**changes: object) -> dict[str, Any]:
    """Return an object with five CPUs on two packages, whose cores have the same numbers."""
    names = ("id", "core", "socket", "node")
    detail = [dict(zip(names, row, strict=True)) for row in TOPOLOGY]
    annotations = {
        "node.koordinator.sh/cpu-topology": json.dumps({"detail": detail}),
        "kubelet.koordinator.sh/cpu-manager-policy": '{"policy":"static","reservedCPUs":"0"}',
        "node.koordinator.sh/pod-cpu-allocs": '[{"name":"a","uid":"u","cpuset":"3"}]',
    }
    return {
        "apiVersion": "topology.node.k8s.io/v1alpha2",
        "kind": "NodeResourceTopology",
        "metadata": {"name": "n1", "annotations": annotations},
        "topologyPolicies": ["SingleNUMANodePodLevel"],
        "zones": [
            {
                "name": "node-0",
                "type": "Node",
                "costs": [{"name": "node-0", "value": 10}, {"name": "node-1", "value": 20}],
                "resources": [
                    {"name": "cpu", "capacity": "3", "allocatable": "2", "available": "2"},
                    {"name": "memory", "capacity": "4Gi"},
                    {"name": "hugepages-2Mi", "capacity": "8Mi"},
                    {"name": "nvidia.com/gpu", "capacity": 2},
                ],
            },
            {
                "name": "node-1",
                "type": "Node",
                "costs": [{"name": "node-1", "value": 10}, {"name": "node-0", "value": 20}],
                "resources": [
                    {"name": "nvidia.com/gpu", "capacity": 1},
                    {"name": "example.com/fpga", "capacity": 1},
                ],
            },
        ],
    } | changes


def read(folder: Path, tree: object) -> HardwareInventory:
    file = folder / "nrt.json"
    file.write_text(json.dumps(tree))
    return discover_hardware(file)


def test_an_object_is_read_whole(tmp_path: Path) -> None:
    """
    Cores by package and number, memory, pages, distances, devices by zone.
    """
    found = machine_from_inventory(read(tmp_path, an_object()))
    topology = found.machine.topology

    assert sorted(map(format_cpu_list, topology.cores.values())) == ["0,8", "1", "2", "3"]
    assert [cpu.numa_node for cpu in topology.cpus] == [0, 0, 1, 1, 0]
    assert topology.packages == 2
    assert topology.numa_distances == ((10, 20), (20, 10))
    assert [node.memory_bytes for node in topology.numa_nodes] == [2**32, 0]
    assert topology.numa_nodes[0].hugepages == (Hugepages(2**21, 4),)
    assert [(d.type, d.minor, d.numa_node) for d in found.machine.devices] == [
        ("example.com/fpga", 0, 1),
        ("gpu", 0, 0),
        ("gpu", 1, 0),
        ("gpu", 2, 1),
    ]


def test_what_the_kubelet_keeps_or_has_given_out_is_reserved(tmp_path: Path) -> None:
    """
    CPU 0 is reserved, CPU 3 belongs to a pod that nobody else names: neither can be given.
    """
    found = machine_from_inventory(read(tmp_path, an_object()))
    node = found.node()

    assert (node.name, format_cpu_list(node.reserved_cpus)) == ("n1", "0,3")
    assert (node.alignment, node.scope) == (AlignmentPolicy.SINGLE_NUMA_NODE, AlignmentScope.POD)
    assert "pods own CPU 3; rule: a node of this machine reserves them" in found.warnings


@pytest.mark.parametrize(
    ("changes", "policy", "scope"),
    [
        ({"topologyPolicies": ["None"]}, None, None),
        ({"topologyPolicies": ["BestEffort"]}, AlignmentPolicy.BEST_EFFORT, None),
        (
            {"topologyPolicies": ["RestrictedContainerLevel"]},
            AlignmentPolicy.RESTRICTED,
            AlignmentScope.CONTAINER,
        ),
        (
            {
                "topologyPolicies": [],
                "attributes": [
                    {"name": "topologyManagerPolicy", "value": "single-numa-node"},
                    {"name": "topologyManagerScope", "value": "pod"},
                ],
            },
            AlignmentPolicy.SINGLE_NUMA_NODE,
            AlignmentScope.POD,
        ),
    ],
)
def test_alignment_is_said_in_two_ways(
    tmp_path: Path,
    changes: dict[str, object],
    policy: AlignmentPolicy | None,
    scope: AlignmentScope | None,
) -> None:
    """
    In one word, or as attributes of the kubelet's topology manager (C12, C17).
    """
    inventory = read(tmp_path, an_object(**changes))

    assert (inventory.alignment, inventory.scope) == (policy, scope)


def test_a_machine_is_written_and_read_back(tmp_path: Path) -> None:
    """
    Out as Koordinator's agent would write it, and in again: the same CPUs, memory and node.
    """
    status = {"proc/self/status": "Cpus_allowed_list:\t1-7", "proc/sys/kernel/hostname": "n"}
    here = machine_from_inventory(read_sysfs(files_of(smt_machine(), status)))
    written = write_node_resource_topology(here)
    file = tmp_path / "nrt.yaml"
    file.write_text(yaml.safe_dump(written))
    back = machine_from_inventory(discover_hardware(file))

    def facts(found: DiscoveredMachine) -> object:
        topology = found.machine.topology
        cpus = [(c.id, c.core, c.package, c.numa_node) for c in topology.cpus]
        return cpus, topology.numa_nodes, topology.numa_distances, found.node().reserved_cpus

    assert facts(back) == facts(here)
    assert written["topologyPolicies"] == ["None"]
    annotations = written["metadata"]["annotations"]
    assert annotations["node.koordinator.sh/cpu-shared-pools"] == (
        '[{"socket":0,"node":0,"cpuset":"1,4-5"},{"socket":1,"node":1,"cpuset":"2-3,6-7"}]'
    )
    zone = written["zones"][0]
    assert zone["resources"][0] == {
        "name": "cpu",
        "capacity": "4",
        "allocatable": "3",
        "available": "3",
    }


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"kind": "Machine"}, "got 'kind: Machine'; expected one of 'kind: NodeResourceTopology'"),
        (
            {"metadata": {"name": "n"}},
            "node.koordinator.sh/cpu-topology: NodeResourceTopology n: names",
        ),
        (
            {"topologyPolicies": ["Whatever"]},
            "topologyPolicies[0]: NodeResourceTopology n1: got 'Wh",
        ),
        ({"zones": 3}, ":1: zones: NodeResourceTopology n1: got 3; expected a list"),
        (
            {"zones": [{"name": "node-0", "resources": [{"name": "memory", "capacity": "much"}]}]},
            "zones[0].resources.memory: ",
        ),
        (
            {"zones": [{"name": "node-0", "resources": [{"name": "x/y", "capacity": 9000}]}]},
            "zones: NodeResourceTopology n1: 9000 devices of x/y; there are 1024 at most",
        ),
        (
            {"zones": [{"name": "node-0", "resources": [{"name": "a b", "capacity": 1}]}]},
            "'a b' is no name of a resource",
        ),
        ({"zones": [{"name": "node-0"}, {"name": "node-0"}]}, "zone 0 is there twice"),
    ],
)
def test_other_objects_are_refused(tmp_path: Path, changes: dict[str, object], words: str) -> None:
    """
    With the place in the object.
    """
    with pytest.raises(InputError) as caught:
        read(tmp_path, an_object(**changes))

    assert words in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path / "nrt.json"))


@given(st.data())
def test_any_part_of_an_object_may_be_anything(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """
    It becomes a machine, or one message.
    """
    folder = tmp_path_factory.getbasetemp()
    message = ""
    try:
        found = machine_from_inventory(read(folder, spoilt(an_object(), data.draw)))
        written = json.dumps(discovered_machine_to_dict(found, DiscoverOutputKind.MACHINE))
        assert read_machine(MachineFile.model_validate_json(written)) == found.machine
        write_node_resource_topology(found)
    except InputError as error:
        message = str(error)

    assert not message or message.startswith(str(folder))


def test_cpus_of_pods_that_the_object_lacks_are_told_and_left_out(tmp_path: Path) -> None:
    """
    No node can reserve them; those that it has it reserves.
    """
    wrong = an_object()
    annotations = wrong["metadata"]["annotations"]
    alloc = [{"name": "a", "uid": "u", "cpuset": "3,7"}]
    annotations["node.koordinator.sh/pod-cpu-allocs"] = json.dumps(alloc)
    file = tmp_path / "nrt.json"
    file.write_text(json.dumps(wrong))
    found = machine_from_inventory(discover_hardware(file))
    assert found.reserved == {0, 3}
    assert "CPUs in pod-cpu-allocs that cpu-topology lacks are left out" in found.warnings
