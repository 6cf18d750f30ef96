"""What a placement is worth: its tiers, most important first."""

from collections.abc import Iterable, Sequence

from rich.console import RenderableType
from rich.text import Text

from placer_cli.draw.canvas import Canvas
from placer_cli.draw.palette import BAD, GOOD, QUIET
from placer_cli.draw.tables import table
from placer_cli.draw.verdict import percent
from placer_cli.draw.words import gb_per_s
from placer_models.goals import Sense, Tier
from placer_models.placement import TierValue

_CENTI_GB_PER_S = "0.01 GB/s"


def draw_tiers(tiers: Sequence[TierValue], canvas: Canvas) -> RenderableType:
    """Return a row for each tier: its value, its bound, and whether that is proven."""
    rows = [
        [
            Text(value.tier.name),
            Text(_amount(value.tier, value.value)),
            Text("" if value.bound is None else _amount(value.tier, value.bound)),
            Text("" if value.gap is None else percent(value.gap) if value.gap else "0"),
            Text(canvas.marks.yes, GOOD) if value.proven else Text("open", BAD),
            _sense(value.tier, canvas),
        ]
        for value in tiers
    ]
    head = ("tier", "value", "bound", "gap", "proven", "unit")
    return table(head, rows, numbers=("value", "bound", "gap"), wrap=("unit",))


def draw_values(values: Iterable[tuple[Tier, int]], canvas: Canvas) -> RenderableType:
    """Return a row for each tier, of a placement whose bounds nobody asked for."""
    rows = [
        [Text(tier.name), Text(_amount(tier, value)), _sense(tier, canvas)]
        for tier, value in values
    ]
    return table(("tier", "value", "unit"), rows, numbers=("value",), wrap=("unit",))


def _amount(tier: Tier, value: int) -> str:
    return gb_per_s(value) if tier.unit == _CENTI_GB_PER_S else f"{value:,}"


def _sense(tier: Tier, canvas: Canvas) -> Text:
    """Name the unit, and an arrow towards the better side."""
    arrow = canvas.marks.up if tier.sense is Sense.MAXIMISE else canvas.marks.down
    unit = "GB/s short of the best" if tier.unit == _CENTI_GB_PER_S else tier.unit
    return Text(f"{arrow} {unit}", QUIET)
