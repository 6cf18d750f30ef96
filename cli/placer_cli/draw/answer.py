"""The answer of a solve: a verdict, who runs where, what that is worth, who is left out."""

from collections.abc import Iterator
from typing import assert_never

from rich.console import RenderableType
from rich.style import Style
from rich.text import Text

from placer.search.options import SolveOptions
from placer_cli.draw.bounds import priority_bound_lines
from placer_cli.draw.breaking import WrappingText
from placer_cli.draw.canvas import WidthAndMarks
from placer_cli.draw.palette import BAD, GOOD, STRONG
from placer_cli.draw.places import draw_moves, draw_newly_placed_pods, draw_unplaced
from placer_cli.draw.residents import drawn_pods_by_node
from placer_cli.draw.text_flow import drawing_with_title, stack_yielded_drawings
from placer_cli.draw.tiers import draw_tiers
from placer_cli.draw.verdict import answer_summary
from placer_models.cluster import Instance
from placer_models.placement import Answer, GaveUp, Infeasible, PartlyPlaced, Placed


@stack_yielded_drawings
def draw_answer(
    answer: Answer,
    instance: Instance,
    options: SolveOptions,
    canvas: WidthAndMarks,
    *,
    every_tier: bool = False,
    every_reason: bool = False,
) -> Iterator[RenderableType]:
    """Draw an answer from its verdict down to the reasons."""
    yield WrappingText(Text(answer_summary(answer, instance, options), _style(answer)))
    match answer:
        case Placed() | PartlyPlaced():
            if answer.placement.pods:
                yield ""
                yield draw_newly_placed_pods(
                    instance, drawn_pods_by_node(instance, answer.placement), canvas
                )
            if answer.moves:
                yield ""
                yield drawing_with_title(
                    "Running pods that move", draw_moves(instance, answer.moves, canvas)
                )
            yield ""
            heading = f"How good it is (strategy: {instance.strategy})"
            yield drawing_with_title(heading, draw_tiers(answer.tiers, canvas, every=every_tier))
            yield from map(WrappingText, map(Text, priority_bound_lines(answer.tiers, instance)))
        case Infeasible() | GaveUp():
            pass
        case _:
            assert_never(answer)
    if not isinstance(answer, Placed) and answer.unplaced:
        yield ""
        yield drawing_with_title(
            "Without a place", draw_unplaced(answer.unplaced, instance, canvas, every=every_reason)
        )
    for place in answer.rejected:
        yield ""
        yield WrappingText(Text(place.text, BAD))


def _style(answer: Answer) -> Style:
    match answer:
        case Placed():
            return GOOD
        case PartlyPlaced():
            return STRONG
        case _:
            return BAD
