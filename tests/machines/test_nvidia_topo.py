"""Text of nvidia-smi topo -m: each quirk of real captures by itself."""

from collections.abc import Sequence
from typing import Any

import pytest

from machines.topo_texts import FOUR, LEGEND, topo
from placer_models.cluster import Machine
from placer_models.cpuset import format_cpu_list
from placer_models.device import GPU
from placer_models.machines.nvidia_topo import GpuTopologyError, machine_from_topo_text


def machine_of(rows: Sequence[str], **more: Any) -> Machine:
    """Return the machine of a table with these rows."""
    return machine_from_topo_text(topo(rows, **more))


def nodes(machine: Machine) -> dict[int, str]:
    """Return the NUMA nodes with their CPUs."""
    return {
        node.id: format_cpu_list(c.id for c in machine.topology.cpus if c.numa_node == node.id)
        for node in machine.topology.numa_nodes
    }


def near(machine: Machine, device_type: str = GPU) -> list[int | None]:
    """Return the NUMA node of each device."""
    return [device.numa_node for device in machine.devices if device.type == device_type]


def kinds(machine: Machine) -> list[str]:
    """Return the links, one line a GPU."""
    assert machine.gpu_links is not None
    return [" ".join(row) for row in machine.gpu_links.kinds]


def pair(machine: Machine, a: int, b: int) -> float:
    """Return the GB/s between the a-th and the b-th GPU."""
    assert machine.gpu_links is not None
    return machine.gpu_links.centi_gb_per_s[a][b] / 100


FOUR_LINKS = ["X NV4 SYS SYS", "NV4 X SYS SYS", "SYS SYS X NV4", "SYS SYS NV4 X"]


def test_a_plain_table_is_read_whole() -> None:
    """
    GPUs, links, NUMA nodes, CPUs and their threads; memory is not in the text.
    """
    machine = machine_from_topo_text(FOUR, name="box")

    assert machine.name == "box"
    assert kinds(machine) == FOUR_LINKS
    assert near(machine) == [0, 0, 1, 1]
    assert nodes(machine) == {0: "0-7,16-23", 1: "8-15,24-31"}
    assert machine.topology.cores[machine.topology.cpu[8].core] == {8, 24}
    assert machine.topology.memory_bytes == 0
    assert "Memory is not in the text" in machine.notes
    assert "CPUs 16 apart count as two threads of one core" in machine.notes


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(FOUR.replace("\n", "\r\n"), id="windows-line-ends"),
        pytest.param("\ufeff" + FOUR, id="byte-order-mark"),
        pytest.param(FOUR + LEGEND, id="legend"),
        pytest.param("$ nvidia-smi topo -m\n\nOn our node:\n" + FOUR, id="prose-before"),
        pytest.param(FOUR + "\nGPU0 is slow, see GPU1.\n", id="prose-after"),
        pytest.param("```\n" + FOUR + "```\n", id="markdown-fence"),
        pytest.param(FOUR.replace("\n", "\n\n"), id="blank-lines"),
        pytest.param("\n".join(f"# {line}" for line in FOUR.splitlines()), id="comment"),
        pytest.param("\n".join(f"> {line}" for line in FOUR.splitlines()), id="mail-quote"),
        pytest.param("\n".join(f"    {line}" for line in FOUR.splitlines()), id="indented"),
        pytest.param(FOUR.expandtabs(8), id="tabs-expanded"),
        pytest.param(FOUR.replace("\t", "  "), id="condensed-to-blanks"),
        pytest.param(FOUR.removeprefix("\t"), id="header-without-tab"),
        pytest.param(FOUR.replace("GPU0\tGPU1\tGPU2\tGPU3\t", "GPU0GPU1GPU2GPU3\t"), id="glued"),
        pytest.param(FOUR.replace("GPU3\tCPU", "GPU3 CPU", 1), id="blank-before-headings"),
        pytest.param(
            FOUR.replace("\tGPU0\t", "\t\x1b[4mGPU0\t").replace("ity\n", "ity\x1b[0m\n"),
            id="underlined-header",
        ),
        pytest.param(
            FOUR.replace("\tGPU0\t", "\t[4mGPU0\t").replace("ity\n", "ity[0m\n"),
            id="underlined-header-without-escape",
        ),
        pytest.param(
            "\n".join(f"| {line} |".replace("\t", " | ") for line in FOUR.splitlines()),
            id="markdown-table",
        ),
        pytest.param(FOUR.replace("16-23", " 16-23"), id="blank-in-cpu-list"),
        pytest.param(FOUR.replace(" Affinity", ""), id="short-headings"),
        pytest.param(FOUR.replace("-", "\u2013"), id="typographic-dash"),
    ],
)
def test_what_copying_does_to_a_table_does_not_matter(text: str) -> None:
    """
    Line ends, prose, quotes, colours, lost tabs and glued names: the machine is the same.
    """
    machine = machine_from_topo_text(text)

    assert kinds(machine) == FOUR_LINKS
    assert near(machine) == [0, 0, 1, 1]
    assert nodes(machine) == {0: "0-7,16-23", 1: "8-15,24-31"}


