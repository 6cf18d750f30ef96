"""Every machine of the catalogue has the insides that its sources say."""

from importlib.resources import as_file, files
from typing import NamedTuple

import pytest

from placer.load import load_machine_file
from placer_models.cluster import Machine
from placer_models.cpuset import parse_cpu_list
from placer_models.device import GPU, GpuLinkMatrix
from placer_models.machines.catalogue import (
    UnknownMachineError,
    catalogue_machine_names,
    load_machine,
)
from placer_models.policy import HybridCoreKind


class Facts(NamedTuple):
    """What stands in the sources, counted by hand; links in GB/s over all pairs."""

    packages: int
    numa_nodes: int
    caches: int
    cores: int
    cpus: int
    memory_gib: int
    gpus: int
    others: int
    links: float | None


CUBE_MESH_V100 = 8 * 50 + 8 * 25 + 12 * 15.75
PAIRS = 4 * 300 + 24 * 31.5

FACTS = {
    "a100-pcie-missing-bridge": Facts(2, 2, 0, 56, 112, 512, 4, 2, 300 + 5 * 31.5),
    "a100x4-two-of-eight": Facts(2, 8, 16, 128, 128, 512, 4, 2, 6 * 100),
    "a6000-bridged-pairs": Facts(2, 2, 0, 128, 128, 512, 8, 2, 4 * 56.25 + 24 * 31.5),
    "core-i7-1270p": Facts(1, 1, 1, 12, 16, 31, 0, 0, None),
    "cori-gpu": Facts(2, 2, 2, 40, 80, 384, 8, 9, CUBE_MESH_V100),
    "delta-a100x4": Facts(1, 4, 8, 64, 64, 256, 4, 1, 6 * 100),
    "dgx-1-p100": Facts(2, 2, 2, 40, 80, 512, 8, 4, 16 * 20 + 12 * 15.75),
    "dgx-1-v100": Facts(2, 2, 2, 40, 80, 512, 8, 4, CUBE_MESH_V100),
    "dgx-2": Facts(2, 2, 2, 48, 96, 1510, 16, 0, 120 * 150),
    "dgx-a100": Facts(2, 8, 32, 128, 256, 1024, 8, 12, 28 * 300),
    "dgx-spark": Facts(1, 1, 2, 20, 20, 119, 1, 0, None),
    "epyc-7401-nps4": Facts(2, 8, 16, 48, 96, 255, 4, 1, None),
    "epyc-7402-nps1": Facts(2, 2, 16, 48, 96, 251, 8, 1, None),
    "g4dn-metal": Facts(2, 2, 2, 48, 96, 377, 8, 1, 28 * 15.75),
    "gb200-tray": Facts(2, 34, 2, 144, 144, 960, 4, 0, 6 * 900),
    "gke-a3-ultra": Facts(2, 2, 2, 112, 224, 2952, 8, 8, 28 * 450),
    "hgx-a100-offline-cpu": Facts(2, 2, 0, 128, 255, 1024, 8, 10, 28 * 300),
    "hgx-b200": Facts(2, 2, 2, 112, 224, 2048, 8, 0, 28 * 900),
    "hgx-b200-dead-nvlink": Facts(2, 2, 2, 112, 224, 2048, 8, 0, 21 * 900 + 7 * 63),
    "hgx-h100": Facts(2, 2, 2, 112, 224, 2048, 8, 12, 28 * 450),
    "k80-pair": Facts(1, 1, 0, 12, 12, 64, 4, 1, 6 * 15.75),
    "knl-7250-snc4": Facts(1, 8, 34, 68, 272, 111, 0, 1, None),
    "kunpeng-920": Facts(2, 4, 4, 128, 128, 502, 0, 0, None),
    "l40s-4gpu": Facts(2, 2, 0, 192, 384, 768, 4, 2, 6 * 31.5),
    "magny-cours-4s": Facts(4, 8, 8, 48, 48, 95, 0, 0, None),
    "mi100-two-hives": Facts(2, 8, 32, 128, 128, 512, 8, 1, 12 * 46 + 16 * 31.5),
    "mi250x-8gcd": Facts(1, 4, 8, 64, 128, 503, 8, 4, 4 * 200 + 2 * 100 + 6 * 50 + 16 * 31.5),
    "mi300a-cpx": Facts(4, 4, 12, 96, 192, 501, 24, 4, 60 * 883 + 216 * 128),
    "mi300a-spx": Facts(4, 4, 12, 96, 192, 501, 4, 4, 6 * 128),
    "mi300x-8gpu": Facts(2, 2, 2, 112, 224, 2048, 8, 8, 28 * 64),
    "minsky": Facts(2, 2, 20, 20, 160, 256, 4, 2, 2 * 40 + 4 * 32),
    "p100-one-socket": Facts(2, 2, 2, 36, 72, 251, 2, 1, 15.75),
    "p3-16xlarge": Facts(2, 2, 2, 32, 64, 488, 8, 0, CUBE_MESH_V100),
    "p4d-24xlarge": Facts(2, 2, 2, 48, 96, 1152, 8, 4, 28 * 300),
    "pcie-nv12-cross-numa-pairs": Facts(2, 4, 0, 96, 96, 256, 4, 1, 2 * 300 + 4 * 31.5),
    "pcie-nv12-irregular-pairs": Facts(2, 2, 0, 64, 64, 256, 8, 0, PAIRS),
    "pcie-nv12-pairs": Facts(2, 2, 0, 128, 256, 512, 8, 2, PAIRS),
    "pcie-switch-pairs-6nic": Facts(2, 2, 0, 64, 128, 512, 8, 6, 28 * 31.5),
    "pcie-switch-tree": Facts(2, 2, 0, 28, 28, 256, 8, 1, 28 * 15.75),
    "polaris": Facts(1, 4, 8, 32, 64, 512, 4, 2, 6 * 100),
    "quad-gh200": Facts(4, 36, 4, 288, 288, 480, 4, 0, 6 * 150),
    "r630-offline-cpus": Facts(2, 1, 2, 17, 17, 64, 0, 0, None),
    "rtx-4090-8gpu": Facts(2, 2, 0, 128, 256, 512, 8, 0, 28 * 31.5),
    "rtx-pro-6000-6gpu": Facts(2, 2, 0, 64, 128, 512, 6, 0, 3 * 26 + 4 * 52 + 8 * 45),
    "sierra": Facts(2, 6, 23, 44, 176, 255, 4, 4, 2 * 75 + 4 * 32),
    "summit": Facts(2, 8, 22, 44, 176, 512, 6, 4, 6 * 50 + 9 * 32),
    "threadripper-2990wx": Facts(1, 4, 8, 32, 64, 125, 2, 0, None),
    "xe8640-h100": Facts(2, 8, 2, 112, 224, 4031, 4, 4, 6 * 150),
    "xeon-4108-2s-8ve": Facts(2, 2, 2, 16, 32, 92, 0, 8, None),
    "xeon-6230-snc2": Facts(2, 4, 2, 40, 80, 1486, 0, 0, None),
    "xeon-6430-2s": Facts(2, 2, 2, 64, 64, 503, 0, 0, None),
    "xeon-snc2-scattered": Facts(2, 4, 2, 40, 80, 187, 0, 0, None),
    "xeon-x7550-4s": Facts(4, 3, 4, 32, 64, 256, 0, 0, None),
}


