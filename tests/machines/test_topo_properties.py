"""What holds for all texts: links keep their order, and damage never surprises."""

from contextlib import suppress
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from machines.test_other_topo import AMD_SMI, ROCM, SLURM
from machines.topo_texts import FOUR, topo
from placer_models.cluster import Machine
from placer_models.machines.nvidia_topo import GpuTopologyError, machine_from_topo_text
from placer_models.machines.other_topo import read_amd_topology_output

FAST = {"NV1": 25.0, "NV2": 50.0, "NV4": 100.0, "NV12": 300.0, "NV18": 450.0}
SLOW = {"PIX": 14.0, "PXB": 13.0, "PHB": 12.0, "NODE": 11.0, "SYS": 10.0}


@st.composite
def matrices(draw: st.DrawFn) -> list[list[str]]:
    """Draw a symmetric matrix of kinds."""
    count = draw(st.integers(1, 8))
    rows = [["X"] * count for _ in range(count)]
    for i in range(count):
        for j in range(i):
            rows[i][j] = rows[j][i] = draw(st.sampled_from([*FAST, *SLOW]))
    return rows


@given(matrices())
def test_links_written_and_read_keep_their_order(rows: list[list[str]]) -> None:
    """
    Whatever the links: a pair that is faster on the machine is faster as read.
    """
    text = topo([f"GPU{i}: {' '.join(row)} | 0-7 | 0" for i, row in enumerate(rows)])
    machine = machine_from_topo_text(text, gb_per_s_per_link=25, gb_per_s_by_kind=SLOW)

    assert machine.gpu_links is not None
    speed = FAST | SLOW | {"X": 0}
    expected = tuple(tuple(round(100 * speed[kind]) for kind in row) for row in rows)
    assert machine.gpu_links.centi_gb_per_s == expected


def outcome(text: str) -> Machine | None:
    """Return the machine, or None where the text is refused as it should be."""
    with suppress(GpuTopologyError):
        return machine_from_topo_text(text)
    return None


PIECES = ["\t", "\n", " ", "X", "NV4", "NV", "SYS", "GPU0", "GPU9", "NIC0", "N/A", "0-", "-", ","]
PIECES += ["CPU Affinity", "65535", "0-65535", "|", "```", "\x1b[4m", "\x00", "\u0660", "=", ":"]


@given(
    st.sampled_from([FOUR, ROCM, AMD_SMI, SLURM]),
    st.lists(
        st.tuples(st.floats(0, 1), st.integers(0, 12), st.sampled_from(PIECES)),
        min_size=1,
        max_size=6,
    ),
)
def test_a_damaged_text_is_a_machine_or_refused(
    text: str, damages: list[tuple[float, int, str]]
) -> None:
    """
    Pieces cut out, put in and swapped at random: no other error, and never a one-sided link.
    """
    for place, length, piece in damages:
        start = int(place * len(text))
        text = text[:start] + piece + text[start + length :]

    machine = outcome(text)
    assert machine is None or machine.gpu_links is not None


@given(st.text(alphabet=st.sampled_from("GPUNICX0123 \t\nNVSYS:-,/A="), max_size=200))
def test_any_text_is_a_machine_or_refused(text: str) -> None:
    """
    Nothing but a machine or a GpuTopologyError comes out.
    """
    outcome(text)


def test_lines_in_any_order_are_a_machine_or_refused() -> None:
    """
    Shuffled, doubled and dropped lines: still no other error.
    """
    rng = Random(7)
    for text in (FOUR, ROCM, AMD_SMI, SLURM):
        for _ in range(50):
            outcome("\n".join(rng.choices(text.splitlines(), k=12)))


def test_rows_in_any_order_are_the_same_machine() -> None:
    """
    The header says which column is whose; the order of rows says nothing.
    """
    header, *rows = FOUR.splitlines()

    assert machine_from_topo_text("\n".join([header, *reversed(rows)])) == machine_from_topo_text(
        FOUR
    )
    assert read_amd_topology_output(FOUR.splitlines()) is None