def test_soc_is_what_old_drivers_call_sys() -> None:
    """
    A capture with SOC is of the time of the P100: NVLink 1 of 20 GB/s, PCIe 3.
    """
    machine = machine_of(["GPU0: X NV1 SOC", "GPU1: NV1 X SOC", "GPU2: SOC SOC X"])

    assert (pair(machine, 0, 1), pair(machine, 0, 2)) == (20, 15.75)


def test_blank_affinity_cells_do_not_shift_columns() -> None:
    """
    Inside a job the CPU cell may be blank: what follows is still the NUMA node.
    """
    text = topo(
        ["GPU0: X NV4 | 0 | 0 | | N/A", "GPU1: NV4 X | | 1 | | N/A"],
        headings="CPU Affinity\tNUMA Affinity\tGPU NUMA ID",
    )

    for written in (text, text.expandtabs(8)):
        machine = machine_from_topo_text(written)
        assert near(machine) == [0, 1]
        assert nodes(machine) == {0: "0", 1: ""}


def test_the_same_numa_span_on_every_gpu_says_nothing() -> None:
    """
    A job or a virtual machine shows 0-3 everywhere: one NUMA node, and no GPU is on it.
    """
    machine = machine_of(["GPU0: X NV4 | 0,64 | 0-3", "GPU1: NV4 X | 0,64 | 0-3"])

    assert nodes(machine) == {0: "0,64"}
    assert near(machine) == [None, None]
    assert "NUMA nodes are not in the text, or contradict each other" in machine.notes


def test_grace_lists_its_memory_nodes() -> None:
    """
    NUMA 0,3-4 with a GPU NUMA ID: CPUs are on 0, the others are GPU memory.
    """
    machine = machine_of(
        ["GPU0: X NV18 | 0-71 | 0,3-4 | | 2", "GPU1: NV18 X | 72-143 | 1,6-7 | | 5"],
        headings="CPU Affinity\tNUMA Affinity\tGPU NUMA ID",
    )

    assert near(machine) == [0, 1]
    assert nodes(machine) == {0: "0-71", 1: "72-143"} | dict.fromkeys(range(2, 8), "")
    assert machine.topology.architecture == "aarch64"


def test_spans_of_different_gpus_count_as_one_node_each() -> None:
    """
    NUMA 0-1 here and 2-3 there: which CPUs are whose is not said, and not invented.
    """
    machine = machine_of(["GPU0: X SYS | 0-7 | 0-1", "GPU1: SYS X | 8-15 | 2-3"])

    assert nodes(machine) == {0: "0-7", 2: "8-15"}
    assert "it counts as one" in machine.notes


def test_without_a_numa_column_cpu_lists_tell_nodes() -> None:
    """
    Old drivers print CPU affinity only: each list counts as a NUMA node.
    """
    machine = machine_of(["GPU0: X PIX | 14-27", "GPU1: PIX X | 0-13"], headings="CPU Affinity")

    assert nodes(machine) == {0: "0-13", 1: "14-27"}
    assert near(machine) == [1, 0]


