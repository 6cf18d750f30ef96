"""Topologies of GPUs as tools print them: ``nvidia-smi topo -m`` above all."""

import re
from collections.abc import Mapping, Sequence

from placer_models.cluster import Machine
from placer_models.instance.machine_links import SELF
from placer_models.machines.affinity_columns import GpuAffinityInTopoMatrix
from placer_models.machines.other_topo import read_amd_topology_output, read_slurm_gres
from placer_models.machines.rates import UNLINKED
from placer_models.machines.sketch import (
    GpuInToolOutput,
    MachineFromToolOutput,
    machine_from_tool_output,
)
from placer_models.machines.topo_text import GpuTopologyError as GpuTopologyError
from placer_models.machines.topo_text import (
    TopoMatrix,
    TopoMatrixRow,
    gpu_number,
    is_gpu_name,
    lines_without_pasted_decoration,
    parse_affinity_ids,
    read_topo_matrices,
)

MAX_NUMA_NODE = 1023
"""Linux itself is built for at most 1,024 NUMA nodes."""

_LEGEND = re.compile(r"\s*(NIC[0-9]+)\s*:\s*(\S+)")
_KIND = re.compile(r"X|NV[1-9][0-9]?|SYS|SOC|NODE|PHB|PXB|PIX|PSB|N/A")


def machine_from_topo_text(
    text: str,
    *,
    name: str = "topo",
    gb_per_s_per_link: float | None = None,
    gb_per_s_by_kind: Mapping[str, float] | None = None,
) -> Machine:
    """Return the machine that the text shows: GPUs, links, ports, and what is near them.

    Reads ``nvidia-smi topo -m``, ``rocm-smi --showtopo``, ``amd-smi topology`` and
    ``slurmd -G``, with whatever else was copied along. Nothing is invented: CPUs and
    NUMA nodes near no GPU are missing, memory is 0, and the notes of the machine say
    what was assumed. A GPU that is off the fabric keeps its place, with slow links.

    Args:
        text: What was printed.
        name: What the machine is called.
        gb_per_s_per_link: Bandwidth per direction of one NVLink or xGMI link. None: that of
            the generation that the text looks like.
        gb_per_s_by_kind: Bandwidth per direction of whole kinds, such as ``SYS``.

    Raises:
        GpuTopologyError: The text shows no such machine, or is damaged; the message names the
            line and the cell.

    """
    lines = lines_without_pasted_decoration(text)
    try:
        sketch = read_slurm_gres(lines) or read_amd_topology_output(lines) or _read_nvidia(lines)
        return machine_from_tool_output(sketch, name, gb_per_s_per_link, gb_per_s_by_kind or {})
    except GpuTopologyError:
        raise
    except ValueError as error:
        raise GpuTopologyError(None, str(error)) from error


def _read_nvidia(lines: Sequence[str]) -> MachineFromToolOutput:
    tables = [t for t in read_topo_matrices(lines) if is_gpu_name(t.columns[0])]
    if not tables:
        raise GpuTopologyError(
            None,
            "there is no table of GPUs; expected the output of nvidia-smi topo -m: a header "
            "that begins with GPU0 and below it a row for each GPU",
        )
    table = tables[0]
    gpus = sorted(filter(is_gpu_name, table.columns), key=gpu_number)
    nics = [c for c in table.columns if not is_gpu_name(c)]
    for name in gpus:
        if name not in table.rows:
            raise GpuTopologyError(table.line, f"{name} has a column but no row")
    _check_cells(table)
    affinities = [_affinity(name, table.rows[name], table.headings) for name in gpus]
    matches = [match for line in lines if (match := _LEGEND.fullmatch(line))]
    legend = {match[1]: match[2] for match in matches}
    on_grace = any(affinity.memory_node is not None for affinity in affinities)
    return MachineFromToolOutput(
        gpus=tuple(
            GpuInToolOutput(gpu_number(n), a) for n, a in zip(gpus, affinities, strict=True)
        ),
        nics=tuple(legend.get(nic, nic) for nic in nics),
        kinds=tuple(tuple(_kind(table, a, b) for b in gpus + nics) for a in gpus + nics),
        source="nvidia-smi topo -m",
        architecture="aarch64" if on_grace else "x86_64",
    )


def _kind(table: TopoMatrix, name: str, other: str) -> str | None:
    cell = table.cell(name, other) or table.cell(other, name)
    return None if cell == UNLINKED and not (is_gpu_name(name) and is_gpu_name(other)) else cell


def _check_cells(table: TopoMatrix) -> None:
    """Refuse cells that are not links, and links whose two directions differ."""
    dead = {
        name
        for name, row in table.rows.items()
        if all(cell in (SELF, UNLINKED) for cell in row.cells)
    }
    for name, row in table.rows.items():
        for other, cell in zip(table.columns, row.cells, strict=True):
            if (cell == SELF) != (name == other) or not _KIND.fullmatch(cell):
                raise GpuTopologyError(
                    row.line,
                    f"{name} to {other}: {cell!r} is no link; expected NV1 to NV99, PIX, PXB, PHB, "
                    f"NODE or SYS, and {SELF} on the diagonal (are cells missing or merged?)",
                )
            both = is_gpu_name(name) and is_gpu_name(other)
            if cell == UNLINKED and both and not {name, other} & dead:
                raise GpuTopologyError(
                    row.line, f"{name} to {other}: the tool could not read this link ({cell})"
                )
            back = table.cell(other, name)
            if back is not None and back != cell:
                raise GpuTopologyError(
                    row.line,
                    f"{name} to {other} is {cell!r}, but line {table.rows[other].line} has "
                    f"{back!r} for the way back; links are the same in both directions",
                )


def _affinity(name: str, row: TopoMatrixRow, headings: Sequence[str]) -> GpuAffinityInTopoMatrix:
    """Return the affinity that follows a GPU's links in its row; blank cells say nothing."""
    cells = [word for cell in row.rest for word in cell.split() or [""]]
    if sum(cell != "" for cell in cells) > len(headings):
        raise GpuTopologyError(
            row.line,
            f"{name} has {' '.join(cells).strip()!r} behind its links; the header has "
            f"{', '.join(headings) or 'nothing'} there",
        )
    whats = [heading.split()[0] for heading in headings]
    found = dict(zip(whats, cells, strict=False))
    if "GPU" in whats:
        # The row has one tab more than headings, so the value is the last cell, not the next.
        found["GPU"] = next((c for c in reversed(cells[whats.index("GPU") :]) if c), "")
    near, own = (
        parse_affinity_ids(row.line, f"{name}, {what}", found.get(key, ""), MAX_NUMA_NODE)
        for what, key in [("NUMA Affinity", "NUMA"), ("GPU NUMA ID", "GPU")]
    )
    return GpuAffinityInTopoMatrix(
        cpus=parse_affinity_ids(row.line, f"{name}, CPU Affinity", found.get("CPU", "")),
        numa_nodes=near or frozenset(),
        memory_node=_single(own),
    )


def _single(nodes: frozenset[int] | None) -> int | None:
    return next(iter(nodes)) if nodes and len(nodes) == 1 else None
