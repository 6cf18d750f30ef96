"""Raw captures of real machines, where they lie beside this project."""

import json
from itertools import combinations
from typing import Any

import pytest

from placer_models.cluster import Machine
from placer_models.cpuset import format_cpu_list
from placer_models.machines.catalogue import load_machine
from placer_models.machines.nvidia_topo import TopoError, read_topo
from shared_files import shared

DAMAGED = {
    "rocm_mi300x_tpx_broken.txt": "GPU1 to GPU2: 'XXXX' is no link type",
    "vm_8xa100_all_phb_mangled.txt": "line 2: GPU0 to NIC7: 'PH0-115' is no link",
}

MEASURED = "rtx-pro-6000-6gpu"
"""This machine has measured bandwidths where the list of machines has nominal ones."""

LISTED = {
    "DGX-1 P100": "dgx-1-p100",
    "DGX-1 V100 (DGX-1V)": "dgx-1-v100",
    "Cori-GPU 8x V100": "cori-gpu",
    "p3.16xlarge-shaped VM (8x V100, 64 vCPU)": "p3-16xlarge",
    "DGX A100": "dgx-a100",
    "AWS p4d.24xlarge": "p4d-24xlarge",
    "HGX A100 4-GPU (Polaris)": "polaris",
    "HGX A100 4-GPU (NCSA Delta)": "delta-a100x4",
    "HGX H100 8-GPU": "hgx-h100",
    "GKE 8-GPU RDMA node (NV18, 8 NIC)": "gke-a3-ultra",
    "HGX B200 8-GPU with GPU2 NVLink down": "hgx-b200-dead-nvlink",
    "quad GH200": "quad-gh200",
    "GB200 host (4 of 72 GPUs)": "gb200-tray",
    "8x RTX A6000, bridged pairs": "a6000-bridged-pairs",
    "8x PCIe GPUs, NV12 bridged pairs": "pcie-nv12-pairs",
    "8x PCIe GPUs, NV12 pairs (0,2)(1,3)(4,5)(6,7)": "pcie-nv12-irregular-pairs",
    "4x PCIe GPUs, NV12 pairs ACROSS NUMA nodes": "pcie-nv12-cross-numa-pairs",
    "4x L40S PCIe": "l40s-4gpu",
    "8x PCIe GPUs, PXB pairs, 6 NIC": "pcie-switch-pairs-6nic",
    "8x RTX 4090": "rtx-4090-8gpu",
    "6x sm_120 PCIe Gen5 (4+2)": MEASURED,
    "2x K80": "k80-pair",
    "DGX-2 / DGX-2H / HGX-2": "dgx-2",
    'IBM S822LC "Minsky" (2x POWER8NVL, 4x P100)': "minsky",
    "Summit AC922 (6x V100)": "summit",
    "MI250X node, 8 GCD (Frontier/LUMI-style: NUMA 3,3,1,1,0,0,2,2)": "mi250x-8gcd",
    "MI300X 8-GPU (Intel SPR host)": "mi300x-8gpu",
    "8x MI100, two 4-GPU hives, NPS4": "mi100-two-hives",
    "El Capitan/Tuolumne MI300A node (4 APU, SPX)": "mi300a-spx",
}

DUMPED = {
    "memorysidecaches": "xeon-6230-snc2",
    "nri-cpuallocator-sysfs": "xeon-snc2-scattered",
    "lscpu-x86_64-64cpu": "xeon-x7550-4s",
    "128arm-2pa2n8cluster4co": "kunpeng-920",
    "nvidia-dgx-gb10": "dgx-spark",
    "ghw-linux-amd64-415ee03b8c4d1c4f07ae2e9d8b3d3d6d": "core-i7-1270p",
    "48amd64-4pa2n6c-sparse": "magny-cours-4s",
    "32intel64-2p8co2t+8ve": "xeon-4108-2s-8ve",
    "knl-snc4-flat-hwloc1": "knl-7250-snc4",
    "epyc-corona": "epyc-7401-nps4",
    "corona": "epyc-7402-nps1",
    "eas-tioga": "mi250x-8gcd",
    "g4dnmetal": "g4dn-metal",
    "cts1-pascal": "p100-one-socket",
    "ipa20": "xe8640-h100",
    "tuo.CPX": "mi300a-cpx",
    "chimera": "threadripper-2990wx",
    "coral-ea-hwloc1": "minsky",
}


