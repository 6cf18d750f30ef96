"""Shared parts of an SVG picture: measures, colours, rectangles, words."""

from html import escape

from rich.style import Style

COLUMN = 8.0
"""Width of a column of text, in pixels."""

LINE = 18.0
"""Height of a line of text."""

SIZE = 13
"""Size of letters: at most as wide as a column."""

MARGIN = 16
"""Around the picture."""

PAPER, INK, FAINT, TRACK, EDGE = "#ffffff", "#222222", "#6b6b6b", "#e7e7e3", "#a9a9a4"


def text_colour_of_style(style: Style) -> str:
    """Return the colour of letters in a style."""
    if style.reverse:
        return PAPER
    return style_colour(style) or (FAINT if style.dim else INK)


def style_colour(style: Style) -> str:
    """Return the colour that a style names; empty if it names none."""
    if style.color is None or style.color.is_default:
        return ""
    return style.color.get_truecolor().hex


def svg_rect(
    x: float,
    y: float,
    width: float,
    height: float,
    fill: str,
    *,
    edge: str = "",
    round_px: float = 0,
    opacity: float = 1,
) -> str:
    """Return a rectangle."""
    more = f' stroke="{edge}"' if edge else ""
    more += f' rx="{round_px:g}"' if round_px else ""
    more += f' fill-opacity="{opacity:g}"' if opacity < 1 else ""
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" fill="{fill}"{more}/>'


def svg_fixed_width_text(
    x: float, y: float, text: str, style: Style, *, size: float = SIZE, wide: float = COLUMN
) -> str:
    """Return words that start at x, with their letters on the line y.

    They are as wide as their columns, whatever font a viewer has.
    """
    look = ' font-weight="bold"' if style.bold else ""
    fill = text_colour_of_style(style)
    colour = "" if fill == INK else f' fill="{fill}"'
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{size:g}" textLength="{wide * len(text):g}" '
        f'lengthAdjust="spacingAndGlyphs"{colour}{look}>{escape(text)}</text>'
    )
