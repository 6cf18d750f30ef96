"""Links as tools other than nvidia-smi print them: AMD's, and Slurm's daemon."""

import re
from collections.abc import Sequence

from placer_models.instance.machine_links import SELF
from placer_models.machines.affinity_columns import GpuAffinityInTopoMatrix
from placer_models.machines.sketch import GpuInToolOutput, MachineFromToolOutput
from placer_models.machines.topo_text import (
    GpuTopologyError,
    TopoMatrix,
    gpu_number,
    is_gpu_name,
    parse_affinity_ids,
    read_topo_matrices,
)

_AMD_LINKS = ("XGMI", "PCIE")
_AMD_SELF = ("0", "SELF", "X", "N/A")
_AMD_NUMA = re.compile(
    r"\s*GPU\s*\[?([0-9]{1,4})\]?\s*:\s*\(Topology\) Numa Node:\s*([0-9]{1,4})\s*"
)
_AMD_SIGNS = re.compile(r"ROCm|rocm-smi|amd-smi|LINK TYPE TABLE|Link Type between two GPUs")
_GRES = re.compile(r"\bName=gpu\b")
_FIELD = re.compile(r"\b(Type|Index|File|Cores|Links)=(\S+)")


def read_amd_topology_output(lines: Sequence[str]) -> MachineFromToolOutput | None:
    """Read ``rocm-smi --showtopo`` or ``amd-smi topology``; return None if the text is neither.

    Raises:
        GpuTopologyError: It is one, but a link is unreadable, as in some partition modes.

    """
    tables = [t for t in read_topo_matrices(lines) if _has_link_types(t)]
    if not tables:
        for number, line in enumerate(lines, start=1):
            if _AMD_SIGNS.search(line):
                raise GpuTopologyError(
                    number, "this looks like AMD's tools, but no table of link types (XGMI) follows"
                )
        return None
    table = tables[0]
    numa_of: dict[int, int] = {}
    for line in lines:
        if match := _AMD_NUMA.fullmatch(line):
            numa_of[int(match[1])] = int(match[2])
    if any(is_gpu_name(name) != is_gpu_name(table.columns[0]) for name in table.columns):
        raise GpuTopologyError(
            table.line, "GPUs are named GPU0 and so on, or all by bus id, not both"
        )
    names = (
        sorted(table.columns, key=gpu_number) if is_gpu_name(table.columns[0]) else table.columns
    )
    gpus = []
    for i, name in enumerate(names):
        minor = gpu_number(name) if is_gpu_name(name) else i
        near = frozenset({numa_of[minor]}) if minor in numa_of else frozenset()
        bus_id = "" if is_gpu_name(name) else name
        gpus.append(GpuInToolOutput(minor, GpuAffinityInTopoMatrix(numa_nodes=near), bus_id=bus_id))
    kinds = _amd_kinds(table, names)
    return MachineFromToolOutput(tuple(gpus), (), kinds, "the topology that AMD's tools print")


def read_slurm_gres(lines: Sequence[str]) -> MachineFromToolOutput | None:
    """Read ``slurmd -G`` or a gres.conf with links; return None if the text is neither.

    Raises:
        GpuTopologyError: It is one, but a device has no index, or its links do not fit.

    """
    found: dict[int, tuple[int, dict[str, str]]] = {}
    for number, line in enumerate(lines, start=1):
        if not _GRES.search(line):
            continue
        fields = dict(_FIELD.findall(line))
        index = fields.get("Index") or re.sub(r".*?([0-9]*)$", r"\1", fields.get("File", ""))
        if not re.fullmatch("[0-9]{1,4}", index):
            raise GpuTopologyError(
                number, "this GPU has no Index and no File with a number, such as nvidia0"
            )
        if int(index) in found:
            raise GpuTopologyError(
                number, f"GPU {index} is listed already, in line {found[int(index)][0]}"
            )
        found[int(index)] = (number, fields)
    if not found:
        return None
    gpus = []
    rows: list[list[str]] = []
    for i, (minor, (number, fields)) in enumerate(sorted(found.items())):
        counts = fields.get("Links", "").split(",")
        if len(counts) != len(found):
            raise GpuTopologyError(
                number, f"GPU {minor}: Links has {len(counts)} values for {len(found)} GPUs"
            )
        rows.append([_slurm_kind(number, minor, count, i == j) for j, count in enumerate(counts)])
        cpus = parse_affinity_ids(number, f"GPU {minor}, Cores", fields.get("Cores", ""))
        gpus.append(
            GpuInToolOutput(minor, GpuAffinityInTopoMatrix(cpus=cpus), model=fields.get("Type", ""))
        )
    for i, row in enumerate(rows):
        for j in range(i):
            if row[j] != rows[j][i]:
                a, b = gpus[i].minor, gpus[j].minor
                raise GpuTopologyError(
                    found[a][0],
                    f"GPU {a} to GPU {b} is {row[j]}, but back it is {rows[j][i]}; "
                    "links are the same in both directions",
                )
    return MachineFromToolOutput(tuple(gpus), (), tuple(map(tuple, rows)), "slurmd -G")


def _has_link_types(table: TopoMatrix) -> bool:
    return any(cell in _AMD_LINKS for row in table.rows.values() for cell in row.cells)


def _amd_kinds(table: TopoMatrix, names: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    for name in names:
        if name not in table.rows:
            raise GpuTopologyError(table.line, f"{name} has a column but no row")
    for name, row in table.rows.items():
        for other, cell in zip(table.columns, row.cells, strict=True):
            if cell not in (_AMD_SELF if other == name else _AMD_LINKS):
                raise GpuTopologyError(
                    row.line,
                    f"{name} to {other}: {cell!r} is no link type; expected XGMI or PCIE, and 0 or "
                    "SELF on the diagonal; run the tool in a mode in which it can read its links",
                )
            back = table.cell(other, name)
            if other != name and back != cell:
                raise GpuTopologyError(
                    row.line, f"{name} to {other} is {cell}, but back it is {back}"
                )
    return tuple(tuple(SELF if a == b else table.cell(a, b) or "" for b in names) for a in names)


def _slurm_kind(number: int, minor: int, count: str, diagonal: bool) -> str:
    """Return the kind of ``count`` NVLinks; Slurm knows no other kind of path."""
    if not re.fullmatch(r"-1|[0-9]{1,2}", count) or (count == "-1") != diagonal:
        raise GpuTopologyError(
            number,
            f"GPU {minor}: Links has {count!r}; expected a count of links, and -1 for itself",
        )
    if diagonal:
        return SELF
    return f"NV{int(count)}" if int(count) else "PCIE"
