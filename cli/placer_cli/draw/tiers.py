"""The tiers of a placement as a table, most important first."""

from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from placer_cli.draw.breaking import WrappingText
from placer_cli.draw.canvas import WidthAndMarks
from placer_cli.draw.palette import BAD, GOOD, QUIET
from placer_cli.draw.tables import table_without_empty_columns
from placer_cli.draw.verdict import CENTI_GB_PER_S, gap_text, tier_value_text
from placer_models.goals import ObjectiveSense, Tier
from placer_models.message_text import count_with_noun
from placer_models.placement import TierValue


def draw_tiers(tiers: Sequence[TierValue], canvas: WidthAndMarks, *, every: bool) -> RenderableType:
    """Return a row for each tier: its value, its bound, and whether that is proven.

    Unless ``every`` tier is wanted, those that are 0 and proven are only counted.
    """
    shown = [value for value in tiers if every or value.value or not value.proven]
    folded = len(tiers) - len(shown)
    rows = [
        (
            value.tier.name,
            tier_value_text(value.tier, value.value),
            "" if value.bound is None else tier_value_text(value.tier, value.bound),
            gap_text(value),
            Text(canvas.marks.yes, GOOD) if value.proven else Text("open", BAD),
            tier_unit_text(value.tier, canvas),
        )
        for value in shown
    ]
    head = ("tier", "value", "bound", "gap", "proven", "unit")
    numbers = ("value", "bound", "gap")
    spare = ("unit", "gap", "bound")
    drawn = table_without_empty_columns(
        head, rows, canvas.width, numbers=numbers, wrap={"unit": 12}, spare=spare
    )
    if not folded:
        return drawn
    words = f"{count_with_noun(folded, 'tier is', 'tiers are')} 0, and proven (--tiers shows all)"
    said = WrappingText(Text(f"and {words}" if shown else words, QUIET))
    return Group(drawn, said) if shown else said


def draw_tiers_without_bounds(
    values: Iterable[tuple[Tier, int]], canvas: WidthAndMarks
) -> RenderableType:
    """Return a row for each tier of a placement whose bounds were not computed."""
    rows = [
        (tier.name, tier_value_text(tier, value), tier_unit_text(tier, canvas))
        for tier, value in values
    ]
    head = ("tier", "value", "unit")
    return table_without_empty_columns(
        head, rows, canvas.width, numbers=("value",), wrap={"unit": 12}, spare=("unit",)
    )


def tier_unit_text(tier: Tier, canvas: WidthAndMarks) -> Text:
    """Name the unit, and an arrow towards the better side."""
    arrow = canvas.marks.up if tier.sense is ObjectiveSense.MAXIMISE else canvas.marks.down
    unit = "GB/s short of the best" if tier.unit == CENTI_GB_PER_S else tier.unit
    return Text(f"{arrow} {unit}", QUIET)
