"""Packages as boxes of NUMA nodes, with their cores, memory and devices inside."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, zip_longest
from math import ceil

from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from placer_cli.draw.blocks import (
    DrawnNumaNode,
    devices_without_numa_node,
    drawn_numa_nodes_by_package,
    drawn_numa_nodes_of_machine,
)
from placer_cli.draw.canvas import WidthAndMarks
from placer_cli.draw.palette import FRAME, QUIET, STRONG
from placer_cli.draw.texts import device_type_title, ids_text, memory_text
from placer_cli.draw.threads import CellOf, StyledMark, thread_rows, width_of_core_groups
from placer_models.cluster import Machine
from placer_models.device import Device
from placer_models.topology import NumaNode

FRAME_COLUMNS = 4
"""A box's two borders and the room inside them."""


@dataclass(frozen=True, slots=True)
class MachineDrawingStyle:
    """How the parts of a machine look.

    Attributes:
        cell_columns: Width of every thread's cell.
        memory: A line on the memory of a NUMA node in the columns given, if any.
        device: A device, as short as can be.
        held: Who has how much of the memory of a NUMA node, if that is to be shown.
        holders: What is to be seen of a device beside its name: who has it, or what it is.

    """

    cpu: CellOf
    cell_columns: int
    memory: Callable[[NumaNode, int], Text | None]
    device: Callable[[Device], Text]
    held: Callable[[NumaNode], Sequence[tuple[int, StyledMark]] | None]
    holders: Callable[[Device], Sequence[StyledMark]]


@dataclass(frozen=True, slots=True)
class DrawnPackages:
    """The packages of a machine: in a terminal boxes of lines, in a picture rectangles."""

    machine: Machine
    paint: MachineDrawingStyle
    canvas: WidthAndMarks

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        """Yield the packages as text."""
        packages = drawn_numa_nodes_by_package(self.machine)
        paint, canvas = self.paint, self.canvas
        natural = max((_natural(members, paint) for members in packages.values()), default=0)
        per_row = boxes_per_row(len(packages), natural + FRAME_COLUMNS, canvas.width)
        width = (canvas.width - (per_row - 1)) // per_row - FRAME_COLUMNS
        drawn = {package: _rows(members, paint, width) for package, members in packages.items()}
        boxes = []
        for package, rows in drawn.items():
            # Packages side by side have their NUMA nodes on one level.
            beside = drawn.values() if per_row > 1 else [rows]
            heights = [max(_height(row) for row in level) for level in zip_longest(*beside)]
            numa_rows = zip(rows, heights, strict=False)
            boxes.append(
                Panel(
                    Group(*(_numa_row(row, height, canvas) for row, height in numa_rows)),
                    title=Text(f"package {package}", STRONG),
                    title_align="left",
                    border_style=FRAME,
                    height=sum(heights) + 2 * len(heights) + 2,
                )
            )
        yield _grid(boxes, per_row)


def draw_packages(
    machine: Machine, paint: MachineDrawingStyle, canvas: WidthAndMarks
) -> RenderableType:
    """Draw every package of a machine, and what belongs to none."""
    apart = [block for block in drawn_numa_nodes_of_machine(machine) if block.package is None]
    return Group(
        DrawnPackages(machine, paint, canvas),
        *_without_cpus(apart, paint),
        *_homeless(machine, paint),
    )


def device_lines(devices: Sequence[Device], paint: MachineDrawingStyle, width: int) -> list[Text]:
    """Draw devices, a line or more for each type, cut at the width."""
    lines: list[Text] = []
    for kind, members in groupby(devices, lambda device: device.type):
        line = Text(f"{device_type_title(kind):<4}", QUIET)
        for device in members:
            chip = paint.device(device)
            if len(line) + 1 + len(chip) > width and len(line) > 4:
                lines.append(line)
                line = Text(" " * 4)
            line = Text.assemble(line, " ", chip)
        lines.append(line)
    return lines


def _natural(blocks: Sequence[DrawnNumaNode], paint: MachineDrawingStyle) -> int:
    """Return the width that the widest NUMA node's box would like."""
    lines = (width_of_core_groups(block.groups, paint.cell_columns) for block in blocks)
    return max(lines) + FRAME_COLUMNS