def test_one_cpu_list_for_all_is_one_node_without_gpus() -> None:
    """
    Where all GPUs show the same CPUs and no NUMA node, none is known.
    """
    machine = machine_of(["GPU0: X SOC | 1-1", "GPU1: SOC X | 1-1"], headings="CPU Affinity")

    assert nodes(machine) == {0: "1"}
    assert near(machine) == [None, None]


def test_cpu_lists_that_overlap_are_not_trusted() -> None:
    """
    A CPU in two NUMA nodes cannot be: all CPUs count as one node.
    """
    machine = machine_of(["GPU0: X SYS | 0-7 | 0", "GPU1: SYS X | 4-15 | 1"])

    assert nodes(machine) == {0: "0-15"}
    assert near(machine) == [None, None]


def test_numa_spans_that_overlap_are_not_trusted() -> None:
    """
    0-1 here and 1-2 there: whose CPUs node 1 has cannot be told.
    """
    machine = machine_of(["GPU0: X SYS | 0-7 | 0-1", "GPU1: SYS X | 8-15 | 1-2"])

    assert nodes(machine) == {0: "0-15"}
    assert near(machine) == [None, None]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param("0-1,8-11", "4-5,12-15", id="second-run-longer"),
        pytest.param("0-3,8-11", "4-7,16-19", id="distances-differ"),
        pytest.param("0-3,8-11,16-19", "4-7,12-15,20-23", id="three-runs"),
    ],
)
def test_other_numbering_tells_no_threads(first: str, second: str) -> None:
    """
    Only two runs at one distance everywhere look like threads; else each CPU is a core.
    """
    machine = machine_of([f"GPU0: X SYS | {first} | 0", f"GPU1: SYS X | {second} | 1"])

    assert len(machine.topology.cores) == len(machine.topology.cpus)


def test_strided_cpus_and_numa_nodes_out_of_order_are_kept() -> None:
    """
    CPUs 6,14,22,30 on NUMA node 3: ids are names, and other nodes are not invented.
    """
    machine = machine_of(["GPU0: X NV6 | 6,14,22,30 | 3", "GPU1: NV6 X | 4,12,20,28 | 1"])

    assert nodes(machine) == {1: "4,12,20,28", 3: "6,14,22,30"}
    assert len(machine.topology.cores) == 8


def test_a_missing_cpu_leaves_a_core_of_one_thread() -> None:
    """
    192-254 where 192-255 is expected: the last core has one thread.
    """
    machine = machine_of(["GPU0: X NV12 | 0-63,128-191 | 0", "GPU1: NV12 X | 64-127,192-254 | 1"])

    assert machine.topology.cores[machine.topology.cpu[127].core] == {127}
    assert machine.topology.cores[machine.topology.cpu[126].core] == {126, 254}


def test_ports_are_named_by_the_legend_and_placed_by_their_paths() -> None:
    """
    NIC0 is mlx5_0, behind GPU 0's switch; NIC1 is near the root of GPU 1 only.
    """
    machine = machine_from_topo_text(
        topo(
            [
                "GPU0: X SYS PIX SYS | 0-7 | 0",
                "GPU1: SYS X SYS PXB | 8-15 | 1",
                "NIC0: PIX SYS X SYS",
                "NIC1: SYS PXB SYS X",
            ]
        )
        + "\nNIC Legend:\n\n  NIC0: mlx5_0\n  NIC1: mlx5_1\n"
    )
    gpus, ports = machine.devices[:2], machine.devices[2:]

    assert [port.id for port in ports] == ["mlx5_0", "mlx5_1"]
    assert near(machine, "rdma") == [0, 1]
    assert gpus[0].pcie_switch == ports[0].pcie_switch is not None
    assert gpus[1].pcie_switch is None
    assert gpus[1].pcie_root == ports[1].pcie_root is not None


def test_a_port_far_from_every_gpu_has_no_numa_node() -> None:
    """
    SYS to all, or NODE to GPUs of two NUMA nodes: its place is not known.
    """
    machine = machine_of(
        [
            "GPU0: X SYS SYS NODE | 0-7 | 0",
            "GPU1: SYS X SYS NODE | 8-15 | 1",
            "mlx5_0: SYS SYS X SYS",
            "mlx5_1: NODE NODE SYS X",
        ]
    )

    assert near(machine, "rdma") == [None, None]


