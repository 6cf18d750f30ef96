"""The picture of a machine: what is inside, at any width."""

import pytest
from rich.cells import cell_len

from cli_samples import text_of
from placer_cli.draw.blocks import drawn_numa_nodes_of_machine
from placer_cli.draw.canvas import ASCII, WidthAndMarks
from placer_cli.draw.machine import draw_machine_hardware
from placer_models.cluster import Machine
from placer_models.machines.catalogue import catalogue_machine_names, load_machine
from placer_models.policy import HybridCoreKind
from placer_models.topology import Cpu, NumaNode, Topology


def drawn(machine: Machine, width: int = 80) -> str:
    return text_of(draw_machine_hardware(machine, WidthAndMarks(width)), width)


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("name", catalogue_machine_names())
def test_every_machine_of_the_catalogue_keeps_to_the_page(name: str, width: int) -> None:
    """
    No line is wider than the page, no box is cut, and each NUMA node with CPUs is there.
    """
    machine = load_machine(name)

    text = drawn(machine, width)

    lines = text.splitlines()
    assert max(cell_len(line) for line in lines) <= width
    assert all(line.rstrip().endswith(("│", "╮", "╯")) for line in lines if line.startswith("│"))
    for block in drawn_numa_nodes_of_machine(machine):
        if block.numa_node is not None and block.groups:
            assert f"NUMA {block.numa_node.id} " in text


@pytest.mark.parametrize("name", catalogue_machine_names())
def test_every_machine_can_be_drawn_in_ascii(name: str) -> None:
    """
    Our own marks, when only ASCII can be shown, are ASCII.
    """
    text = text_of(draw_machine_hardware(load_machine(name), WidthAndMarks(80, ASCII)), 80)

    boxes = set("╭╮╰╯│─━")
    assert {c for c in text if not c.isascii()} <= boxes


def test_every_thread_has_its_cell() -> None:
    """
    A DGX A100 shows 256 threads, and each row says which CPUs it has.
    """
    text = drawn(load_machine("dgx-a100"))

    packages = text.split("thread; a column is a core")[0].rstrip("■ ")
    assert packages.count("■") == 256
    assert "■■■■ ■■■■ ■■■■ ■■■■  0-15" in text
    assert "■■■■ ■■■■ ■■■■ ■■■■  128-143" in text


def test_a_gpu_is_drawn_on_its_numa_node() -> None:
    """
    GPU 0 of a DGX A100 is on NUMA node 3, not on 0.
    """
    text = drawn(load_machine("dgx-a100"), 60)

    box = text.split("NUMA 3 ")[1].split("╰")[0]
    assert "GPU  0 1" in box
    assert "GPU" not in text.split("NUMA 0 ")[1].split("╰")[0]


def test_many_empty_numa_nodes_share_a_line() -> None:
    """
    The 32 NUMA nodes of GPU memory of a GB200 tray do not fill the screen.
    """
    text = drawn(load_machine("gb200-tray"))

    assert "NUMA 2-33 no CPUs and no memory for pods" in text
    assert "144 CPUs · 2 packages · 144 cores of 1 thread · 34 NUMA nodes" in text


def test_uneven_cores_look_uneven() -> None:
    """
    Offline threads, efficiency cores and a core without a sibling have marks of their own.
    """
    performance, efficiency = HybridCoreKind.PERFORMANCE, HybridCoreKind.EFFICIENCY
    topology = Topology(
        "x86_64",
        (
            Cpu(0, 0, 0, 0, 0, performance),
            Cpu(1, 0, 0, 0, 0, performance, online=False),
            Cpu(2, 1, 0, 0, 0, performance),
            Cpu(3, 2, 0, 0, 0, efficiency),
            Cpu(4, 3, 0, 0, 0, efficiency),
        ),
        (NumaNode(0, 2**30), NumaNode(1, 2**32)),
    )

    text = drawn(Machine("odd", "An odd machine", topology))

    assert "■■ □□  0,2-4" in text
    assert "×      1" in text
    assert "× offline" in text
    assert "□ of an efficiency core" in text
    assert "NUMA 1 no CPUs, 4Gi" in text


def test_links_are_named_and_rated() -> None:
    """
    The matrix of a DGX-1 names each link, and the key says how fast each is.
    """
    text = drawn(load_machine("dgx-1-v100"))

    assert "GPU 0    · NV1 NV1 NV2 NV2 SYS SYS SYS  NUMA 0" in text
    assert "NV2 50 GB/s   NV1 25 GB/s   SYS 15.75 GB/s   per direction, nominal" in text


def test_a_matrix_too_wide_for_names_has_shades() -> None:
    """
    24 GPUs fit 80 columns: one mark a link, explained by the key.
    """
    text = drawn(load_machine("mi300a-cpx"))

    assert "GPU 23 ▓ ▓" in text
    assert "█ HBM 883 GB/s   ▓ XGMI2 128 GB/s" in text


def test_a_matrix_that_says_nothing_new_is_left_out() -> None:
    """
    All pairs of the 16 GPUs of a DGX-2 are equal: one line says so.
    """
    text = drawn(load_machine("dgx-2"))

    assert "GPU 15" not in text
    assert "NV6 150 GB/s   per direction, nominal   the pairs of a GPU share its egress" in text