def boxes_per_row(boxes: int, natural: float, width: float, gap: float = 1) -> int:
    """Return how many boxes stand side by side, so that all rows are as full as can be.

    Args:
        boxes: How many there are.
        natural: The width that each would like.
        width: The room for all of them.
        gap: The room between two of them.

    """
    most = max(1, min(boxes, int((width + gap) // (natural + gap))))
    return ceil(boxes / ceil(boxes / most)) if boxes else 1


_Row = list[tuple[DrawnNumaNode, list[Text]]]
"""NUMA nodes side by side, with the lines inside their boxes."""


def _rows(blocks: Sequence[DrawnNumaNode], paint: MachineDrawingStyle, width: int) -> list[_Row]:
    per_row = boxes_per_row(len(blocks), _natural(blocks, paint), width)
    inside = (width - (per_row - 1)) // per_row - FRAME_COLUMNS
    drawn = [(block, _lines(block, paint, inside)) for block in blocks]
    return [drawn[i : i + per_row] for i in range(0, len(drawn), per_row)]


def _height(row: _Row | None) -> int:
    return max(len(lines) for _, lines in row) if row else 0


def _numa_row(row: _Row, height: int, canvas: WidthAndMarks) -> RenderableType:
    boxes = [
        Panel(
            Text("\n").join(lines),
            title=_title(block, canvas),
            title_align="left",
            border_style=FRAME,
            height=height + 2,
        )
        for block, lines in row
    ]
    return _grid(boxes, len(boxes))


def _grid(boxes: Sequence[RenderableType], per_row: int) -> Table:
    grid = Table.grid(expand=True, padding=(0, 1, 0, 0), pad_edge=False)
    for _ in range(per_row):
        grid.add_column(ratio=1)
    for start in range(0, len(boxes), per_row):
        grid.add_row(*boxes[start : start + per_row])
    return grid


def _title(block: DrawnNumaNode, canvas: WidthAndMarks) -> Text:
    name, facts = title_of_numa_block(block, canvas)
    return Text.assemble((name, STRONG), (f" {facts}" if facts else "", QUIET))


def title_of_numa_block(block: DrawnNumaNode, canvas: WidthAndMarks) -> tuple[str, str]:
    """Return the name of a NUMA node, and what memory it has."""
    node = block.numa_node
    if node is None:
        return "no NUMA node", ""
    pages = [f"{h.count}x{memory_text(h.page_bytes)} pages" for h in node.hugepages if h.count]
    facts = [memory_text(node.memory_bytes), *pages]
    return f"NUMA {node.id}", f" {canvas.marks.dot} ".join(facts)


def _lines(block: DrawnNumaNode, paint: MachineDrawingStyle, width: int) -> list[Text]:
    lines = thread_rows(block.groups, paint.cpu, paint.cell_columns, width)
    if block.numa_node is not None:
        line = paint.memory(block.numa_node, width)
        lines += [] if line is None else [line]
    return lines + device_lines(block.devices, paint, width)


def _without_cpus(
    blocks: Sequence[DrawnNumaNode], paint: MachineDrawingStyle
) -> Iterator[RenderableType]:
    """Draw NUMA nodes without CPUs; equal empty ones share a line."""
    plain = [b for b in blocks if b.numa_node and not b.numa_node.memory_bytes and not b.devices]
    for block in blocks:
        if block in plain or block.numa_node is None:
            continue
        line = Text.assemble(
            (f"NUMA {block.numa_node.id}", STRONG),
            (f" no CPUs, {memory_text(block.numa_node.memory_bytes)} ", QUIET),
        )
        amount = paint.memory(block.numa_node, 30)
        yield Text(" ").join([line, *([amount] if amount else []), *_chips(block.devices, paint)])
    if plain:
        ids = ids_text([b.numa_node.id for b in plain if b.numa_node])
        yield Text.assemble((f"NUMA {ids}", STRONG), (" no CPUs and no memory for pods", QUIET))


def _chips(devices: Sequence[Device], paint: MachineDrawingStyle) -> list[Text]:
    return device_lines(devices, paint, 10_000)


def _homeless(machine: Machine, paint: MachineDrawingStyle) -> Iterator[RenderableType]:
    devices = devices_without_numa_node(machine)
    if devices:
        chips = Text("  ").join(_chips(devices, paint))
        yield Text.assemble(("without a NUMA node ", QUIET), chips)
