"""The inside of a machine in SVG: packages, NUMA nodes, cores and devices as boxes in boxes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from rich.style import Style

from placer_cli.draw.blocks import CoreCpus, DrawnNumaNode, drawn_numa_nodes_by_package
from placer_cli.draw.packages import (
    DrawnPackages,
    MachineDrawingStyle,
    boxes_per_row,
    title_of_numa_block,
)
from placer_cli.draw.palette import QUIET, STRONG
from placer_cli.draw.svg_shapes import (
    COLUMN,
    EDGE,
    FAINT,
    INK,
    LINE,
    MARGIN,
    PAPER,
    SIZE,
    TRACK,
    style_colour,
    svg_fixed_width_text,
    svg_rect,
)
from placer_cli.draw.texts import device_type_title, memory_text
from placer_cli.draw.threads import (
    LABEL_COLUMNS,
    StyledMark,
    core_groups_spread_over_lines,
    cpu_id_row_labels,
)
from placer_models.device import Device

CELL = 14.0
"""Side of a thread's cell, in pixels."""

BETWEEN = 6.0
"""Between two groups of cores, and between two lines of them."""

PAD = 10.0
"""Inside a box, and between two boxes."""

HEADING = 22.0
"""Room for the heading of a box."""

BAR = 12.0
"""Height of a memory bar."""

PACKAGE_PAPER = "#f4f4f0"


@dataclass(frozen=True, slots=True)
class _Box:
    """A box: what is inside, drawn at the box's own corner; the least size; how it looks."""

    elements: list[str]
    width: float
    height: float
    paper: str
    round_px: float

    def at(self, x: float, y: float, height: float) -> str:
        """Return the box at a place, as high as wanted."""
        frame = svg_rect(0, 0, self.width, height, self.paper, edge=EDGE, round_px=self.round_px)
        inside = "\n".join([frame, *self.elements])
        return f'<g transform="translate({x:g} {y:g})">{inside}</g>'


def svg_elements_of_packages(
    packages: DrawnPackages, top: float, width: float
) -> tuple[list[str], float]:
    """Return the elements of a machine's packages below ``top``, and their height."""
    by_package = drawn_numa_nodes_by_package(packages.machine)
    natural = max(map(_natural, by_package.values()), default=0.0)
    per_row = boxes_per_row(len(by_package), natural + 2 * PAD, width, PAD)
    each = (width - PAD * (per_row - 1)) / per_row
    boxes = [_package(number, blocks, packages, each) for number, blocks in by_package.items()]
    elements, height = _in_rows(boxes, per_row, MARGIN, top + BETWEEN)
    return elements, height + BETWEEN


def _in_rows(
    boxes: Sequence[_Box], per_row: int, left: float, top: float
) -> tuple[list[str], float]:
    """Return boxes side by side, row below row, and their height together."""
    elements = []
    y = top
    for start in range(0, len(boxes), per_row):
        row = boxes[start : start + per_row]
        height = max(box.height for box in row)
        x = left
        for box in row:
            elements.append(box.at(x, y, height))
            x += box.width + PAD
        y += height + PAD
    return elements, y - top


def _natural(blocks: Sequence[DrawnNumaNode]) -> float:
    """Return the width that the widest NUMA node would like."""
    label = LABEL_COLUMNS * COLUMN + PAD
    return max(_cells_wide(block.groups) + label for block in blocks) + 2 * PAD


def _cells_wide(line: Sequence[Sequence[CoreCpus]]) -> float:
    return sum(len(group) for group in line) * CELL + max(0, len(line) - 1) * BETWEEN


def _package(
    number: int, blocks: Sequence[DrawnNumaNode], packages: DrawnPackages, width: float
) -> _Box:
    inside = width - 2 * PAD
    per_row = boxes_per_row(len(blocks), _natural(blocks), inside, PAD)
    each = (inside - PAD * (per_row - 1)) / per_row
    drawn = [_numa(block, packages, each) for block in blocks]
    elements, height = _in_rows(drawn, per_row, PAD, HEADING)
    height += HEADING
    heading = svg_fixed_width_text(PAD, HEADING - 7, f"package {number}", STRONG)
    return _Box([heading, *elements], width, height, PACKAGE_PAPER, 6)


def _numa(block: DrawnNumaNode, packages: DrawnPackages, width: float) -> _Box:
    paint = packages.paint
    name, facts = title_of_numa_block(block, packages.canvas)
    elements = [svg_fixed_width_text(PAD, HEADING - 7, name, STRONG)]
    x = PAD + (len(name) + 1) * COLUMN
    elements += [svg_fixed_width_text(x, HEADING - 7, facts, QUIET)] if facts else []
    found, y = _threads(block, paint, width, HEADING)
    elements += found
    if block.numa_node is not None and (held := paint.held(block.numa_node)) is not None:
        found = list(_memory(held, block.numa_node.memory_bytes, width, y))
        elements += found
        y += BAR + BETWEEN
    found, y = _devices(block.devices, paint, width, y)
    elements += found
    height = y + PAD - BETWEEN
    return _Box(elements, width, height, PAPER, 4)


