"""The judge's verdict: breaches, or what the placement is worth."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from placer.judge.breaches import RULES, Breach
from placer_cli.draw.canvas import WidthAndMarks
from placer_cli.draw.palette import BAD, GOOD, STRONG
from placer_cli.draw.tables import table_without_empty_columns
from placer_cli.draw.text_flow import drawing_with_title
from placer_cli.draw.tiers import draw_tiers_without_bounds
from placer_cli.draw.waiting import left_out_count_text, waiting_pod_count
from placer_models.cluster import Instance
from placer_models.goals import Tier
from placer_models.message_text import count_with_noun
from placer_models.moves import moves_in_answer
from placer_models.placement import Placement


def draw_verification(
    instance: Instance,
    placement: Placement,
    breaches: Sequence[Breach],
    values: Sequence[tuple[Tier, int]],
    canvas: WidthAndMarks,
) -> RenderableType:
    """Draw what is wrong with a placement; if nothing is, its tiers."""
    if breaches:
        rows = [(Text(one.rule, BAD), Text(one.subject, STRONG), one.message) for one in breaches]
        number = count_with_noun(len(breaches), "breach", "breaches")
        head = ("rule", "who", "what is wrong")
        wrap = {"who": 12, "what is wrong": 20}
        drawn = table_without_empty_columns(head, rows, canvas.width, wrap=wrap, sentences=head[2])
        return Group(Text(number, BAD), "", drawn)
    pods = count_with_noun(waiting_pod_count(instance), "pod")
    moving = len(moves_in_answer(instance, placement))
    words = f"No breach of {len(RULES)} rules; {len(placement.pods) - moving:,} of {pods} placed"
    words += f", {count_with_noun(moving, 'running pod')} moved" if moving else ""
    words += f"{left_out_count_text(instance)}."
    heading = f"How good it is (strategy: {instance.strategy})"
    return Group(
        Text(words, GOOD),
        "",
        drawing_with_title(heading, draw_tiers_without_bounds(values, canvas)),
    )
