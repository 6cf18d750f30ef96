"""One look for every table: a line under the head, columns without content left out."""

from collections.abc import Collection, Mapping, Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from placer_cli.draw.breaking import Breaking
from placer_cli.draw.palette import FRAME, QUIET, STRONG

GAP_COLUMNS = 2
"""Room between two columns."""


def table(
    columns: Sequence[str],
    rows: Sequence[Sequence[Text]],
    width: int | None = None,
    *,
    numbers: Collection[str] = (),
    wrap: Mapping[str, int] | None = None,
    spare: Sequence[str] = (),
) -> Table:
    """Return a table without the columns that are empty in every row.

    Columns named in ``numbers`` are set to the right. Those of ``wrap`` give way where
    room is short, down to the width given there, as do very wide ones; the others are left
    whole. If that is not enough, the columns named in ``spare`` are left out, one after the
    other. Where the page is too narrow even so, each row is a list of its cells: all of them,
    one below the other.
    """
    natural = {
        i: _natural(name, i, rows)
        for i, name in enumerate(columns)
        if any(row[i].plain for row in rows)
    }
    wrap = {columns[i]: MOST_COLUMNS for i in natural if natural[i] > MOST_COLUMNS} | dict(
        wrap or {}
    )
    least = {i: min(wide, wrap.get(columns[i], wide)) for i, wide in natural.items()}
    for name in spare:
        if _fits(least, width):
            break
        least.pop(columns.index(name), None)
    if not _fits(least, width):
        return _one_below_the_other(columns, rows)
    drawn = Table(
        box=box.SIMPLE_HEAD,
        border_style=FRAME,
        header_style=STRONG,
        pad_edge=False,
        padding=(0, GAP_COLUMNS - 1, 0, 0),
        show_edge=False,
    )
    for i, columns_at_least in least.items():
        drawn.add_column(
            columns[i],
            justify="right" if columns[i] in numbers else "left",
            overflow="fold",
            no_wrap=columns[i] not in wrap,
            min_width=columns_at_least,
        )
    for row in rows:
        drawn.add_row(*(Breaking(row[i]) if columns[i] in wrap else row[i] for i in least))
    return drawn


MOST_COLUMNS = 40
"""A column that is wider than this wraps where room is short, whatever it is."""


def _fits(least: Mapping[int, int], width: int | None) -> bool:
    return width is None or sum(least.values()) + GAP_COLUMNS * (len(least) - 1) <= width


def _one_below_the_other(columns: Sequence[str], rows: Sequence[Sequence[Text]]) -> Table:
    """Return a line for each cell that has content, and a blank line between two rows."""
    drawn = Table.grid(padding=(0, GAP_COLUMNS, 0, 0))
    drawn.add_column(style=QUIET, no_wrap=True)
    drawn.add_column(overflow="fold")
    for row in rows:
        if drawn.row_count:
            drawn.add_row()
        for name, cell in zip(columns, row, strict=True):
            if cell.plain.strip():
                drawn.add_row(name, Breaking(cell))
    return drawn


def _natural(name: str, column: int, rows: Sequence[Sequence[Text]]) -> int:
    widths = (max(map(len, row[column].plain.split("\n"))) for row in rows)
    return max(len(name), *widths)
