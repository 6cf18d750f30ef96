"""A document in the words of cgroups, systemd, OCI, CDI, environments and command lines."""

import json
from dataclasses import replace

import pytest

from node.node_documents import GIB, a_document, a_node, a_pod, holding
from placer.node.render.cdi import cdi_spec
from placer.node.render.cgroup import (
    CgroupSetting,
    cgroup_settings,
    cpu_weight_of_shares,
    is_same_cgroup_value,
)
from placer.node.render.commands import container_run_flags, numactl_line, taskset_line
from placer.node.render.environment import container_environment_of
from placer.node.render.folder import rendered_container_files
from placer.node.render.oci import container_config_with_placement
from placer.node.render.systemd import INFINITY, dbus_bits_of, systemd_properties_of
from placer.node.targets import ContainerCgroupTarget, desired_container_cgroups
from placer_models.cluster import Node
from placer_models.device import Device
from placer_models.limits import ContainerLimits
from placer_models.node_placement import NodePlacementPod
from placer_models.policy import QosClass

LSE, LSR, LS, BE = QosClass.LSE, QosClass.LSR, QosClass.LS, QosClass.BE


def target(pod: NodePlacementPod, node: Node | None = None) -> ContainerCgroupTarget:
    """What the only container of a pod gets."""
    return desired_container_cgroups(a_document(pod, node=node))[0]


def with_gpus(*ids: str, model: str = "A100", cards: tuple[str, ...] = ()) -> Node:
    """A node with GPUs of these ids, and network cards."""
    node = a_node()
    devices = [Device("gpu", i, id=one, model=model) for i, one in enumerate(ids)]
    devices += [Device("rdma", i, id=one) for i, one in enumerate(cards)]
    return replace(node, machine=replace(node.machine, devices=tuple(devices)))


def texts(found: tuple[CgroupSetting, ...]) -> dict[str, str]:
    """File -> what it is to say."""
    return {one.file: one.text for one in found}


def test_weights_are_those_of_runtimes() -> None:
    """
    The lowest, the common and the highest value of cpu.shares.
    """
    assert [cpu_weight_of_shares(shares) for shares in (2, 1024, 262_144)] == [1, 100, 10_000]


def test_cgroup_files_of_both_versions() -> None:
    """
    The same wishes in the words of each; memory in whole pages.
    """
    pod = a_pod("a", LS, milli=2000, limits=ContainerLimits(2500, GIB + 5, 64))

    assert texts(cgroup_settings(target(pod), 2, ours=True)) == {
        "cpuset.mems": "0-1",
        "cpuset.cpus": "0-7",
        "cpu.max": "250000 100000",
        "cpu.weight": "174",
        "memory.max": str(GIB),
        "memory.swap.max": "max",
        "pids.max": "64",
    }
    assert texts(cgroup_settings(target(pod), 1, ours=True)) == {
        "cpuset.memory_migrate": "1",
        "cpuset.mems": "0-1",
        "cpuset.cpus": "0-7",
        "cpu.cfs_period_us": "100000",
        "cpu.cfs_quota_us": "250000",
        "cpu.shares": "2048",
        "memory.limit_in_bytes": str(GIB),
        "memory.memsw.limit_in_bytes": "-1",
        "pids.max": "64",
    }


def test_of_the_kubelets_cgroups_only_sets_are_written() -> None:
    """
    And the quota of a pod with CPUs of its own is taken away.
    """
    limits = ContainerLimits(2000, GIB, 64)

    assert list(texts(cgroup_settings(target(a_pod("a", LS, limits=limits)), 2, ours=False))) == [
        "cpuset.mems",
        "cpuset.cpus",
    ]
    pinned = texts(cgroup_settings(target(a_pod("a", LSR, "0-1", limits=limits)), 2, ours=False))
    assert pinned["cpu.max"] == "max"
    assert len(pinned) == 3


@pytest.mark.parametrize(
    ("file", "present", "wanted", "agree"),
    [
        ("cpu.max", "max 100000", "max", True),
        ("cpu.max", "max 100000", "50000 100000", False),
        ("cpu.max", "50000 100000", "50000 100000", True),
        ("memory.limit_in_bytes", "9223372036854771712", "-1", True),
        ("memory.limit_in_bytes", "4096", "-1", False),
        ("cpuset.cpus", "0-1\n", "0-1", True),
        ("pids.max", "max", "5", False),
    ],
)
def test_what_the_kernel_words_its_own_way_is_the_same(
    file: str, present: str, wanted: str, agree: bool
) -> None:
    """
    A limit that is none, and the period behind a quota.
    """
    assert is_same_cgroup_value(file, present, wanted) is agree


GPUS = ("GPU-aa", "GPU-bb", "GPU-cc")


