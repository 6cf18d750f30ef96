"""One look for every table: a line under the head, columns without content left out."""

from collections.abc import Collection, Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from placer_cli.draw.palette import FRAME, STRONG

LEAST_COLUMNS = 7
"""What a column that wraps keeps of its width, so that it never disappears."""

WHOLE_COLUMNS = 30
"""Up to this width a column that does not wrap is left whole."""


def table(
    columns: Sequence[str],
    rows: Sequence[Sequence[Text]],
    *,
    numbers: Collection[str] = (),
    wrap: Collection[str] = (),
) -> Table:
    """Return a table without the columns that are empty in every row.

    Columns named in ``numbers`` are set to the right; those named in ``wrap`` give way
    where room is short.
    """
    kept = [i for i in range(len(columns)) if any(row[i].plain for row in rows)]
    drawn = Table(
        box=box.SIMPLE_HEAD,
        border_style=FRAME,
        header_style=STRONG,
        pad_edge=False,
        padding=(0, 1, 0, 0),
        show_edge=False,
    )
    for i in kept:
        name = columns[i]
        natural = max(len(name), *(row[i].cell_len for row in rows))
        drawn.add_column(
            name,
            justify="right" if name in numbers else "left",
            overflow="fold" if name in wrap else "ellipsis",
            no_wrap=name not in wrap,
            min_width=min(natural, LEAST_COLUMNS if name in wrap else WHOLE_COLUMNS),
        )
    for row in rows:
        drawn.add_row(*(row[i] for i in kept))
    return drawn