def facts(machine: Machine) -> Facts:
    """Count what the table counts."""
    cpus = machine.topology.cpus
    gpus = sum(device.type == GPU for device in machine.devices)
    links = machine.gpu_links
    return Facts(
        packages=len({cpu.package for cpu in cpus}),
        numa_nodes=len(machine.topology.numa_nodes),
        caches=len({cpu.llc for cpu in cpus} - {None}),
        cores=len(machine.topology.cores),
        cpus=len(machine.topology.online),
        memory_gib=machine.topology.memory_bytes // 2**30,
        gpus=gpus,
        others=len(machine.devices) - gpus,
        links=None if links is None else sum(map(sum, links.centi_gb_per_s)) / 200,
    )


def links_of(name: str) -> GpuLinkMatrix:
    """Return the links of a machine that has some."""
    links = load_machine(name).gpu_links
    assert links is not None
    return links


def gb_per_s(name: str, a: int, b: int) -> float:
    """Return the bandwidth between two GPUs of a machine."""
    return links_of(name).centi_gb_per_s[a][b] / 100


def test_the_table_names_every_machine() -> None:
    """
    A machine is added together with its facts.
    """
    assert catalogue_machine_names() == tuple(sorted(FACTS))


@pytest.mark.parametrize("name", sorted(FACTS))
def test_a_machine_has_the_insides_its_sources_say(name: str) -> None:
    """
    Packages, NUMA nodes, caches, cores, CPUs, memory, devices and links, each counted.
    """
    assert facts(load_machine(name)) == FACTS[name]


@pytest.mark.parametrize("name", sorted(FACTS))
def test_a_machine_says_where_its_facts_come_from(name: str) -> None:
    """
    Each has a title for people, and at least one source.
    """
    machine = load_machine(name)

    assert machine.name == name
    assert machine.title
    assert machine.sources