def test_gpus_are_named_by_uuid() -> None:
    """
    To the runtime and to the process alike; a container without any is told so.
    """
    node = with_gpus(*GPUS)

    env = dict(container_environment_of(target(holding(a_pod("a"), gpu=(0, 2)), node), node))
    assert env["NVIDIA_VISIBLE_DEVICES"] == env["CUDA_VISIBLE_DEVICES"] == "GPU-aa,GPU-cc"

    none = dict(container_environment_of(target(a_pod("a"), node), node))
    assert none["NVIDIA_VISIBLE_DEVICES"] == "none"
    assert none["CUDA_VISIBLE_DEVICES"] == ""


def test_indices_of_the_node_and_of_the_container_are_never_mixed() -> None:
    """
    Without UUIDs the runtime is told the node's numbers, the process counts from 0.
    """
    node = with_gpus("", "", "")
    env = dict(container_environment_of(target(holding(a_pod("a"), gpu=(1, 2)), node), node))
    assert env["NVIDIA_VISIBLE_DEVICES"] == "1,2"
    assert env["CUDA_VISIBLE_DEVICES"] == "0,1"

    amd = with_gpus("0xaa", "0xbb", model="MI300X")
    env = dict(container_environment_of(target(holding(a_pod("a"), gpu=(1,)), amd), amd))
    assert env["AMD_VISIBLE_DEVICES"] == "0xbb"
    assert env["ROCR_VISIBLE_DEVICES"] == "0"
    assert "CUDA_VISIBLE_DEVICES" not in env


def test_threads_follow_the_cpus() -> None:
    """
    On CPUs of its own each thread has a place; in a pool there are as many as it asked for.
    """
    node = a_node()

    assert dict(container_environment_of(target(a_pod("a", LSE, "1,3")), node)) == {
        "GOMP_CPU_AFFINITY": "1,3",
        "OMP_NUM_THREADS": "2",
        "OMP_PLACES": "{1},{3}",
        "OMP_PROC_BIND": "close",
    }
    assert dict(container_environment_of(target(a_pod("a", milli=1500)), node)) == {
        "OMP_NUM_THREADS": "2"
    }


def test_network_cards_are_named_to_nccl() -> None:
    """
    By their whole names, where all are known.
    """
    node = with_gpus(*GPUS, cards=("mlx5_0", "mlx5_1"))
    pod = holding(a_pod("a"), gpu=(0,), rdma=(1,))

    assert dict(container_environment_of(target(pod, node), node))["NCCL_IB_HCA"] == "=mlx5_1"


def test_what_a_placement_says_goes_first() -> None:
    """
    The environment of a placement is kept as it is.
    """
    pod = a_pod("a")
    part = replace(pod.placement.containers[0], env=(("OMP_NUM_THREADS", "9"), ("X", "y")))
    pod = replace(pod, placement=replace(pod.placement, containers=(part,)))

    assert container_environment_of(target(pod), a_node()) == (("OMP_NUM_THREADS", "9"), ("X", "y"))


CONFIG = {
    "ociVersion": "1.2.0",
    "process": {"args": ["sh"], "env": ["PATH=/bin", "OMP_NUM_THREADS=64"]},
    "linux": {
        "namespaces": [{"type": "pid"}],
        "resources": {"cpu": {"quota": 5000, "period": 10000}, "devices": [{"allow": False}]},
    },
}
FEATURES = {"linux": {"memoryPolicy": {"modes": ["MPOL_BIND", "MPOL_LOCAL"]}}}


def test_a_config_json_gets_what_the_placement_says() -> None:
    """
    All else in it stays, and what was given is not touched.
    """
    before = json.dumps(CONFIG)
    found = target(a_pod("a", LSR, "2-3", memory={1: GIB}, limits=ContainerLimits(2000, GIB, 9)))

    edited = container_config_with_placement(
        CONFIG, found, (("OMP_NUM_THREADS", "2"),), "placer/a", FEATURES
    )

    assert json.dumps(CONFIG) == before
    assert edited["process"] == {"args": ["sh"], "env": ["PATH=/bin", "OMP_NUM_THREADS=2"]}
    assert edited["linux"] == {
        "namespaces": [{"type": "pid"}],
        "cgroupsPath": "/placer/a",
        "memoryPolicy": {"mode": "MPOL_BIND", "nodes": "1"},
        "resources": {
            "devices": [{"allow": False}],
            "cpu": {"cpus": "2-3", "mems": "1", "shares": 2048, "period": 10000},
            "memory": {"limit": GIB},
            "pids": {"limit": 9},
        },
    }


@pytest.mark.parametrize("features", [None, {}, {"linux": {}}, {"linux": {"memoryPolicy": None}}])
def test_a_memory_policy_is_for_runtimes_that_know_it(features: dict | None) -> None:
    """
    Others would refuse the whole bundle, or ignore it.
    """
    found = target(a_pod("a", LSR, "2-3", memory={1: GIB}))

    assert (
        "memoryPolicy"
        not in container_config_with_placement({}, found, (), None, features)["linux"]
    )


