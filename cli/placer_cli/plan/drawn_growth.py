"""A growth curve, for a terminal: first the sentence, then a row for each size of the demand."""

from collections.abc import Iterator
from fractions import Fraction

from rich.console import Group as Lines
from rich.console import RenderableType
from rich.text import Text

from placer.plan.growth import GrowthCurve, GrowthRangeWithSameBinding, GrowthStep
from placer.plan.question import PlanQuestion
from placer_cli.draw.bars import draw_bar
from placer_cli.draw.canvas import WidthAndMarks
from placer_cli.draw.palette import BAD, STRONG
from placer_cli.draw.tables import table_without_empty_columns
from placer_cli.draw.text_flow import drawing_with_title, stack_yielded_drawings
from placer_cli.draw.threads import StyledMark
from placer_cli.plan.drawn import offer_mix_text, price_text
from placer_models.message_text import count_with_noun

_BAR_COLUMNS = 16
_WIDE = 100
"""From this width on there is room for bars."""


@stack_yielded_drawings
def draw_growth(
    question: PlanQuestion, curve: GrowthCurve, canvas: WidthAndMarks
) -> Iterator[RenderableType]:
    """Draw what to buy at each size of the demand."""
    first, *others = growth_sentences(question, curve)
    yield Text(first, STRONG)
    yield from map(Text, others)
    for step in curve.steps:
        if step.price is None:
            yield Text(f"At {multiplier_text(step.scale)}{_in(step)}: {step.reason}.", BAD)
    if not curve.steps:
        return
    yield ""
    yield drawing_with_title("What to buy", _steps(question, curve, canvas))
    stretches = curve.stretches()
    if any(stretch.binds for stretch in stretches):
        yield ""
        yield drawing_with_title(
            "What binds", Lines(*(Text(demand_bottleneck_text(one)) for one in stretches))
        )


def growth_sentences(question: PlanQuestion, curve: GrowthCurve) -> Iterator[str]:
    """Yield the answer in sentences."""
    bought = [step for step in curve.of_first_case() if step.price is not None]
    if bought:
        first, last = bought[0], bought[-1]
        assert first.price is not None
        assert last.price is not None
        yield (
            f"From {multiplier_text(first.scale)} to {multiplier_text(last.scale)} the demand, "
            f"the price goes from {price_text(question, first.price)} "
            f"to {price_text(question, last.price)}."
        )
        gap = max(step.gap_percent or 0.0 for step in bought)
        yield (
            f"No price is more than {gap:.2f} % above its proven bound."
            if gap
            else "Each price is proven to be the least."
        )
    else:
        yield "No plan was found for any of the sizes."
    if question.instance.nodes:
        enough, beyond = curve.bursts()
        if enough is None:
            yield "Nodes have to be bought from the first step on."
        elif beyond is None:
            yield "What is there is enough for all of it."
        else:
            yield (
                f"What is there is enough up to {multiplier_text(enough)}; "
                f"at {multiplier_text(beyond)} nodes have to be bought."
            )
    if curve.missing:
        why = "their workers died again and again" if curve.lost else "the search was ended"
        yield f"{count_with_noun(len(curve.missing), 'plan')} not solved: {why}."


def demand_bottleneck_text(stretch: GrowthRangeWithSameBinding) -> str:
    """Say what binds between two sizes of the demand."""
    where = multiplier_text(stretch.first)
    if stretch.first != stretch.last:
        where += f" to {multiplier_text(stretch.last)}"
    if not stretch.binds:
        return f"{where}: nothing is bought"
    binds = ", ".join(
        f"{word or 'nothing in particular'} on {name}" for name, word in stretch.binds
    )
    return f"{where}: {binds}"


def multiplier_text(scale: Fraction) -> str:
    """Write a scale: ``1.5x``."""
    return f"{float(scale):.6g}x"


def _in(step: GrowthStep) -> str:
    return f" in case {step.case}" if step.case else ""


def _steps(question: PlanQuestion, curve: GrowthCurve, canvas: WidthAndMarks) -> RenderableType:
    prices = [step.price for step in curve.steps if step.price is not None]
    most = max(map(question.in_units, prices), default=0)
    rows = []
    for step in curve.steps:
        units = 0 if step.price is None else question.in_units(step.price)
        filled = StyledMark(canvas.marks.full, STRONG)
        drawn = draw_bar([(units, filled)], most, _BAR_COLUMNS, " ")
        gap = step.gap_percent
        rows.append(
            [
                multiplier_text(step.scale),
                step.case,
                f"{step.pods:,}",
                f"{step.nodes:,}" if step.price is not None else "",
                price_text(question, step.price) if step.price is not None else "none",
                "" if gap is None else f"{gap:.2f} %",
                drawn if canvas.width >= _WIDE else "",
                offer_mix_text(step.mix),
            ]
        )
    head = ("demand", "case", "pods", "nodes", "price", "gap", "", "buy")
    numbers = ("demand", "pods", "nodes", "price", "gap")
    return table_without_empty_columns(
        head, rows, canvas.width, numbers=numbers, wrap={"buy": 16, "case": 8}
    )
