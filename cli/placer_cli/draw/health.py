"""Running pods on broken devices, as lines below a picture."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from placer.judge.health import BrokenDevice
from placer_cli.draw.palette import BAD


def draw_broken(held: Sequence[BrokenDevice]) -> RenderableType:
    """Say which broken devices are held, one a line."""
    return Group("", *(Text(broken.message, BAD) for broken in held))


def with_broken(drawn: RenderableType, held: Sequence[BrokenDevice]) -> RenderableType:
    """Return the picture, and below it which broken devices are held, where any are."""
    return Group(drawn, draw_broken(held)) if held else drawn