def test_a_pool_pod_has_its_quota_in_the_config() -> None:
    """
    And stays in the cgroup that the config says, where it is not ours.
    """
    edited = container_config_with_placement(
        CONFIG, target(a_pod("a", limits=ContainerLimits(1500))), (), None
    )

    cpu = edited["linux"]["resources"]["cpu"]
    assert (cpu["quota"], cpu["period"]) == (150_000, 100_000)
    assert "cgroupsPath" not in edited["linux"]


def test_a_cdi_spec_has_a_device_for_each_container() -> None:
    """
    With its environment, and no field that readers of 1.0 do not know.
    """
    node = with_gpus(*GPUS)
    spec = cdi_spec([target(holding(a_pod("a"), gpu=(1,)), node)], node)

    assert spec["cdiVersion"] == "1.0.0"
    assert spec["kind"] == "placer.dev/container"
    (device,) = spec["devices"]
    assert device["name"] == "default:a:main"
    assert "NVIDIA_VISIBLE_DEVICES=GPU-bb" in device["containerEdits"]["env"]
    assert set(device) == {"name", "containerEdits"}


def test_properties_of_a_systemd_unit() -> None:
    """
    As texts and as D-Bus values: sets are bits, time is rounded up to 10 ms of a second.
    """
    found = systemd_properties_of(
        target(a_pod("a", LS, milli=1000, limits=ContainerLimits(1234, GIB, 9)))
    )
    by_name = {one.name: (one.text, one.bus_name, one.signature, one.value) for one in found}

    assert by_name == {
        "AllowedCPUs": ("0-7", "AllowedCPUs", "ay", b"\xff"),
        "AllowedMemoryNodes": ("0-1", "AllowedMemoryNodes", "ay", b"\x03"),
        "CPUQuota": ("124%", "CPUQuotaPerSecUSec", "t", 1_240_000),
        "CPUWeight": ("100", "CPUWeight", "t", 100),
        "MemoryMax": (str(GIB), "MemoryMax", "t", GIB),
        "TasksMax": ("9", "TasksMax", "t", 9),
    }


def test_an_owner_has_no_quota_and_maybe_a_partition() -> None:
    """
    The partition only where systemd knows the word.
    """
    owner = target(a_pod("a", LSE, "9", node="n0"), a_node(16))
    found = {one.name: one for one in systemd_properties_of(owner, 261, partition="isolated")}

    assert found["CPUQuota"].value == INFINITY
    assert found["AllowedCPUs"].value == b"\x00\x02"
    assert found["CPUSetPartition"].text == "isolated"
    older = {one.name for one in systemd_properties_of(owner, 252, partition="isolated")}
    assert "CPUSetPartition" not in older
    with pytest.raises(ValueError, match="systemd 243 has no AllowedCPUs"):
        systemd_properties_of(owner, 243)


def test_bits_of_a_set() -> None:
    """
    One bit for each id, the lowest first.
    """
    assert dbus_bits_of(frozenset()) == b""
    assert dbus_bits_of(frozenset({0, 8, 15})) == b"\x01\x81"


def test_command_lines() -> None:
    """
    For a process without a runtime, and for docker and podman.
    """
    node = with_gpus(*GPUS)
    pod = holding(
        a_pod("a", LSR, "0-1", memory={0: GIB}, limits=ContainerLimits(2000, GIB, 9)), gpu=(2,)
    )
    found = target(pod, node)

    assert numactl_line(found) == "numactl --physcpubind=0-1 --membind=0 --"
    assert taskset_line(found) == "taskset --cpu-list 0-1"
    assert container_run_flags(found, node) == (
        "--cpuset-cpus=0-1",
        "--cpuset-mems=0",
        "--cpu-shares=2048",
        f"--memory={GIB}b",
        "--pids-limit=9",
        "--device=nvidia.com/gpu=GPU-cc",
    )


def test_a_folder_has_all_of_it() -> None:
    """
    One folder a container, and one CDI spec for the node.
    """
    found = rendered_container_files(a_document(a_pod("a", LSE, "0"), a_pod("b", uid="1")))

    assert sorted(found) == [
        "a@default/main/commands",
        "a@default/main/config.json",
        "a@default/main/environment",
        "a@default/main/environment.systemd",
        "a@default/main/systemd.conf",
        "b@default/main/commands",
        "b@default/main/config.json",
        "b@default/main/environment",
        "b@default/main/environment.systemd",
        "b@default/main/systemd.conf",
        "cdi/placer.json",
    ]
    ours, kubelets = (json.loads(found[f"{p}@default/main/config.json"]) for p in "ab")
    assert ours["linux"]["cgroupsPath"] == "/placer/a@default/main@a"
    assert "cgroupsPath" not in kubelets["linux"]
    assert rendered_container_files(a_document()) == {}
