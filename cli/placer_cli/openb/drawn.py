"""Figures of a replay as tables."""

from rich.console import Group, RenderableType
from rich.text import Text

from placer.openb.replay import ReplayResult
from placer_cli.draw.canvas import WidthAndMarks
from placer_cli.draw.palette import STRONG
from placer_cli.draw.tables import table_without_empty_columns


def draw_openb_replay(found: ReplayResult, policy: str, canvas: WidthAndMarks) -> RenderableType:
    """Return the allocation at the marks, or over time, and how long calls took."""
    placed = found.pods - found.rejected
    first = f"{placed:,} of {found.pods:,} pods placed under {policy}."
    if found.over_time:
        head = ("arrived", "GPUs allocated")
        rows = [[f"{one.arrived:,}", f"{one.allocated:.2f} %"] for one in found.over_time]
    else:
        head = ("arrived, of all GPUs", "GPUs allocated")
        rows = [[f"{mark} %", f"{value:.2f} %"] for mark, value in found.allocation.items()]
    calls = "call" if found.batch == 1 else f"call of {found.batch:,} pods"
    speed = (
        f"{found.pods_per_second:,.0f} pods/s; a {calls} takes {found.call_ms(50):.2f} ms "
        f"(p50), {found.call_ms(99):.2f} ms (p99)"
    )
    drawn = (
        (Text(), table_without_empty_columns(head, rows, canvas.width, numbers=head))
        if rows
        else ()
    )
    return Group(Text(first, STRONG), *drawn, Text(), Text(speed))