@pytest.mark.parametrize("name", sorted(FACTS))
def test_links_are_between_all_gpus_and_symmetric(name: str) -> None:
    """
    A matrix has a row for each GPU, broken ones too, and no pair without bandwidth.
    """
    machine = load_machine(name)
    minors = tuple(device.minor for device in machine.devices if device.type == GPU)

    if machine.gpu_links is not None:
        assert machine.gpu_links.minors == minors
        for i, row in enumerate(machine.gpu_links.centi_gb_per_s):
            assert all(value > 0 for j, value in enumerate(row) if j != i)


@pytest.mark.parametrize(
    ("name", "a", "b", "bandwidth"),
    [
        ("dgx-1-p100", 0, 4, 20),
        ("dgx-1-p100", 0, 5, 15.75),
        ("dgx-1-v100", 0, 3, 50),
        ("dgx-1-v100", 0, 1, 25),
        ("dgx-1-v100", 0, 5, 15.75),
        ("cori-gpu", 3, 7, 25),
        ("p3-16xlarge", 1, 5, 50),
        ("dgx-2", 0, 15, 150),
        ("dgx-a100", 0, 7, 300),
        ("polaris", 0, 3, 100),
        ("hgx-h100", 0, 7, 450),
        ("hgx-b200-dead-nvlink", 0, 1, 900),
        ("hgx-b200-dead-nvlink", 2, 7, 63),
        ("quad-gh200", 0, 1, 150),
        ("gb200-tray", 0, 3, 900),
        ("a6000-bridged-pairs", 6, 7, 56.25),
        ("a6000-bridged-pairs", 1, 2, 31.5),
        ("pcie-nv12-irregular-pairs", 0, 2, 300),
        ("pcie-nv12-irregular-pairs", 0, 1, 31.5),
        ("pcie-nv12-cross-numa-pairs", 2, 3, 300),
        ("minsky", 0, 1, 40),
        ("summit", 2, 3, 32),
        ("mi250x-8gcd", 0, 1, 200),
        ("mi250x-8gcd", 2, 4, 100),
        ("mi250x-8gcd", 3, 7, 50),
        ("mi250x-8gcd", 0, 3, 31.5),
        ("mi300x-8gpu", 0, 7, 64),
        ("mi300a-spx", 0, 3, 128),
        ("mi100-two-hives", 0, 2, 46),
        ("mi100-two-hives", 1, 2, 31.5),
    ],
)
def test_a_pair_has_the_bandwidth_its_links_add_up_to(
    name: str, a: int, b: int, bandwidth: float
) -> None:
    """
    GB/s per direction, not the doubled numbers of data sheets.
    """
    assert gb_per_s(name, a, b) == gb_per_s(name, b, a) == bandwidth


def test_only_switches_share_the_egress() -> None:
    """
    Behind NVSwitch the bandwidths of pairs do not add up; direct links do.
    """
    assert links_of("dgx-a100").shared_egress
    assert links_of("gb200-tray").shared_egress
    assert not links_of("dgx-1-v100").shared_egress
    assert not links_of("quad-gh200").shared_egress


def test_the_nearest_gpu_may_be_the_slowest() -> None:
    """
    Two GPUs behind one switch share its uplink: measured, PIX is half of NODE.
    """
    assert gb_per_s("rtx-pro-6000-6gpu", 0, 1) < gb_per_s("rtx-pro-6000-6gpu", 0, 5)


@pytest.mark.parametrize(
    ("name", "numa_nodes"),
    [
        ("dgx-a100", [3, 3, 1, 1, 7, 7, 5, 5]),
        ("polaris", [3, 2, 1, 0]),
        ("xe8640-h100", [3, 1, 7, 5]),
        ("mi250x-8gcd", [3, 3, 1, 1, 0, 0, 2, 2]),
        ("p3-16xlarge", [None] * 8),
        ("summit", [0, 0, 0, 8, 8, 8]),
        ("p100-one-socket", [0, 0]),
    ],
)
def test_gpus_do_not_follow_numa_nodes(name: str, numa_nodes: list[int | None]) -> None:
    """
    GPU numbers and NUMA nodes have no order in common, and some GPUs have none.
    """
    gpus = [device for device in load_machine(name).devices if device.type == GPU]

    assert [gpu.numa_node for gpu in gpus] == numa_nodes


