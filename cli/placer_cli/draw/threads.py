"""Threads as cells: a core is a column, its threads stand one below the other."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from math import ceil

from rich.style import Style
from rich.text import Text

from placer_cli.draw.blocks import CoreCpus
from placer_cli.draw.palette import QUIET
from placer_cli.draw.texts import ids_text
from placer_models.topology import Cpu

LABEL_COLUMNS = 13
"""Room at the end of a row of cells for the row's CPU ids."""

Groups = Sequence[Sequence[CoreCpus]]


@dataclass(frozen=True, slots=True)
class StyledMark:
    """One mark in one style."""

    mark: str
    style: Style


_NOTHING = StyledMark("", Style())

CellOf = Callable[[Cpu], StyledMark]


def width_of_core_groups(groups: Groups, cell_columns: int) -> int:
    """Return the width of the groups on one line, CPU ids included."""
    line = _columns(groups, cell_columns)
    return line + max(
        (2 + len(label) for label in cpu_id_row_labels(list(chain(*groups)))), default=0
    )


def thread_rows(groups: Groups, cell_of: CellOf, cell_columns: int, width: int) -> list[Text]:
    """Draw groups of cores in at most the width, a gap between two groups.

    What does not fit on one line goes on after an empty one, so that lines are not
    taken for threads of the cores above them.
    """
    room = max(cell_columns, width - 2 - LABEL_COLUMNS)
    if width_of_core_groups(groups, cell_columns) <= width:
        room = width
    lines = core_groups_spread_over_lines(groups, room, cell_columns)
    longest = max((_columns(line, cell_columns) for line in lines), default=0)
    rows: list[Text] = []
    for line in lines:
        rows += [Text()] if rows else []
        for level, label in enumerate(cpu_id_row_labels(list(chain(*line)))):
            row = Text(no_wrap=True, overflow="crop")
            for number, group in enumerate(line):
                row.append(" " if number else "")
                for core in group:
                    cell = cell_of(core[level]) if level < len(core) else _NOTHING
                    row.append(cell.mark.ljust(cell_columns), cell.style)
            row.append(" " * (longest - len(row) + 2))
            rows.append(row.append(label, QUIET))
    return rows


def cpu_id_row_labels(cores: Sequence[CoreCpus]) -> list[str]:
    """Return the CPU ids of each row: the first threads, the second threads, ..."""
    return [
        ids_text([core[level].id for core in cores if level < len(core)], LABEL_COLUMNS)
        for level in range(max((len(core) for core in cores), default=0))
    ]


def _columns(line: Groups, cell_columns: int) -> int:
    return sum(len(group) for group in line) * cell_columns + max(0, len(line) - 1)


def core_groups_spread_over_lines(
    groups: Groups, room: int, cell_columns: int
) -> list[list[Sequence[CoreCpus]]]:
    """Spread groups evenly over the fewest lines; a group too long for one is cut."""
    most = max(1, room // cell_columns)
    pieces = [piece for group in groups for piece in _cut(group, most)]
    if not pieces:
        return []
    fewest = ceil(_columns(pieces, cell_columns) / room)
    for count in range(fewest, len(pieces) + 1):
        per_line = ceil(len(pieces) / count)
        lines = [pieces[i : i + per_line] for i in range(0, len(pieces), per_line)]
        if all(_columns(line, cell_columns) <= room for line in lines):
            return lines
    return [[piece] for piece in pieces]


def _cut(group: Sequence[CoreCpus], most: int) -> list[Sequence[CoreCpus]]:
    parts = ceil(len(group) / most)
    size = ceil(len(group) / parts)
    return [group[i : i + size] for i in range(0, len(group), size)]