def test_rows_of_ports_may_be_missing() -> None:
    """
    GPU rows alone are enough: they name each port.
    """
    machine = machine_of(
        ["GPU0: X NV4 PIX | 0-7 | 0", "GPU1: NV4 X NODE | 0-7 | 0"],
        columns=["GPU0", "GPU1", "NIC0"],
    )

    assert near(machine, "rdma") == [0]
    assert machine.devices[2].pcie_switch == machine.devices[0].pcie_switch


def test_a_legend_right_behind_the_rows_is_no_row() -> None:
    """
    ``NIC0: mlx5_0`` names a port, also where the port has no row of its own.
    """
    text = topo(["GPU0: X PIX | 0-7 | 0"], columns=["GPU0", "NIC0"]) + "NIC0: mlx5_0\n"

    assert machine_from_topo_text(text).devices[1].id == "mlx5_0"


def test_a_job_that_sees_some_gpus_is_a_smaller_machine() -> None:
    """
    Three GPUs of which one lost its partner; numbers may have holes.
    """
    machine = machine_of(
        ["GPU0: X NV4 NODE", "GPU1: NV4 X NODE", "GPU5: NODE NODE X"], headings="CPU Affinity"
    )

    assert [device.minor for device in machine.devices] == [0, 1, 5]
    assert pair(machine, 0, 1) > pair(machine, 0, 2) > 0


def test_a_gpu_off_the_fabric_stays_with_slow_links() -> None:
    """
    Seven in a clique and one over PCIe: nothing is repaired, nothing is dropped.
    """
    machine = machine_of(["GPU0: X NODE NV18", "GPU1: NODE X SYS", "GPU2: NV18 SYS X"])

    assert pair(machine, 0, 2) == 450
    assert pair(machine, 0, 1) == pair(machine, 1, 2) == 63
    assert all(device.healthy for device in machine.devices)


def test_a_gpu_that_could_not_be_reached_is_broken() -> None:
    """
    N/A to every other GPU: it is there, and given to nobody.
    """
    machine = machine_of(["GPU0: X N/A NV4", "GPU1: N/A X N/A", "GPU2: NV4 N/A X"])

    assert [device.healthy for device in machine.devices] == [True, False, True]
    assert pair(machine, 0, 1) == 0
    assert "GPU 1 could not be reached" in machine.notes


def test_more_links_than_a_gpu_has_are_shared_through_switches() -> None:
    """
    Three peers with 6 links each fit the 18 of a GPU; with 12 each they must be shared.
    """
    rows = ["GPU0: X {k} {k} {k}", "GPU1: {k} X {k} {k}", "GPU2: {k} {k} X {k}"]
    rows += ["GPU3: {k} {k} {k} X"]
    direct = machine_of([row.format(k="NV6") for row in rows])
    switched = machine_of([row.format(k="NV12") for row in rows])

    assert direct.gpu_links is not None
    assert switched.gpu_links is not None
    assert not direct.gpu_links.shared_egress
    assert switched.gpu_links.shared_egress


@pytest.mark.parametrize(
    ("count", "kind", "generation"),
    [
        (8, "NV2", "NVLink 2"),
        (16, "NV6", "NVLink 2"),
        (4, "NV6", "NVLink 4"),
        (2, "NV12", "NVLink 3"),
    ],
)
def test_the_generation_is_guessed_and_said(count: int, kind: str, generation: str) -> None:
    """
    Six links a pair among 16 GPUs is a DGX-2; among four it is a Hopper board.
    """
    rows = [
        f"GPU{i}: " + " ".join("X" if i == j else kind for j in range(count)) for i in range(count)
    ]

    assert f"for {generation} and PCIe" in machine_of(rows).notes


def test_the_caller_may_know_bandwidths_better() -> None:
    """
    A GA102 bridge has 14.0625 GB/s a link; the sockets of this machine are slow.
    """
    machine = machine_from_topo_text(FOUR, gb_per_s_per_link=14.0625, gb_per_s_by_kind={"SYS": 10})

    assert (pair(machine, 0, 1), pair(machine, 0, 2)) == (56.25, 10)


