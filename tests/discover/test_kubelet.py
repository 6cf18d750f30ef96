"""What a machine's kubelet has given out is given to nobody (C16, D12)."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from kernel_trees import Tree, a_cpu, a_node, files_of, write_tree
from kubernetes.kubelet_rows import row_of
from kubernetes_dumps import read
from kubernetes_worlds import node
from placer.node.discover import discover_hardware
from placer.node.discover.device_object import write_device_object
from placer.node.discover.inventory import DiscoveredDevices, HardwareInventory
from placer.node.discover.kubelet import with_kubelet_allocations
from placer.node.discover.machine import machine_from_inventory
from placer.node.discover.node_resource_topology import write_node_resource_topology
from placer.node.discover.sysfs import read_sysfs
from placer_models.cpuset import format_cpu_list
from placer_models.device import Device
from placer_models.files.errors import InputError
from placer_models.kubernetes.checkpoints.checksum import fnv_1a
from placer_models.kubernetes.checkpoints.cpu_manager import CPU_MANAGER_STATE
from placer_models.kubernetes.checkpoints.device_manager import DEVICE_MANAGER_CHECKPOINT
from placer_models.kubernetes.checkpoints.memory_manager import MEMORY_MANAGER_STATE
from placer_models.topology import Hugepages, NumaNode

GIB = 2**30
GPUS = tuple(Device("gpu", i, id=f"GPU-{i}", numa_node=0) for i in range(5))


def found(tree: Tree, devices: tuple[Device, ...] = (), mib: int = 1024) -> HardwareInventory:
    """Return what is found of a machine of eight CPUs."""
    files = files_of(tree, *map(a_cpu, range(8)), a_node(0, "0-7", mib))
    return with_kubelet_allocations(
        files, replace(read_sysfs(files), found=DiscoveredDevices(devices))
    )


def given(ids: list[str], resource: str = "nvidia.com/gpu") -> Tree:
    """Return a checkpoint in which a pod has devices."""
    shown = (
        "(checkpoint.checkpointData){PodDeviceEntries:([]checkpoint.PodDevicesEntry)[{PodUID:"
        f"(string)u ContainerName:(string)c ResourceName:(string){resource} DeviceIDs:"
        f"(checkpoint.DevicesPerNUMA)map[-1:[{' '.join(ids)}]] AllocResp:([]uint8)<nil>}}] "
        "RegisteredDevices:(map[string][]string)map[]}"
    )
    entry = {
        "PodUID": "u",
        "ContainerName": "c",
        "ResourceName": resource,
        "DeviceIDs": {"-1": ids},
        "AllocResp": None,
    }
    tree = {
        "Data": {"PodDeviceEntries": [entry], "RegisteredDevices": {}},
        "Checksum": fnv_1a(shown.encode()),
    }
    return {DEVICE_MANAGER_CHECKPOINT: json.dumps(tree)}


def test_cpus_of_pods_are_reserved() -> None:
    """
    Those of containers, and those that pods have as a whole.
    """
    inventory = found({CPU_MANAGER_STATE: row_of("cpu", "4")})

    assert inventory.policy is not None
    assert inventory.policy.policy == "static"
    assert format_cpu_list(machine_from_inventory(inventory).node().reserved_cpus) == "1-2,5,7"


def test_devices_of_pods_are_given_to_nobody() -> None:
    """
    By the ids of their plugin, on a node of the machine; the machine itself has them.
    """
    inventory = found({DEVICE_MANAGER_CHECKPOINT: row_of("devices", "2")}, GPUS)
    machine = machine_from_inventory(inventory)

    assert machine.node().unhealthy == {("gpu", 1), ("gpu", 2), ("gpu", 3)}
    assert machine.node().checkpoint_devices == machine.node().unhealthy
    assert all(device.healthy for device in machine.machine.devices)
    assert "pods hold gpu 1-3; rule: a node of this machine gives them to nobody" in (
        machine.warnings
    )


@pytest.mark.parametrize(
    ("ids", "free"), [(["GPU-1", "GPU-3"], [0, 2, 4]), (["4"], [0, 1, 2, 3]), (["tegra"], [])]
)
def test_a_device_object_says_what_pods_hold(ids: list[str], free: list[int]) -> None:
    """
    All its GPUs are healthy; a dump that has it gives nobody those that a pod holds (D12).
    """
    written = write_device_object(machine_from_inventory(found(given(ids), GPUS), "n1"))
    assert all(one["health"] for one in written["spec"]["devices"])

    instance, _ = read(node(), written)

    (read_back,) = instance.nodes
    assert free == [gpu.minor for gpu in read_back.devices if read_back.is_healthy(gpu)]


def test_a_gpu_that_the_machine_does_not_have_keeps_nothing() -> None:
    """
    It is told, and the Device object names it, for when it is there (D12).
    """
    here = [f"GPU-{i}0000000-0000-0000-0000-000000000000" for i in range(2)]
    other = "GPU-36b27e44-b086-46f7-f2dc-73c36dc65991"
    gpus = tuple(Device("gpu", i, id=id, numa_node=0) for i, id in enumerate(here))
    for ids, held in (([other], []), ([other, here[1]], [1])):
        machine = machine_from_inventory(found(given(ids), gpus), "n1")
        assert machine.node().unhealthy == {("gpu", minor) for minor in held}
        assert any(
            f"a pod holds nvidia.com/gpu {other}, which this machine does not have; rule: nothing "
            "is kept for it" in warning
            for warning in machine.warnings
        )
        written = write_device_object(machine)
        (text,) = written["metadata"]["annotations"].values()
        assert json.loads(text)[0]["deviceIDs"] == [*(here[minor] for minor in held), other]


def test_no_device_of_a_type_is_given_where_nobody_knows_which_is_held() -> None:
    """
    An id that means nothing here may be any of them; of another type it is none of them.
    """
    machine = machine_from_inventory(found(given(["tegra"]), GPUS))
    assert machine.node().unhealthy == {("gpu", minor) for minor in range(5)}
    assert any(
        "a pod holds nvidia.com/gpu 'tegra', and nothing says which gpu that is; rule: a node of "
        "this machine gives no gpu to anybody" in warning
        for warning in machine.warnings
    )
    machine = machine_from_inventory(found(given(["x"], "example.com/fpga"), GPUS))
    assert machine.node().unhealthy == frozenset()


def test_an_instance_of_nobody_knows_which_gpu_holds_those_in_mig_mode() -> None:
    """
    Others are given out.
    """
    inventory = found(given(["MIG-5c89852c"], "nvidia.com/mig-1g.5gb"), GPUS)
    modes = replace(inventory.found, modes=((1, "A100-40GB"), (3, "A100-40GB")))

    node = machine_from_inventory(replace(inventory, found=modes)).node()

    assert node.unhealthy == {("gpu", 1), ("gpu", 3)}
    assert not any(node.is_healthy(one) for one in node.devices if one.type.startswith("mig-"))


def test_memory_of_pods_and_of_the_system_is_given_to_nobody() -> None:
    """
    NUMA node 0 has 64 GiB: the system keeps 1 of them, pods have 8.
    """
    inventory = found({MEMORY_MANAGER_STATE: row_of("memory", "1")}, mib=64 * 1024)
    machine = machine_from_inventory(inventory)

    assert machine.machine.topology.numa_nodes == (NumaNode(0, 64 * GIB),)
    assert machine.node().machine.topology.numa_nodes == (NumaNode(0, 55 * GIB),)
    zone = write_node_resource_topology(machine)["zones"][0]["resources"]
    amounts = {"capacity": "64Gi", "allocatable": "63Gi", "available": "55Gi"}
    assert zone[1] == {"name": "memory", **amounts}


def test_hugepages_of_pods_are_given_to_nobody() -> None:
    """
    They are memory that pods cannot have otherwise.
    """
    text = row_of("memory", "1").replace(
        '"allocatable":1073741824,"reserved":0,"free":1073741824',
        '"allocatable":1073741824,"reserved":4194303,"free":1069547521',
        1,
    )
    with pytest.raises(InputError, match="the file is corrupt: its checksum") as caught:
        found({MEMORY_MANAGER_STATE: text})
    right = str(caught.value).partition("that of what it says ")[2].partition(";")[0]
    wrong = str(caught.value).partition("its checksum is ")[2].partition(",")[0]
    inventory = found({MEMORY_MANAGER_STATE: text.replace(wrong, right)}, mib=64 * 1024)
    pages = (Hugepages(2**21, 100),)
    (numa,) = inventory.numa_nodes
    inventory = replace(inventory, numa_nodes=(replace(numa, hugepages=pages),))

    node = machine_from_inventory(inventory).node()

    left = (Hugepages(2**21, 98),)
    assert node.machine.topology.numa_nodes == (NumaNode(0, 55 * GIB - 2 * 2**21, left),)
    assert node.memory_bytes_in() == {0: 55 * GIB - 100 * 2**21}


@pytest.mark.parametrize(
    ("path", "text", "words"),
    [
        (CPU_MANAGER_STATE, "{", "cpu_manager_state: is not JSON: "),
        (
            CPU_MANAGER_STATE,
            '{"policyName":"static","defaultCpuSet":"0-27","checksum":7}',
            "cpu_manager_state: checksum: the file is corrupt: its checksum is 7, and that of "
            "what it says 273146150; drain the node, delete the file and restart the kubelet",
        ),
        (MEMORY_MANAGER_STATE, "[]", "memory_manager_state: got a list; expected an object; "),
        (
            DEVICE_MANAGER_CHECKPOINT,
            '{"Data":{},"Checksum":1}',
            "kubelet_internal_checkpoint: Data.PodDeviceEntries: is missing; ",
        ),
    ],
)
def test_another_file_in_its_place_is_named(path: str, text: str, words: str) -> None:
    """
    Who holds what is nothing to guess.
    """
    with pytest.raises(InputError, match=words):
        found({path: text})


def test_a_kubelet_may_have_another_root_directory(tmp_path: Path) -> None:
    """
    Then nothing is read of the usual one.
    """
    file = CPU_MANAGER_STATE.removeprefix("var/lib/kubelet/")
    tree = a_cpu(0) | {CPU_MANAGER_STATE: "{cut", f"data/kubelet/{file}": row_of("cpu", "4")}
    root = write_tree(tmp_path, tree)

    inventory = discover_hardware(root, kubelet_root="/data/kubelet")

    assert inventory.policy is not None
    with pytest.raises(InputError, match="cpu_manager_state: is not JSON"):
        discover_hardware(root)
