"""Text of tools other than nvidia-smi: AMD's two, and Slurm's daemon."""

import pytest

from placer_models.cpuset import format_cpu_list
from placer_models.machines.nvidia_topo import GpuTopologyError, machine_from_topo_text

ROCM = """
====================== Weight between two GPUs ======================
       GPU0         GPU1         GPU2
GPU0   0            15           40
GPU1   15           0            40
GPU2   40           40           0

===================== Link Type between two GPUs =====================
       GPU0         GPU1         GPU2
GPU0   0            XGMI         PCIE
GPU1   XGMI         0            PCIE
GPU2   PCIE         PCIE         0

============================= Numa Nodes =============================
GPU[0]          : (Topology) Numa Node: 0
GPU[0]          : (Topology) Numa Affinity: 0
GPU[1]          : (Topology) Numa Node: 0
GPU[2]          : (Topology) Numa Node: 1
======================== End of ROCm SMI Log =========================
"""

AMD_SMI = """
$ amd-smi topology
ACCESS TABLE:
             0000:0c:00.0 0000:22:00.0
0000:0c:00.0 ENABLED      ENABLED
0000:22:00.0 ENABLED      ENABLED

HOPS TABLE:
             0000:0c:00.0 0000:22:00.0
0000:0c:00.0 0            1
0000:22:00.0 1            0

LINK TYPE TABLE:
             0000:0c:00.0 0000:22:00.0
0000:0c:00.0 SELF         XGMI
0000:22:00.0 XGMI         SELF
"""

SLURM = """
slurmd: Gres Name=gpu Type=a6000 Count=1 Index=0 File=/dev/nvidia0 Cores=0-3 Links=-1,4,0
slurmd: Gres Name=gpu Type=a6000 Count=1 Index=1 File=/dev/nvidia1 Cores=0-3 Links=4,-1,0
slurmd: Gres Name=gpu Type=a6000 Count=1 Index=2 File=/dev/nvidia2 Cores=4-7 Links=0,0,-1
"""


def test_rocm_smi_tells_link_types_and_numa_nodes() -> None:
    """
    Weights and hops are passed over; the table of link types counts, and NUMA nodes.
    """
    machine = machine_from_topo_text(ROCM)

    assert machine.gpu_links is not None
    assert machine.gpu_links.kinds == (
        ("X", "XGMI", "PCIE"),
        ("XGMI", "X", "PCIE"),
        ("PCIE", "PCIE", "X"),
    )
    assert machine.gpu_links.centi_gb_per_s[0] == (0, 5000, 3150)
    assert [gpu.numa_node for gpu in machine.devices] == [0, 0, 1]


def test_rocm_smi_may_write_numa_lines_with_blanks() -> None:
    """
    Older versions print ``GPU 0`` where newer ones print ``GPU[0]``.
    """
    machine = machine_from_topo_text(ROCM.replace("[", " ").replace("]", " "))

    assert [gpu.numa_node for gpu in machine.devices] == [0, 0, 1]


def test_columns_in_any_order_are_sorted_by_number() -> None:
    """
    GPU2 may stand first: machines list GPUs ascending.
    """
    machine = machine_from_topo_text(
        """
        GPU2 GPU0 GPU1
        GPU2 0 PCIE PCIE
        GPU0 PCIE 0 XGMI
        GPU1 PCIE XGMI 0
        """
    )

    assert [gpu.minor for gpu in machine.devices] == [0, 1, 2]
    assert machine.gpu_links is not None
    assert machine.gpu_links.kinds[0] == ("X", "XGMI", "PCIE")


def test_amd_smi_names_gpus_by_bus_id() -> None:
    """
    GPUs are numbered in the order printed, and keep their bus ids.
    """
    machine = machine_from_topo_text(AMD_SMI, gb_per_s_per_link=64)

    assert [(gpu.minor, gpu.bus_id) for gpu in machine.devices] == [
        (0, "0000:0c:00.0"),
        (1, "0000:22:00.0"),
    ]
    assert machine.gpu_links is not None
    assert machine.gpu_links.centi_gb_per_s == ((0, 6400), (6400, 0))
    assert not machine.topology.cpus


def test_slurmd_tells_links_and_cores() -> None:
    """
    Counts of NVLinks, -1 for the GPU itself; without links the path is not known.
    """
    machine = machine_from_topo_text(SLURM)

    assert machine.gpu_links is not None
    assert machine.gpu_links.kinds == (
        ("X", "NV4", "PCIE"),
        ("NV4", "X", "PCIE"),
        ("PCIE", "PCIE", "X"),
    )
    assert [gpu.numa_node for gpu in machine.devices] == [0, 0, 1]
    assert machine.devices[0].model == "a6000"
    assert format_cpu_list(machine.topology.online) == "0-7"


def test_a_gres_conf_numbers_gpus_by_their_files() -> None:
    """
    Without Index the number of the device file counts.
    """
    text = "\n".join(line.split("Index")[0] + line[line.index("File") :] for line in lines(SLURM))

    assert [gpu.minor for gpu in machine_from_topo_text(text).devices] == [0, 1, 2]


def lines(text: str) -> list[str]:
    """Return the lines that are not empty."""
    return [line for line in text.splitlines() if line]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (ROCM.replace("XGMI", "XXXX", 1), "line 10: GPU0 to GPU1: 'XXXX' is no link type"),
        (ROCM.replace("XGMI", "PCIE", 1), "line 10: GPU0 to GPU1 is PCIE, but back it is XGMI"),
        (ROCM.replace("XGMI", "0").replace("PCIE", "0"), "but no table of link types (XGMI)"),
        (
            AMD_SMI.replace("0000:22:00.0 XGMI         SELF", ""),
            "line 14: 0000:22:00.0 has a column but no row",
        ),
        (AMD_SMI.replace("0000:22:00.0", "GPU1"), "line 14: GPUs are named GPU0 and so on, or all"),
        (SLURM.replace("Links=-1,4,0", "Links=-1,4"), "line 2: GPU 0: Links has 2 values for 3"),
        (SLURM.replace("-1,4,0", "-1,x,0"), "line 2: GPU 0: Links has 'x'; expected a count"),
        (SLURM.replace("-1,4,0", "4,-1,0"), "line 2: GPU 0: Links has '4'"),
        (SLURM.replace("-1,4,0", "-1,2,0"), "line 3: GPU 1 to GPU 0 is NV4, but back it is NV2"),
        (SLURM.replace("Index=1", "Index=0"), "line 3: GPU 0 is listed already, in line 2"),
        (SLURM.replace("Index=1 File=/dev/nvidia1", ""), "line 3: this GPU has no Index"),
        (SLURM.replace("Cores=0-3", "Cores=3-0"), "line 2: GPU 0, Cores: CPU list '3-0'"),
    ],
)
def test_damage_is_named_by_line(text: str, words: str) -> None:
    """
    Unreadable, one-sided and missing links are refused, each with its line.
    """
    with pytest.raises(GpuTopologyError) as refused:
        machine_from_topo_text(text)

    assert words in str(refused.value)