def test_all_pcie_paths_count_the_same_unless_told() -> None:
    """
    The kind of a PCIe path says where data goes, not how fast: measured, PIX can be slowest.
    """
    machine = machine_of(["GPU0: X PIX SYS", "GPU1: PIX X NODE", "GPU2: SYS NODE X"])

    assert pair(machine, 0, 1) == pair(machine, 0, 2) == pair(machine, 1, 2) == 31.5


def test_one_gpu_is_a_machine() -> None:
    """
    A table of one row has no pairs.
    """
    machine = machine_of(["GPU0: X | 0-15 | 0"])

    assert kinds(machine) == ["X"]
    assert near(machine) == [0]


def damaged(old: str, new: str) -> str:
    """Return the table of four GPUs with its first ``old`` replaced."""
    assert old in FOUR
    return FOUR.replace(old, new, 1)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "there is no table of GPUs; expected the output of nvidia-smi topo -m"),
        ("GPU0 is broken\n", "there is no table of GPUs"),
        (damaged("\tNV4\tSYS", "\tNV4\tXXXX"), "line 2: GPU0 to GPU2: 'XXXX' is no link"),
        (damaged("\tSYS\t0-7,", "\tSY0-7,"), "line 2: GPU0 to GPU3: 'SY0-7,16-23' is no link"),
        (damaged("\tNV4\tSYS", "\tNV4\t?").replace("\n", "\r\n"), "line 2: GPU0 to GPU2: '?'"),
        (damaged("\tNV4\tSYS", "\t\tSYS"), "line 2: GPU0 to GPU1: '' is no link"),
        (damaged("\tNV4\tSYS", "\tNV0\tSYS"), "'NV0' is no link; expected NV1 to NV99, PIX"),
        (damaged("\tNV4\tSYS", "\tPIX\tSYS"), "GPU0 to GPU1 is 'PIX', but line 3 has 'NV4'"),
        (damaged("\tNV4\tSYS", "\tN/A\tSYS"), "line 2: GPU0 to GPU1: the tool could not read"),
        (damaged(" X ", "SYS"), "line 2: GPU0 to GPU0: 'SYS' is no link"),
        (damaged("0-7,16-23", "0-7,x"), "line 2: GPU0, CPU Affinity: CPU list '0-7,x'"),
        (damaged("0-7,16-23", "0-7\t16-23"), "line 2: GPU0 has '0-7 16-23 0' behind its links"),
        (damaged("0-7,16-23", "7-0"), "the range '7-0' runs backwards"),
        (damaged("\t0\n", "\t9999\n"), "GPU0, NUMA Affinity: '9999' goes up to 9999"),
        (damaged("GPU3\tCPU", "CPU"), "line 5: GPU3 has a row, but no column in line 1"),
        (damaged("GPU3\tCPU", "GPU2\tCPU"), "line 1: the header names GPU2 twice"),
        (
            damaged("\nGPU1\tNV4", "\nGPU0\tNV4"),
            "line 3: GPU0 has a second row; the first is",
        ),
        ("\n".join(FOUR.split("\n")[:4]), "line 1: GPU3 has a column but no row"),
        (
            FOUR.expandtabs().replace("NV4     SYS     SYS     0-7,16-23       0", "NV4", 1),
            "line 2: GPU0 has 2 cells for 4 devices; nothing is said about GPU2",
        ),
    ],
)
def test_damage_is_named_by_line_and_cell(text: str, words: str) -> None:
    """
    A table is read whole or not at all; the message says where and what was expected.
    """
    with pytest.raises(GpuTopologyError) as refused:
        machine_from_topo_text(text)

    assert words in str(refused.value)


def test_a_bandwidth_below_zero_is_refused() -> None:
    """
    What the caller adds is checked as well.
    """
    with pytest.raises(
        GpuTopologyError, match="a link has 0 to 1,000,000 GB/s per direction, got -20"
    ):
        machine_from_topo_text(FOUR, gb_per_s_per_link=-5)
