"""Pictures as SVG files that ask nothing of the network, and look the same in every viewer."""

import io
from collections.abc import Callable, Iterator
from html import escape

from rich.console import Console, Group, RenderableType

from placer_cli.draw.canvas import WidthAndMarks
from placer_cli.draw.packages import DrawnPackages
from placer_cli.draw.svg_packages import svg_elements_of_packages
from placer_cli.draw.svg_shapes import COLUMN, INK, MARGIN, PAPER
from placer_cli.draw.svg_text import svg_elements_of_text_drawing

COLOURS = (
    "#0087ff", "#d75f00", "#00af5f", "#af5faf", "#af8700", "#d75f87", "#5f87af", "#87875f",
)  # fmt: skip
"""Fills of whatever is told apart, in turn."""

COLUMNS = 100
"""Width of a picture: the same whatever the terminal's."""


def svg_text(
    x: float,
    y: float,
    text: str,
    *,
    size: int,
    bold: bool = False,
    end: bool = False,
    colour: str = "",
) -> str:
    """Return a text as an element; its position is that of its start, or of its end."""
    fill = f' fill="{colour}"' if colour else ""
    look = ' font-weight="bold"' if bold else ""
    anchor = ' text-anchor="end"' if end else ""
    return f'<text x="{x}" y="{y}" font-size="{size}"{fill}{look}{anchor}>{escape(text)}</text>'


def drawing_to_svg(draw: Callable[[WidthAndMarks], RenderableType], title: str) -> str:
    """Return a drawing as SVG: boxes, cells and bars as rectangles, words as text."""
    width = round(COLUMNS * COLUMN + 2 * MARGIN)
    y: float = MARGIN
    elements: list[str] = []
    console = Console(
        width=COLUMNS,
        file=io.StringIO(),
        force_terminal=True,
        markup=False,
        highlight=False,
        emoji=False,
    )
    for part in _parts(draw(WidthAndMarks(COLUMNS))):
        if isinstance(part, DrawnPackages):
            found, height = svg_elements_of_packages(part, y, width - 2 * MARGIN)
        else:
            found, height = svg_elements_of_text_drawing(part, console, y)
        elements += found
        y += height
    height = round(y + MARGIN)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" fill="{INK}" '
        "font-family=\"'DejaVu Sans Mono', Menlo, Consolas, 'Liberation Mono', monospace\">\n"
        f"<title>{escape(title)}</title>\n"
        f'<rect width="{width}" height="{height}" fill="{PAPER}"/>'
    )
    return "\n".join([head, *elements, "</svg>", ""])


def _parts(drawing: RenderableType) -> Iterator[RenderableType]:
    """Yield what a drawing is made of, from top to bottom."""
    if isinstance(drawing, Group):
        for part in drawing.renderables:
            yield from _parts(part)
    else:
        yield drawing
