"""Colours: few, of middle lightness, so that they read on dark and on light.

Nothing is said by colour alone: owners have letters, links have names, trouble has
marks of its own.
"""

from collections.abc import Sequence
from itertools import islice, product
from string import ascii_lowercase, ascii_uppercase

from rich.style import Style

OWNERS = tuple(
    Style(color=f"color({number})", reverse=True, bold=True)
    for number in (33, 166, 35, 133, 136, 168, 67, 101)
)
"""Styles of cells of owners, in turn: the letter stands on the owner's colour."""

QUIET = Style(dim=True)
"""Free parts, and words that only support."""

FRAME = Style(dim=True)
"""Boxes; parts that the system keeps. Not grey: with 16 colours grey becomes white."""

ACCENT = Style(color="color(33)")
"""The one colour of a machine that nobody uses."""

STRONG = Style(bold=True, dim=False)
"""Names and headings."""

GOOD = Style(color="color(35)")
BAD = Style(color="color(167)", bold=True)
"""Trouble: broken, unhealthy, claimed twice, without a place."""

_RAMP = (35, 37, 136, 166, 133, 67)
"""Fast to slow."""


def link_styles_by_bandwidth(values: Sequence[int]) -> dict[int, Style]:
    """Return a style for each bandwidth: the fastest first on the ramp, 0 quiet."""
    ranked = sorted({v for v in values if v > 0}, reverse=True)
    last = len(_RAMP) - 1
    styles = {
        v: Style(color=f"color({_RAMP[min(rank, last)]})", bold=rank == 0 and len(ranked) > 1)
        for rank, v in enumerate(ranked)
    }
    return {**styles, 0: QUIET}


def owner_marks(owners: int) -> tuple[str, ...]:
    """Return a mark for each owner: a letter while letters last, else all have two."""
    letters = ascii_uppercase + ascii_lowercase
    if owners <= len(letters):
        return tuple(letters[:owners])
    pairs = product(letters, repeat=2)
    return tuple(a + b for a, b in islice(pairs, owners))


def owner_style(number: int) -> Style:
    """Return the style of the number-th owner; styles come round again."""
    return OWNERS[number % len(OWNERS)]
