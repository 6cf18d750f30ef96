"""Bars: how much of an amount is taken, and by whom."""

from collections.abc import Sequence

from rich.text import Text

from placer_cli.draw.palette import QUIET
from placer_cli.draw.threads import StyledMark


def draw_bar(parts: Sequence[tuple[int, StyledMark]], total: int, columns: int, empty: str) -> Text:
    """Draw amounts as parts of a total, each that is not 0 at least one column wide."""
    text = Text(no_wrap=True, overflow="crop")
    widths = _widths([amount for amount, _ in parts], total, columns)
    for (_, cell), width in zip(parts, widths, strict=True):
        text.append((cell.mark * width)[:width], cell.style)
    return text.append(empty * (columns - len(text)), QUIET)


def _widths(amounts: Sequence[int], total: int, columns: int) -> list[int]:
    if total <= 0:
        return [0 for _ in amounts]
    widths = [max(1, round(amount * columns / total)) if amount > 0 else 0 for amount in amounts]
    while sum(widths) > columns:
        widths[widths.index(max(widths))] -= 1
    return widths