def test_every_capture_is_read_or_its_damage_is_named() -> None:
    """
    All raw captures become machines, but for two that are damaged, and these say where.
    """
    refused: dict[str, str] = {}
    for file in sorted(shared("topologies/nvidia_topo").glob("*.txt")):
        try:
            read_topo(file.read_text("utf-8"), name=file.stem)
        except TopoError as error:
            refused[file.name] = str(error)

    assert refused.keys() == DAMAGED.keys()
    for name, words in DAMAGED.items():
        assert words in refused[name]


def listed() -> list[dict[str, Any]]:
    """Return the list of machines whose captures were read by others."""
    text = shared("topologies/machines/machines.json").read_text("utf-8")
    machines: list[dict[str, Any]] = json.loads(text)["machines"]
    return [machine for machine in machines if machine.get("kind") != "rack"]


def matrix(machine: Machine) -> list[list[int]]:
    """Return the bandwidths in 0.01 GB/s."""
    assert machine.gpu_links is not None
    return [list(row) for row in machine.gpu_links.centi_gb_per_s]


def test_the_catalogue_has_the_bandwidths_of_the_list() -> None:
    """
    Pair by pair, the catalogue agrees with those who read the same captures before.
    """
    found = {m["name"]: m["bw_GBps_per_direction"] for m in listed()}
    assert found.keys() >= LISTED.keys()

    for title, name in LISTED.items():
        if name != MEASURED:
            rows = [[round(100 * (value or 0)) for value in row] for row in found[title]]
            assert matrix(load_machine(name)) == rows, name


def test_captures_are_read_with_the_links_of_the_list() -> None:
    """
    Cell by cell, what we read from a capture is what others typed from it.
    """
    seen = 0
    for entry in listed():
        source = entry["source"][0].partition(":")[0]
        if source.startswith("nvidia_topo/"):
            machine = read_topo((shared("topologies") / source).read_text("utf-8"))
            assert machine.gpu_links is not None
            assert [list(row) for row in machine.gpu_links.kinds] == entry["gpu_gpu"], source
            seen += 1

    assert seen >= 20


def test_the_catalogue_has_the_cpus_of_the_dumps() -> None:
    """
    NUMA nodes, their CPUs and memory, packages and cores are those of the dumps.
    """
    text = shared("topologies/hwloc/manifest.json").read_text("utf-8")
    dumps = {entry["id"]: entry for entry in json.loads(text)["entries"]}

    for dump, name in DUMPED.items():
        topology = load_machine(name).topology
        entry = dumps[dump]
        assert len(topology.cores) == entry["cores"], name
        assert len(topology.online) == entry["pus_online"], name
        assert len({cpu.package for cpu in topology.cpus}) == entry["packages"], name
        for node in entry["numa"]:
            cpus = format_cpu_list(c.id for c in topology.cpus if c.numa_node == node["node"])
            assert cpus == node["cpus"], name
            kib = node.get("mem_kb") or (node.get("mem_bytes") or 0) // 1024
            memory = {n.id: n.memory_bytes // 1024 for n in topology.numa_nodes}[node["node"]]
            if kib or node.get("mem_bytes") == 0:
                assert memory == kib, name


@pytest.mark.parametrize(
    ("capture", "name"),
    [
        ("dgx_a100_12nic", "dgx-a100"),
        ("cori_gpu_8xv100_9hca", "cori-gpu"),
        ("hgx_h100_8gpu_12nic_gpurows", "hgx-h100"),
        ("gke_a3ultra_8gpu_8nic", "gke-a3-ultra"),
        ("polaris_4xa100_nps4", "polaris"),
        ("8gpu_pxb_pairs_6nic", "pcie-switch-pairs-6nic"),
        ("a100_sxm4_8gpu_10nic_litgpt", "hgx-a100-offline-cpu"),
        ("gb200_4gpu_host", "gb200-tray"),
        ("gh200_quad_cray", "quad-gh200"),
    ],
)
def test_the_catalogue_places_devices_as_the_capture_does(capture: str, name: str) -> None:
    """
    Devices that share a switch or a root by the capture share it in the catalogue.
    """
    file = shared("topologies/nvidia_topo") / f"{capture}.txt"
    read, known = read_topo(file.read_text("utf-8")), load_machine(name)

    assert len(read.devices) == len(known.devices)
    pairs = list(zip(read.devices, known.devices, strict=True))
    for a, b in pairs:
        assert (a.type, a.minor, a.numa_node) == (b.type, b.minor, b.numa_node)
    for (a, b), (c, d) in combinations(pairs, 2):
        if a.pcie_switch is not None and a.pcie_switch == c.pcie_switch:
            assert b.pcie_switch == d.pcie_switch is not None
        if a.pcie_root is not None and a.pcie_root == c.pcie_root:
            assert (b.pcie_root or b.pcie_switch) == (d.pcie_root or d.pcie_switch) is not None
