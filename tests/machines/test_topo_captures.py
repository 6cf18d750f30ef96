"""Raw captures of real machines, where they lie beside this project."""

import json
from collections.abc import Iterable
from itertools import combinations

import pytest

from placer_models.cluster import Machine
from placer_models.cpuset import format_cpu_list
from placer_models.machines.catalogue import load_machine
from placer_models.machines.nvidia_topo import GpuTopologyError, machine_from_topo_text
from shared_files import Row, rows_named, shared

DAMAGED = {
    "rocm_mi300x_tpx_broken": "GPU1 to GPU2: 'XXXX' is no link type",
    "vm_8xa100_all_phb_mangled": "line 2: GPU0 to NIC7: 'PH0-115' is no link",
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


CAPTURES = [
    "2gpu_nv1_16c",
    "2x_nv2_24c",
    "2x_phb_12c",
    "4gpu_phb_48c",
    "4xa100_2nic_nps4_2socket",
    "4xa100_blank_affinity_gpu-d-2",
    "4xa100_cgroup_smeared_numa",
    "8gpu_512pu_turin_like",
    "8gpu_nv12_bridged_pairs_2nic",
    "8gpu_pix_pairs_2socket",
    "8gpu_pxb_pairs_6nic",
    "a100_8gpu_nv12_stas",
    "a100_sxm4_4gpu_della_i16g1",
    "a100_sxm4_8gpu_10nic_litgpt",
    "amdsmi_mi300x_8gpu",
    "booster_4xa100_1nic_per_gpu",
    "cori_gpu_8xv100_9hca",
    "dgx1_p100_sheffield",
    "dgx1_v100_4nic",
    "dgx_a100_12nic",
    "gb200_4gpu_host",
    "gh200_quad_cray",
    "gke_a3ultra_8gpu_8nic",
    "gpu0301_3gpu_partial_bridge",
    "h100_8gpu_nv18_stas",
    "h100_sxm_8gpu_6nic_della_slurm",
    "hgx_h100_8gpu_12nic_gpurows",
    "hgx_h20_8gpu_8nic",
    "issue_4gpu_nv12_pairs_4numa",
    "issue_4xa100_one_bridge_missing",
    "issue_4xh100_nv6_snc8",
    "issue_8gpu_nv12_irregular_pairs",
    "issue_8gpu_pix_pxb_2socket",
    "issue_b200_8gpu_gpu2_nvlink_down",
    "issue_gb200_4gpu",
    "issue_h100_8gpu_10nic",
    "issue_l40s_4gpu",
    "issue_rtx4090_8gpu_all_sys",
    "k80_2x_4gpu_phb",
    "k80_4gpu_node",
    "ncsa_delta_4xa100",
    "p4d_24xlarge",
    "polaris_4xa100_nps4",
    "rocm_archer2_4xmi210",
    "rocm_mi300x_tpx_broken",
    "rtx4090_8gpu_node_sys",
    "rtx_a6000_8gpu_bridged_pairs_baobab",
    "rtx_pro_6000_6gpu_pix_pairs",
    "slurmd_G_baobab_gpu048",
    "v100_sxm2_8gpu_1nic",
    "vm_8xa100_all_phb_mangled",
    "vm_8xv100_64vcpu_phb",
]
"""All captures that we have read."""

TYPED = (
    "DGX-1 P100",
    "DGX-1 V100 (DGX-1V)",
    "Cori-GPU 8x V100",
    "p3.16xlarge-shaped VM (8x V100, 64 vCPU)",
    "DGX A100",
    "AWS p4d.24xlarge",
    "HGX A100 4-GPU (Polaris)",
    "HGX A100 4-GPU (NCSA Delta)",
    "HGX A100 4-GPU (della)",
    "HGX H100 8-GPU",
    "GKE 8-GPU RDMA node (NV18, 8 NIC)",
    "HGX H20 8-GPU",
    "HGX B200 8-GPU with GPU2 NVLink down",
    "4x H100 SXM (NV6)",
    "quad GH200",
    "GB200 host (4 of 72 GPUs)",
    "8x RTX A6000, bridged pairs",
    "8x PCIe GPUs, NV12 bridged pairs",
    "8x PCIe GPUs, NV12 pairs (0,2)(1,3)(4,5)(6,7)",
    "4x PCIe GPUs, NV12 pairs ACROSS NUMA nodes",
    "4x L40S PCIe",
    "8x PCIe GPUs, PIX pairs",
    "8x PCIe GPUs, PXB pairs, 6 NIC",
    "8x RTX 4090",
    "6x sm_120 PCIe Gen5 (4+2)",
    "2x K80",
)
"""Machines whose links others typed from a capture, which their row names."""


@pytest.mark.parametrize("name", CAPTURES)
def test_every_capture_is_read_or_its_damage_is_named(name: str) -> None:
    """
    All raw captures become machines, but for two that are damaged, and these say where.
    """
    text = shared(f"topologies/nvidia_topo/{name}.txt").read_text("utf-8")
    if name not in DAMAGED:
        machine_from_topo_text(text, name=name)
        return
    with pytest.raises(GpuTopologyError) as caught:
        machine_from_topo_text(text, name=name)
    assert DAMAGED[name] in str(caught.value)


def listed(names: Iterable[str]) -> list[Row]:
    """Return machines whose captures were read by others."""
    text = shared("topologies/machines/machines.json").read_text("utf-8")
    return rows_named(names, json.loads(text)["machines"])


def matrix(machine: Machine) -> list[list[int]]:
    """Return the bandwidths in 0.01 GB/s."""
    assert machine.gpu_links is not None
    return [list(row) for row in machine.gpu_links.centi_gb_per_s]


def test_the_catalogue_has_the_bandwidths_of_the_list() -> None:
    """
    Pair by pair, the catalogue agrees with those who read the same captures before.
    """
    found = {m["name"]: m["bw_GBps_per_direction"] for m in listed(LISTED)}

    for title, name in LISTED.items():
        if name != MEASURED:
            rows = [[round(100 * (value or 0)) for value in row] for row in found[title]]
            assert matrix(load_machine(name)) == rows, name


def test_captures_are_read_with_the_links_of_the_list() -> None:
    """
    Cell by cell, what we read from a capture is what others typed from it.
    """
    for entry in listed(TYPED):
        source = entry["source"][0].partition(":")[0]
        machine = machine_from_topo_text(shared(f"topologies/{source}").read_text("utf-8"))
        assert machine.gpu_links is not None
        assert [list(row) for row in machine.gpu_links.kinds] == entry["gpu_gpu"], source


def test_the_catalogue_has_the_cpus_of_the_dumps() -> None:
    """
    NUMA nodes, their CPUs and memory, packages and cores are those of the dumps.
    """
    text = shared("topologies/hwloc/manifest.json").read_text("utf-8")
    dumps = rows_named(DUMPED, json.loads(text)["entries"], "id")

    for entry, name in zip(dumps, DUMPED.values(), strict=True):
        topology = load_machine(name).topology
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
    file = shared(f"topologies/nvidia_topo/{capture}.txt")
    read, known = machine_from_topo_text(file.read_text("utf-8")), load_machine(name)

    assert len(read.devices) == len(known.devices)
    pairs = list(zip(read.devices, known.devices, strict=True))
    for a, b in pairs:
        assert (a.type, a.minor, a.numa_node) == (b.type, b.minor, b.numa_node)
    for (a, b), (c, d) in combinations(pairs, 2):
        if a.pcie_switch is not None and a.pcie_switch == c.pcie_switch:
            assert b.pcie_switch == d.pcie_switch is not None
        if a.pcie_root is not None and a.pcie_root == c.pcie_root:
            assert (b.pcie_root or b.pcie_switch) == (d.pcie_root or d.pcie_switch) is not None
