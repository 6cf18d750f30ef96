"""Text of a picture in SVG: each word at its column, bars and marks as shapes."""

import re
from collections.abc import Iterator
from itertools import groupby

from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.style import Style

from placer_cli.draw.canvas import UNICODE
from placer_cli.draw.svg_shapes import (
    COLUMN,
    EDGE,
    INK,
    LINE,
    MARGIN,
    TRACK,
    style_colour,
    svg_fixed_width_text,
    svg_rect,
    text_colour_of_style,
)

_OPACITY = {UNICODE.full: 1.0, UNICODE.shared: 0.6, UNICODE.best_effort: 0.8}
"""Marks that fill a bar, and how much of the colour they have."""

_RULE = "─"

_FREE = f"{UNICODE.free} free"
"""How a legend says what is free."""

MOST_LETTERS = 8
"""Up to this many equal letters stand for so many devices; a longer bar has one letter."""
_SQUARES = UNICODE.thread + UNICODE.efficiency + UNICODE.reserved

_RUN = re.compile(
    rf"{_RULE}+|[{UNICODE.full}]+|[{UNICODE.shared}]+|[{UNICODE.best_effort}]+"
    rf"|(?<!\s){UNICODE.empty}+|{UNICODE.empty}{{2,}}|[{_SQUARES}]|\S"
    rf"(?:(?!{UNICODE.empty}{UNICODE.empty}|[{_RULE}{UNICODE.full}{UNICODE.shared}{UNICODE.best_effort}{_SQUARES}])\S)*"
)


def svg_elements_of_text_drawing(
    drawing: RenderableType, console: Console, top: float
) -> tuple[list[str], float]:
    """Return the elements of a drawing in text, and its height."""
    lines = console.render_lines(drawing, console.options, pad=False)
    elements: list[str] = []
    for number, line in enumerate(lines):
        column = 0
        for style, same in groupby(line, key=lambda segment: segment.style or Style.null()):
            text = "".join(segment.text for segment in same)
            elements += _run_elements(text, style, column, top + number * LINE)
            column += cell_len(text)
    return elements, len(lines) * LINE


def _run_elements(text: str, style: Style, column: int, top: float) -> Iterator[str]:
    x = MARGIN + column * COLUMN
    if style.reverse and text.strip():
        wide = cell_len(text) * COLUMN
        yield svg_rect(x, top + 1, wide, LINE - 3, style_colour(style) or INK, round_px=2)
        if len(text) > MOST_LETTERS and len(set(text)) == 1:
            yield svg_fixed_width_text(x + (wide - COLUMN) / 2, top + LINE - 5, text[0], style)
            return
    for run in _RUN.finditer(text):
        at = x + cell_len(text[: run.start()]) * COLUMN
        if text.startswith(_FREE, run.start()):
            yield svg_rect(at, top + 3, COLUMN, LINE - 7, TRACK)
            continue
        yield _shape(run.group(), style, at, top)


def _shape(run: str, style: Style, x: float, top: float) -> str:
    width = cell_len(run) * COLUMN
    mark = run[0]
    if mark == _RULE:
        y = top + LINE / 2
        return f'<path d="M{x:g} {y:g}h{width:g}" stroke="{EDGE}"/>'
    if mark in _OPACITY:
        fill = style_colour(style) or "#8a8a86"
        return svg_rect(x, top + 3, width, LINE - 7, fill, opacity=_OPACITY[mark])
    if mark == UNICODE.empty and len(run) == run.count(UNICODE.empty) and (len(run) > 1):
        return svg_rect(x, top + 3, width, LINE - 7, TRACK)
    if mark in _SQUARES and len(run) == 1:
        side = COLUMN - (1 if mark != UNICODE.reserved else 3)
        place = x + (COLUMN - side) / 2, top + (LINE - side) / 2
        hollow = mark == UNICODE.efficiency
        ink = text_colour_of_style(style)
        return svg_rect(*place, side, side, "none" if hollow else ink, edge=ink if hollow else "")
    return svg_fixed_width_text(x, top + LINE - 5, run, style)
