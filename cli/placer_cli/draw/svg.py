"""Pictures as SVG files that ask nothing of the network."""

import io
from collections.abc import Callable
from html import escape

from rich.console import Console, RenderableType

from placer_cli.draw.canvas import Canvas

COLOURS = (
    "#0087ff", "#d75f00", "#00af5f", "#af5faf", "#af8700", "#d75f87", "#5f87af", "#87875f",
)  # fmt: skip
"""Fills of whatever is told apart, in turn."""

COLUMNS = 100
"""Width of a picture: the same whatever the terminal's."""

# Rich's own frame without its web fonts: a picture shows the same everywhere.
_FRAME = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{
  font-family: "Fira Code", "DejaVu Sans Mono", Menlo, Consolas, monospace;
  font-size: {char_height}px;
  line-height: {line_height}px;
}}
.{unique_id}-title {{
  font-family: sans-serif;
  font-size: 18px;
  font-weight: bold;
}}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


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


def svg(draw: Callable[[Canvas], RenderableType], title: str) -> str:
    """Return a drawing as SVG."""
    console = Console(
        record=True,
        file=io.StringIO(),
        width=COLUMNS,
        force_terminal=True,
        color_system="truecolor",
        no_color=False,
        markup=False,
        highlight=False,
        emoji=False,
    )
    console.print(draw(Canvas(COLUMNS)))
    return console.export_svg(title=title, code_format=_FRAME)
