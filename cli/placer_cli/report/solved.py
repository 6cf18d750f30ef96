"""Report of a placement: who has a place, how good that is, and the inside of the busiest nodes."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from placer.search.options import SolveOptions
from placer_cli.draw.answer import draw_answer
from placer_cli.draw.canvas import WidthAndMarks
from placer_cli.draw.residents import is_non_system_pod
from placer_cli.draw.texts import names_as_host_lists
from placer_cli.draw.waiting import waiting_pod_count
from placer_cli.report.charts import ChartBar, bar_chart
from placer_cli.report.from_drawings import opening_lines_of_drawing, report_sections_of_nodes
from placer_cli.report.html import Html
from placer_cli.report.page import (
    SortableTableCell,
    figure_tiles,
    html_page,
    html_section,
    sortable_table,
)
from placer_models.cluster import Instance
from placer_models.instance.placement_file import solve_answer_to_dict
from placer_models.placement import (
    Answer,
    Move,
    PartlyPlaced,
    Placed,
    Placement,
    Unplaced,
)

_MOST_ROWS = 2_000
"""So many pods are listed."""
_MOST_BARS = 40


def solved_page(
    answer: Answer,
    instance: Instance,
    options: SolveOptions,
    foot: str,
    would_do: Sequence[tuple[str, str, str]] = (),
) -> str:
    """Return the report of an answer of ``solve``.

    Args:
        answer: The answer.
        instance: What was solved.
        options: How.
        foot: How the page was made.
        would_do: Who waits, a change that would give them a place, and what to do for it; as far
            as it is known.

    """
    lead = opening_lines_of_drawing(draw_answer(answer, instance, options, WidthAndMarks(4_000)))
    return html_page(
        instance.name or "Placement", lead, _sections(answer, instance, would_do), foot
    )


def _sections(
    answer: Answer, instance: Instance, would_do: Sequence[tuple[str, str, str]]
) -> Iterator[Html]:
    placement = Placement(())
    moves: Sequence[Move] = ()
    if isinstance(answer, Placed | PartlyPlaced):
        placement, moves = answer.placement, answer.moves
    moved = {move.place.key for move in moves}
    arrived = [place for place in placement.pods if place.key not in moved]
    run = sum(is_non_system_pod(one.pod) for one in instance.running)
    yield figure_tiles(
        (
            ("pods placed", f"{len(arrived):,} of {waiting_pod_count(instance):,}"),
            ("pods that run", f"{run:,}"),
            *([("of them moved", f"{len(moves):,}")] if moves else []),
            ("nodes", f"{len(instance.nodes):,}"),
        )
    )
    came = Counter(place.node for place in placement.pods)
    if came:
        parts = [ChartBar(node, pods, f"{pods:,}") for node, pods in came.most_common(_MOST_BARS)]
        yield html_section("Pods that come to each node", bar_chart(parts))
    tree: Any = solve_answer_to_dict(answer, instance, {})
    tiers = [
        [
            tier["name"],
            SortableTableCell(f"{tier['value']:,}", tier["value"]),
            SortableTableCell("" if tier["bound"] is None else f"{tier['bound']:,}", tier["bound"]),
            tier["unit"],
            "yes" if tier["proven"] else "no",
        ]
        for tier in tree.get("tiers", ())
    ]
    if tiers:
        head = ("goal", "#value", "#bound", "unit", "proven")
        yield html_section("How good it is", sortable_table(head, tiers))
    left: Sequence[Unplaced] = () if isinstance(answer, Placed) else answer.unplaced
    by_why: dict[str, list[str]] = {}
    for pod in left:
        by_why.setdefault("; ".join(pod.reasons), []).append(pod.title)
    unplaced = [[names_as_host_lists(names), why] for why, names in by_why.items()]
    if unplaced:
        table = sortable_table(("pods", "why"), unplaced[:_MOST_ROWS])
        yield html_section("Without a place", table)
    if would_do:
        rows = sortable_table(("pod", "change", "what to do"), would_do[:_MOST_ROWS])
        yield html_section("What would do (placer explain says more)", rows)
    yield from report_sections_of_nodes(
        instance, placement, [node for node, _ in came.most_common()]
    )
    homes = [[move.place.title, move.home.node, move.place.node] for move in moves[:_MOST_ROWS]]
    if homes:
        yield html_section("Running pods that move", sortable_table(("pod", "from", "to"), homes))
    places = [[p.title, p.node] for p in arrived[:_MOST_ROWS]]
    if places:
        yield html_section("Places", sortable_table(("pod", "node"), places))
