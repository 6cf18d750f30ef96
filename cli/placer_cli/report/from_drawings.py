"""Parts of a report that drawings have already: the lead, and insides of chosen nodes."""

import io
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial

from rich.console import Console, RenderableType

from placer_cli.draw.node import draw_node
from placer_cli.draw.residents import drawn_pods_by_node
from placer_cli.draw.svg import drawing_to_svg
from placer_cli.report.html import Html, html_element
from placer_cli.report.page import html_section
from placer_models.cluster import Instance
from placer_models.placement import Placement

_MOST = 4
"""So many nodes are drawn."""

_COLUMNS = 4_000
"""So wide that no sentence of a lead is broken."""


def opening_lines_of_drawing(drawing: RenderableType) -> list[str]:
    """Return the lines of a drawing up to its first empty one."""
    text = io.StringIO()
    console = Console(file=text, width=_COLUMNS, markup=False, highlight=False, emoji=False)
    console.print(drawing)
    found = []
    for line in text.getvalue().splitlines():
        if not line.strip():
            break
        found.append(line.rstrip())
    return found


def node_with_most_new_pods(placement: Placement, nodes: Iterable[str]) -> str | None:
    """Return which of some nodes most pods come to; the first of several; None for none."""
    pods = Counter(place.node for place in placement.pods)
    return max((node for node in nodes if pods[node]), key=lambda node: pods[node], default=None)


def report_sections_of_nodes(
    instance: Instance, placement: Placement, nodes: Iterable[str]
) -> Iterator[Html]:
    """Yield a section with the inside of each node, the first of them open."""
    by_name = {node.name: node for node in instance.nodes}
    residents = drawn_pods_by_node(instance, placement)
    pictures: list[Html] = []
    for name in list(dict.fromkeys(nodes))[:_MOST]:
        node, inside = by_name[name], residents.get(name, ())
        picture = drawing_to_svg(partial(draw_node, node, inside), name)
        details = html_element("div", Html(picture), class_="inside wide")
        pictures.append(
            html_element("details", html_element("summary", name), details, open=not pictures)
        )
    if pictures:
        yield html_section("Inside a node", *pictures)