def test_gpus_and_ports_of_one_switch_share_its_key() -> None:
    """
    On a DGX-1 port mlx5_1 stands behind the switch of GPUs 2 and 3.
    """
    devices = {(d.type, d.id or d.minor): d for d in load_machine("dgx-1-v100").devices}

    switch = devices["rdma", "mlx5_1"].pcie_switch
    assert [m for m in range(8) if devices["gpu", m].pcie_switch == switch] == [2, 3]


def test_threads_of_a_core_are_siblings_as_the_kernel_lists_them() -> None:
    """
    Two threads far apart, four or eight side by side, or a sibling that is offline.
    """
    core_of = {
        (name, cpu): load_machine(name).topology.cores[load_machine(name).topology.cpu[cpu].core]
        for name, cpu in [("dgx-a100", 0), ("summit", 90), ("minsky", 9), ("knl-7250-snc4", 5)]
    }

    assert core_of["dgx-a100", 0] == {0, 128}
    assert core_of["summit", 90] == parse_cpu_list("88-91")
    assert core_of["minsky", 9] == parse_cpu_list("8-15")
    assert core_of["knl-7250-snc4", 5] == {5, 73, 141, 209}


def test_an_offline_sibling_is_missing_from_its_core() -> None:
    """
    CPU 255 is offline: the core of CPU 127 has one thread.
    """
    topology = load_machine("hgx-a100-offline-cpu").topology

    assert topology.cores[topology.cpu[127].core] == {127}


def test_numa_nodes_may_lack_cpus_or_memory() -> None:
    """
    GPU memory is no memory for pods; some nodes have CPUs and no memory, some the reverse.
    """
    tray, phi, ripper = (
        load_machine(name).topology
        for name in ("gb200-tray", "knl-7250-snc4", "threadripper-2990wx")
    )

    assert [node.id for node in tray.numa_nodes if node.memory_bytes] == [0, 1]
    assert [node.id for node in ripper.numa_nodes if not node.memory_bytes] == [1, 3]
    with_cpus = {cpu.numa_node for cpu in phi.cpus}
    assert [n.id for n in phi.numa_nodes if n.memory_bytes and n.id not in with_cpus] == [
        4,
        5,
        6,
        7,
    ]


def test_cpus_may_be_offline_and_without_numa_node() -> None:
    """
    On the R630 the even CPUs lost their NUMA node, and seven CPUs are offline.
    """
    topology = load_machine("r630-offline-cpus").topology

    assert topology.online == parse_cpu_list("4-20")
    assert [cpu.id for cpu in topology.cpus if cpu.numa_node is None] == list(range(0, 24, 2))


def test_fast_and_small_cores_are_told_apart() -> None:
    """
    Hybrid x86: four fast cores of two threads, eight small ones. Arm: ten and ten.
    """
    laptop, spark = (load_machine(n).topology for n in ("core-i7-1270p", "dgx-spark"))

    small = [cpu.id for cpu in laptop.cpus if cpu.kind is HybridCoreKind.EFFICIENCY]
    assert small == list(range(8, 16))
    assert sum(cpu.kind is HybridCoreKind.PERFORMANCE for cpu in spark.cpus) == 10


def test_a_numa_node_may_span_two_packages() -> None:
    """
    The four X7550 have three NUMA nodes: 0 holds packages 0 and 1, and 1 does not exist.
    """
    topology = load_machine("xeon-x7550-4s").topology

    assert [node.id for node in topology.numa_nodes] == [0, 2, 3]
    assert {cpu.package for cpu in topology.cpus if cpu.numa_node == 0} == {0, 1}


@pytest.mark.parametrize("name", sorted(FACTS))
def test_a_file_of_the_catalogue_can_be_copied_as_ones_own(name: str) -> None:
    """
    The files are in the users' own format: read as such, they are the same machines.
    """
    with as_file(files("placer_models.machines") / "catalogue" / f"{name}.yaml") as path:
        assert load_machine_file(path) == load_machine(name)


def test_an_unknown_name_brings_the_nearest() -> None:
    """
    A misspelt name is answered with names that exist.
    """
    with pytest.raises(UnknownMachineError, match="no machine 'dgx-a10'; did you mean dgx-a100"):
        load_machine("dgx-a10")


def test_a_name_like_nothing_brings_all() -> None:
    """
    Where no name is near, all are listed; a path is no name.
    """
    with pytest.raises(UnknownMachineError, match="known: a100-pcie-missing-bridge, "):
        load_machine("../../../x")


def test_a_machine_is_read_once() -> None:
    """
    Nodes of one kind share one machine.
    """
    assert load_machine("dgx-2") is load_machine("dgx-2")
