"""Tables in captured text: rows and columns of devices, as topology tools print them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from placer_models.cpuset import MAX_CPU_ID, CpuSet, parse_cpu_list


class GpuTopologyError(ValueError):
    """The text does not say how the GPUs are linked, or contradicts itself.

    Attributes:
        line: The line at fault, from 1; None where the text as a whole is meant.

    """

    def __init__(self, line: int | None, message: str) -> None:
        super().__init__(message if line is None else f"line {line}: {message}")
        self.line = line


@dataclass(frozen=True, slots=True)
class TopoMatrixRow:
    """One device and its cells, one for each column of the table.

    Attributes:
        rest: What follows the last link: the cells of the headings.

    """

    line: int
    cells: tuple[str, ...]
    rest: tuple[str, ...]


@dataclass(slots=True)
class TopoMatrix:
    """A table whose rows and columns are devices.

    Attributes:
        columns: The devices, as the header names them.
        headings: What the header says after the devices, such as ``CPU Affinity``.
        start: Column of the first heading in its line, by which blank cells are recognized.

    """

    line: int
    columns: tuple[str, ...]
    headings: tuple[str, ...]
    start: int
    rows: dict[str, TopoMatrixRow] = field(default_factory=dict)

    def cell(self, name: str, other: str) -> str | None:
        """Return what the row of one device says about another, or None if it has no row."""
        row = self.rows.get(name)
        return None if row is None else row.cells[self.columns.index(other)]


# Colours and underlines; logs often lose the escape character itself.
_ESCAPES = re.compile(r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b?\[[0-9;]*[mK]|\x1b.?")
_QUOTED = re.compile(r"^[ ]*(?:#|>|//)+[ ]?")
_GPU = r"GPU(?:0|[1-9][0-9]{0,3})"
_BUS_ID = r"[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]"
_NIC = r"NIC[0-9]{1,4}|mlx[0-9]_(?:bond_)?[0-9]{1,4}"
_GLUED = re.compile(rf"{_GPU}|{_BUS_ID}|{_NIC}|.+")
_DEVICE = re.compile(rf"{_GPU}|{_BUS_ID}|(?!GPU)[A-Za-z][A-Za-z0-9_.-]*[0-9][A-Za-z0-9_.-]*")
_LINK = re.compile(r"X|NV[0-9]+|SYS|SOC|NODE|PHB|PXB|PIX|PSB|PCIE|XGMI[0-9]*|SELF|N/A")
_HEADING = re.compile(r"GPU\s+NUMA\s+ID|(?:CPU|NUMA)(?:\s+Affinity)?(?=\s|$)")
_TAB_STOP = 8
_LONGEST_LIST = 4096


def lines_without_pasted_decoration(text: str) -> list[str]:
    """Return the lines without what copying adds: colours, quotes, fences, table bars."""
    text = _ESCAPES.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    text = text.replace("\ufeff", "").replace("\xa0", " ").replace("\u2013", "-")
    lines = []
    for line in text.split("\n"):
        if line.strip().startswith("```"):
            line = ""
        line = _QUOTED.sub("", line)
        if line.strip().startswith("|"):
            line = line.strip().strip("|").replace("|", "\t")
        lines.append(re.sub(r",[ ]+(?=[0-9])", ",", line))
    return lines


def read_topo_matrices(lines: Sequence[str]) -> list[TopoMatrix]:
    """Return the tables of devices, in order.

    Raises:
        GpuTopologyError: A row has no column, occurs twice, or is too short.

    """
    tables: list[TopoMatrix] = []
    table: TopoMatrix | None = None
    for number, line in enumerate(lines, start=1):
        header = _header(number, line)
        if header is not None:
            table = header
            tables.append(header)
        elif table is not None and line.strip() and not _add_row(table, number, line):
            table = None
    return [t for t in tables if t.rows]


def parse_affinity_ids(line: int, what: str, text: str, largest: int = MAX_CPU_ID) -> CpuSet | None:
    """Return the CPUs or NUMA nodes that a cell lists, or None if it does not say."""
    if text in ("", "N/A", "-", "-1"):
        return None
    try:
        if len(text) > _LONGEST_LIST:
            raise ValueError(f"a list of {len(text)} characters is longer than any tool prints")
        ids = parse_cpu_list(text)
        if max(ids) > largest:
            raise ValueError(f"{text!r} goes up to {max(ids)}; ids end at {largest}")
    except ValueError as error:
        raise GpuTopologyError(line, f"{what}: {error}") from error
    return ids


def is_gpu_name(name: str) -> bool:
    """Return whether a device is called GPU0 and so on."""
    return re.fullmatch(_GPU, name) is not None


def gpu_number(name: str) -> int:
    """Return the number in the name of a GPU."""
    return int(name.removeprefix("GPU"))


def is_link_kind(cell: str) -> bool:
    """Return whether a cell of a table is a kind of link that tools print."""
    return _LINK.fullmatch(cell) is not None


def _header(number: int, line: str) -> TopoMatrix | None:
    """Return the table that the line opens, or None if it is not a header."""
    found = _HEADING.search(line)
    names = line[: found.start()] if found else line
    words = [part for word in names.split() for part in _GLUED.findall(word)]
    if not words or not (is_gpu_name(words[0]) or re.fullmatch(_BUS_ID, words[0])):
        return None
    if len(words) < 2 and found is None:
        return None
    if any(is_link_kind(word) or not _DEVICE.fullmatch(word) for word in words):
        return None
    for word in words:
        if words.count(word) > 1:
            raise GpuTopologyError(number, f"the header names {word} twice")
    headings = tuple(" ".join(h.split()) for h in _HEADING.findall(line))
    return TopoMatrix(number, tuple(words), headings, found.start() if found else len(line))


def _add_row(table: TopoMatrix, number: int, line: str) -> bool:
    """Add the line as a row and return True, or return False if it is not one: the table ends."""
    name, second = [*line.split(), ""][:2]
    if name.endswith(":") and is_link_kind(second):  # else it is a legend: NIC0: mlx5_0
        name = name.removesuffix(":")
    if name not in table.columns:
        if is_gpu_name(name) and is_link_kind(second):
            raise GpuTopologyError(number, f"{name} has a row, but no column in line {table.line}")
        return False
    if name in table.rows:
        if not is_link_kind(second):  # prose that begins with a device
            return False
        first = table.rows[name].line
        raise GpuTopologyError(number, f"{name} has a second row; the first is line {first}")
    width = len(table.columns)
    by_tab = [cell.strip() for cell in line.strip("\n").split("\t")]
    if len(by_tab) > width and by_tab[0].rstrip(":") == name:
        table.rows[name] = TopoMatrixRow(
            number, tuple(by_tab[1 : width + 1]), tuple(by_tab[width + 1 :])
        )
        return True
    words = list(re.finditer(r"\S+", line))[1:]
    if len(words) < width:
        raise GpuTopologyError(
            number,
            f"{name} has {len(words)} cells for {width} devices; "
            f"nothing is said about {table.columns[len(words)]}",
        )
    rest = [word.group() for word in words[width:]]
    # Tools print tabs: a blank first cell shows as a gap of a tab stop or more.
    is_short = 0 < len(rest) < len(table.headings)
    if is_short and words[width].start() >= table.start + _TAB_STOP:
        rest.insert(0, "")
    table.rows[name] = TopoMatrixRow(number, tuple(w.group() for w in words[:width]), tuple(rest))
    return True
