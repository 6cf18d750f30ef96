"""Report of a placement: who has a place, how good that is, and the inside of the busiest nodes."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from placer.search.options import SolveOptions
from placer_cli.draw.answer import draw_answer
from placer_cli.draw.canvas import Canvas
from placer_cli.report.charts import Bar, bars
from placer_cli.report.from_drawings import insides, lead_of
from placer_cli.report.html import Html
from placer_cli.report.page import SortCell, page, section, sorted_table, tiles
from placer_models.cluster import Instance
from placer_models.instance.placement_file import answer_to_json
from placer_models.placement import Answer, PartlyPlaced, Placed, Placement, Unplaced, title_of

_MOST_ROWS = 2_000
"""So many pods are listed."""
_MOST_BARS = 40
_MOST_DRAWN = 4


def solved_page(answer: Answer, instance: Instance, options: SolveOptions, foot: str) -> str:
    """Return the report of an answer of ``solve``."""
    lead = lead_of(draw_answer(answer, instance, options, Canvas(4_000)))
    return page(instance.name or "Placement", lead, _sections(answer, instance), foot)


def _sections(answer: Answer, instance: Instance) -> Iterator[Html]:
    placement = answer.placement if isinstance(answer, Placed | PartlyPlaced) else Placement(())
    waiting = sum(len(gang.pods) for gang in instance.gangs)
    yield tiles(
        (
            ("pods placed", f"{len(placement.pods):,} of {waiting:,}"),
            ("pods that run", f"{len(instance.running):,}"),
            ("nodes", f"{len(instance.nodes):,}"),
        )
    )
    came = Counter(place.node for place in placement.pods)
    if came:
        parts = [Bar(node, pods, f"{pods:,}") for node, pods in came.most_common(_MOST_BARS)]
        yield section("Pods that come to each node", bars(parts))
    tree: Any = answer_to_json(answer, instance, {})
    tiers = [
        [
            tier["name"],
            SortCell(f"{tier['value']:,}", tier["value"]),
            SortCell("" if tier["bound"] is None else f"{tier['bound']:,}", tier["bound"]),
            tier["unit"],
            "yes" if tier["proven"] else "no",
        ]
        for tier in tree.get("tiers", ())
    ]
    if tiers:
        head = ("goal", "#value", "#bound", "unit", "proven")
        yield section("How good it is", sorted_table(head, tiers))
    left: Sequence[Unplaced] = () if isinstance(answer, Placed) else answer.unplaced
    unplaced = [[title_of(p.namespace, p.name), "; ".join(p.reasons)] for p in left]
    if unplaced:
        table = sorted_table(("pod", "why"), unplaced[:_MOST_ROWS])
        yield section("Without a place", table)
    yield from insides(instance, placement, [node for node, _ in came.most_common(_MOST_DRAWN)])
    places = [[title_of(p.namespace, p.name), p.node] for p in placement.pods[:_MOST_ROWS]]
    if places:
        yield section("Places", sorted_table(("pod", "node"), places))
