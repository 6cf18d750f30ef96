"""Pieces of text in a row, and drawings side by side, as far as the width goes."""

from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from typing import ParamSpec

from rich.console import Console, Group, RenderableType
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from placer_cli.draw.breaking import WrappingText
from placer_cli.draw.canvas import WidthAndMarks
from placer_cli.draw.palette import STRONG

P = ParamSpec("P")

MOST_COLUMNS = 10_000
"""Wider than any page."""


def wrap_pieces(pieces: Iterable[Text], width: int, between: str = "   ") -> Text:
    """Join the pieces; one that does not fit starts a line, and is cut only if it is too long."""
    lines: list[Text] = []
    for piece in pieces:
        if lines and len(lines[-1]) + len(between) + len(piece) <= width:
            lines[-1] = Text.assemble(lines[-1], (between, piece.style), piece)
        else:
            lines += WrappingText(piece).lines(width)
    return Text("\n", overflow="ignore").join(lines)


def stack_yielded_drawings(
    parts: Callable[P, Iterable[RenderableType]],
) -> Callable[P, Group]:
    """Let a function that yields drawings return them as one, the first on top."""

    @wraps(parts)
    def draw(*given: P.args, **named: P.kwargs) -> Group:
        return Group(*parts(*given, **named))

    return draw


def drawing_with_title(title: str, drawing: RenderableType) -> RenderableType:
    """Put a heading above a drawing."""
    return Group(Text(title, STRONG), drawing)


def drawings_side_by_side(
    drawings: list[RenderableType], canvas: WidthAndMarks
) -> Iterator[RenderableType]:
    """Yield drawings side by side if the canvas is wide enough, else in turn."""
    widths = [natural_drawing_width(drawing) for drawing in drawings]
    if len(drawings) > 1 and sum(widths) + 4 * (len(widths) - 1) <= canvas.width:
        grid = Table.grid(padding=(0, 4, 0, 0))
        grid.add_row(*drawings)
        yield ""
        yield grid
        return
    for drawing in drawings:
        yield ""
        yield drawing


def natural_drawing_width(drawing: RenderableType) -> int:
    """Return how wide a drawing would like to be."""
    ruler = Console(width=MOST_COLUMNS)
    return Measurement.get(ruler, ruler.options, drawing).maximum
