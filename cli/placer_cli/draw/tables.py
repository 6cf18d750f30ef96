"""One look for every table: a line under the head, columns without content left out."""

from collections.abc import Collection, Mapping, Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from placer_cli.draw.breaking import Breaking
from placer_cli.draw.palette import FRAME, STRONG

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
    room is short, down to the width given there; the others are left whole. If that is
    not enough, the columns named in ``spare`` are left out, one after the other.
    """
    wrap = wrap or {}
    least = {
        i: min(_natural(name, i, rows), wrap.get(name, MOST_COLUMNS))
        for i, name in enumerate(columns)
        if any(row[i].plain for row in rows)
    }
    for name in spare:
        if width is None or sum(least.values()) + GAP_COLUMNS * (len(least) - 1) <= width:
            break
        least.pop(columns.index(name), None)
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
            overflow="fold" if columns[i] in wrap else "ellipsis",
            no_wrap=columns[i] not in wrap,
            min_width=columns_at_least,
        )
    for row in rows:
        drawn.add_row(*(Breaking(row[i]) if columns[i] in wrap else row[i] for i in least))
    return drawn


MOST_COLUMNS = 40
"""A column that does not wrap is cut where it is wider and room is short."""


def _natural(name: str, column: int, rows: Sequence[Sequence[Text]]) -> int:
    widths = (max(map(len, row[column].plain.split("\n"))) for row in rows)
    return max(len(name), *widths)