def _threads(
    block: DrawnNumaNode, paint: MachineDrawingStyle, width: float, y: float
) -> tuple[list[str], float]:
    """Return the cells of the cores, a column each, and where what comes next begins."""
    label = LABEL_COLUMNS * COLUMN + PAD
    room = max(1, int((width - 2 * PAD - label) // CELL))
    elements: list[str] = []
    for line in core_groups_spread_over_lines(block.groups, room, 1):
        levels = cpu_id_row_labels(list(chain(*line)))
        for level, said in enumerate(levels):
            x = PAD
            for group in line:
                for core in group:
                    if level < len(core):
                        elements += _cell(paint.cpu(core[level]), x, y)
                    x += CELL
                x += BETWEEN
            elements.append(svg_fixed_width_text(x, y + CELL - 3, said, QUIET, size=SIZE - 2))
            y += CELL
        y += BETWEEN
    return elements, y


def _cell(cell: StyledMark, x: float, y: float) -> Iterator[str]:
    """Yield a thread's cell: its owner's colour and letter, or a mark."""
    side = CELL - 1.5
    colour = style_colour(cell.style)
    if cell.style.reverse:
        yield svg_rect(x, y, side, side, colour or INK, round_px=2)
        yield _letters(cell, x, y)
    elif cell.mark in "■□":
        fill = colour if cell.mark == "■" else PAPER
        yield svg_rect(x, y, side, side, fill or FAINT, edge=colour, round_px=2)
    else:
        yield svg_rect(x, y, side, side, TRACK, round_px=2)
        if cell.mark == "▪":
            yield svg_rect(x + 4, y + 4, side - 8, side - 8, FAINT)
        elif cell.mark != "·":
            yield _letters(cell, x, y)


def _letters(cell: StyledMark, x: float, y: float) -> str:
    """Return the letters of a mark in the middle of a cell."""
    wide = min(COLUMN, (CELL - 3) / len(cell.mark))
    left = x + (CELL - 1.5 - wide * len(cell.mark)) / 2
    size = SIZE - 2 if len(cell.mark) == 1 else SIZE - 5
    return svg_fixed_width_text(left, y + CELL - 4, cell.mark, cell.style, size=size, wide=wide)


def _memory(
    held: Sequence[tuple[int, StyledMark]], total: int, width: float, y: float
) -> Iterator[str]:
    """Yield a bar of who has how much of a NUMA node's memory, to scale."""
    if not total:
        return
    left = PAD + 5 * COLUMN
    most = width - 2 * PAD - 5 * COLUMN - 9 * COLUMN
    yield svg_fixed_width_text(PAD, y + BAR - 2, "mem", QUIET, size=SIZE - 2)
    yield svg_rect(left, y, most, BAR, TRACK, round_px=2)
    x = left
    for amount, cell in held:
        wide = min(most * amount / total, left + most - x)
        if wide <= 0:
            continue
        yield svg_rect(x, y, max(wide, 1), BAR, style_colour(cell.style) or FAINT, edge=PAPER)
        if wide >= COLUMN * len(cell.mark):
            at = x + (wide - (COLUMN - 1) * len(cell.mark)) / 2
            yield svg_fixed_width_text(
                at, y + BAR - 2, cell.mark, cell.style, size=SIZE - 3, wide=COLUMN - 1
            )
        x += wide
    taken = memory_text(sum(amount for amount, _ in held))
    yield svg_fixed_width_text(left + most + COLUMN, y + BAR - 2, taken, QUIET, size=SIZE - 2)


def _devices(
    devices: Sequence[Device], paint: MachineDrawingStyle, width: float, y: float
) -> tuple[list[str], float]:
    """Return a chip for each device with the letters of its holders, a type a line."""
    elements: list[str] = []
    x, kind = PAD, ""
    for device in devices:
        cells = paint.holders(device)
        name = f"{device_type_title(device.type)} {device.minor}"
        marks = "".join(cell.mark for cell in cells)
        wide = (len(name) + (len(marks) + 1 if marks else 0)) * (COLUMN - 1) + PAD
        if elements and (device.type != kind or x + wide > width - PAD):
            x, y = PAD, y + LINE + 4
        kind = device.type
        elements += _chip(name, cells, x, y, wide)
        x += wide + BETWEEN
    return elements, y + (LINE + BETWEEN if elements else 0)


def _chip(name: str, cells: Sequence[StyledMark], x: float, y: float, wide: float) -> Iterator[str]:
    colour = next((style_colour(cell.style) for cell in cells if style_colour(cell.style)), "")
    yield svg_rect(
        x, y, wide, LINE, PAPER if not cells else "#fbfbf9", edge=colour or EDGE, round_px=4
    )
    column = COLUMN - 1
    yield svg_fixed_width_text(x + 5, y + LINE - 5, name, Style.null(), size=SIZE - 2, wide=column)
    at = x + 5 + (len(name) + 1) * column
    for cell in cells:
        long = len(cell.mark) * column
        if cell.style.reverse:
            yield svg_rect(
                at - 1, y + 2, long + 2, LINE - 4, style_colour(cell.style) or INK, round_px=2
            )
        yield svg_fixed_width_text(
            at, y + LINE - 5, cell.mark, cell.style, size=SIZE - 2, wide=column
        )
        at += long
