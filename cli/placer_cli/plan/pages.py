"""Reports of plans: what to buy, growth, losses, how many more fit."""

from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import compress
from typing import Any

from placer.plan.answer import PlanAnswer, PurchasePlan
from placer.plan.cases import loss_in_words
from placer.plan.fit_answer import FitCount
from placer.plan.growth import GrowthCurve
from placer.plan.question import PlanQuestion
from placer.plan.survive import SurvivalAnswer
from placer.plan.to_json import (
    fit_answer_to_dict,
    plan_answer_to_dict,
    plan_growth_to_dict,
    survival_answer_to_dict,
)
from placer_cli.draw.canvas import WidthAndMarks
from placer_cli.draw.texts import names_as_host_lists
from placer_cli.plan.draw_fit import draw_fit_counts
from placer_cli.plan.draw_survival import draw_survival
from placer_cli.plan.drawn import draw_purchase_plan
from placer_cli.plan.drawn_growth import demand_bottleneck_text, draw_growth
from placer_cli.report.charts import ChartBar, GrowthChartPoint, bar_chart, price_over_demand_chart
from placer_cli.report.from_drawings import (
    node_with_most_new_pods,
    opening_lines_of_drawing,
    report_sections_of_nodes,
)
from placer_cli.report.html import Html
from placer_cli.report.page import (
    SortableTableCell,
    figure_tiles,
    html_page,
    html_paragraphs,
    html_section,
    sortable_table,
)
from placer_models.cluster import Node
from placer_models.message_text import count_with_noun
from placer_models.placement import PodPlacement

AnswerTree = Any
"""A document of an answer, as programs read it: the figures of a page are those of the document."""

_WIDE = WidthAndMarks(4_000)
_MOST_NODES = 1_000
"""So many nodes are listed."""


def purchase_plan_page(question: PlanQuestion, answer: PlanAnswer, foot: str) -> str:
    """Return the report of what to buy."""
    tree = plan_answer_to_dict(question, answer)
    lead = opening_lines_of_drawing(draw_purchase_plan(question, answer, _WIDE))
    return html_page(question.name or "What to buy", lead, _plan(answer, tree), foot)


def _plan(answer: PlanAnswer, tree: AnswerTree) -> Iterator[Html]:
    coin = f" {tree['currency']}" if tree["currency"] else ""
    if isinstance(answer, PurchasePlan):
        yield figure_tiles(
            (
                ("price", _coins(tree["price"], coin)),
                ("no plan costs less than", _coins(tree["bound"], coin)),
                ("gap", f"{tree['gapPercent']} %"),
                ("nodes", f"{sum(one['count'] for one in tree['mix']):,}"),
            )
        )
    if tree["mix"]:
        parts = [
            ChartBar(
                f"{one['count']:,} × {one['offer']}",
                float(one["price"]),
                _coins(one["price"], coin),
            )
            for one in tree["mix"]
        ]
        rows = [
            [
                one["offer"],
                _number(one["count"]),
                _price(one["price"], coin),
            ]
            for one in tree["mix"]
        ]
        yield html_section(
            "What to buy", bar_chart(parts), sortable_table(("offer", "#nodes", "#price"), rows)
        )
    if tree["binding"]:
        yield html_section("What binds", *_binding(tree))
    if tree["runnersUp"]:
        rows = [
            [
                one["without"],
                _price(one["price"], coin),
                ", ".join(f"{part['count']:,} {part['offer']}" for part in one["mix"]),
            ]
            for one in tree["runnersUp"]
        ]
        yield html_section(
            "Without one of them", sortable_table(("without", "#price", "instead"), rows)
        )
    yield _scenarios(tree["scenarios"])
    if tree["unplaced"]:
        yield _unplaced(tree["unplaced"])
    if tree["mends"]:
        rows = [
            [
                ", ".join(one["changes"]),
                _number(one["alike"]) if one["alike"] > 1 else SortableTableCell("", 1),
                _price(one["price"], coin),
                "proven smallest" if one["smallest"] else "",
            ]
            for one in tree["mends"]
        ]
        head = ("change", "#pods or gangs alike", "#price in all", "how small")
        yield html_section("What would do", sortable_table(*_without_empty(head, rows)))
    elif tree["lookedFor"]:
        yield html_section("No change was found that would do", html_paragraphs(tree["lookedFor"]))
    if isinstance(answer, PurchasePlan) and answer.witnesses:
        fullest = max(answer.witnesses, key=lambda one: len(one.placement.pods))
        bought = {
            one.offer: [
                node.name
                for node in fullest.instance.nodes
                if node.name.rpartition("-")[0] == one.offer
            ]
            for one in answer.mix
        }
        chosen = [node_with_most_new_pods(fullest.placement, names) for names in bought.values()]
        yield from report_sections_of_nodes(
            fullest.instance, fullest.placement, [name for name in chosen if name is not None]
        )
        yield _nodes(fullest.scenario, fullest.instance.nodes, fullest.placement.pods)
    if tree["relaxed"]:
        words = "; ".join(tree["relaxed"])
        yield html_section("What the bound leaves out", html_paragraphs([words], "faint"))


def _binding(tree: AnswerTree) -> Iterator[Html]:
    for one in tree["binding"]:
        what = one["resource"] or "nothing in particular"
        percent = f", {one['percent']} % of its price" if one["percent"] else ""
        yield html_paragraphs([f"{one['offer']}: {what}{percent}"])
        uses = [
            ChartBar(use["resource"], use["percent"], f"{use['percent']} %") for use in one["uses"]
        ]
        yield bar_chart(uses, 100.0)


def _nodes(scenario: str, nodes: Sequence[Node], places: Sequence[PodPlacement]) -> Html:
    pods = Counter(place.node for place in places)
    listed: list[list[SortableTableCell | str]] = [
        [node.name, _number(pods[node.name])] for node in nodes
    ]
    more = len(listed) - _MOST_NODES
    note = html_paragraphs(
        [f"and {count_with_noun(more, 'node')} more"] if more > 0 else [], "faint"
    )
    table = sortable_table(("node", "#pods"), listed[:_MOST_NODES])
    return html_section(f"Nodes ({scenario})", table, note)


def growth_page(question: PlanQuestion, found: GrowthCurve, foot: str) -> str:
    """Return the report of a demand that grows."""
    tree = plan_growth_to_dict(question, found)
    lead = opening_lines_of_drawing(draw_growth(question, found, _WIDE))
    return html_page(question.name or "Growth", lead, _growth(question, found, tree), foot)


def _growth(question: PlanQuestion, found: GrowthCurve, tree: AnswerTree) -> Iterator[Html]:
    coin = f" {tree['currency']}" if tree["currency"] else ""
    points = [
        GrowthChartPoint(
            float(step.scale), None if step.price is None else float(step.price), step.nodes
        )
        for step in found.of_first_case()
    ]
    if len(points) > 1 and any(point.price is not None for point in points):
        beyond = tree["boughtFrom"] if question.instance.nodes else None
        burst = None if beyond is None else float(beyond)
        yield html_section("Growth", price_over_demand_chart(points, tree["currency"], burst))
    rows = [
        [
            SortableTableCell(f"{step['scale']}x", float(step["scale"])),
            step["case"],
            _number(step["pods"]),
            _number(step["nodes"]),
            _price(step["price"], coin),
            _price(step["bound"], coin),
            _percent(step["gapPercent"]),
            ", ".join(f"{part['count']:,} {part['offer']}" for part in step["mix"])
            or step["reason"],
        ]
        for step in tree["steps"]
    ]
    head: tuple[str, ...]
    head = ("#demand", "case", "#pods", "#nodes", "#price", "#bound", "#gap", "buy")
    if rows and not any(row[1] for row in rows):
        head, rows = (head[0], *head[2:]), [[row[0], *row[2:]] for row in rows]
    yield html_section("What to buy", sortable_table(head, rows))
    stretches = found.stretches()
    if stretches:
        yield html_section("What binds", html_paragraphs(map(demand_bottleneck_text, stretches)))


def survival_page(
    answer: SurvivalAnswer,
    nodes: int,
    domain: str,
    move_budget: int,
    currency: str,
    waiting: int,
    foot: str,
) -> str:
    """Return the report of losses, the worst first; arguments are those of the drawing."""
    tree = survival_answer_to_dict(answer, move_budget, currency)
    lead = opening_lines_of_drawing(draw_survival(answer, nodes, domain, currency, waiting, _WIDE))
    return html_page("What a failure costs", lead, _losses(tree, domain), foot)


def _losses(tree: AnswerTree, domain: str) -> Iterator[Html]:
    coin = f" {tree['currency']}" if tree["currency"] else ""
    parts = [
        ChartBar(one["name"], len(one["unplaced"]), f"{len(one['unplaced'])} of {one['pods']}")
        for one in tree["losses"]
        if one["unplaced"]
    ]
    if parts:
        yield html_section("Pods without a place", bar_chart(parts[:40]))
    rows = [
        [
            f"{one['name']} and {len(one['alike'])} alike" if one["alike"] else one["name"],
            _number(len(one["nodes"])),
            _number(one["pods"]),
            _number(len(one["unplaced"])),
            _number(one["moves"]),
            "yes" if one["survives"] else "no",
            "" if one["mend"] is None else _mended(one["mend"], coin),
        ]
        for one in tree["losses"]
    ]
    head = ("lost", "#nodes", "#pods", "#no place", "#moves", "survives", "mended by")
    yield html_section("Losses, the worst first", sortable_table(*_without_empty(head, rows)))
    for one in tree["losses"]:
        if one["unplaced"]:
            yield _unplaced(one["unplaced"], f"Without {loss_in_words(one['name'], domain)}")


def _mended(mend: AnswerTree, coin: str) -> str:
    if mend["price"] is None:
        return "nothing that is offered"
    mix = ", ".join(f"{part['count']:,} {part['offer']}" for part in mend["mix"])
    return f"{mix} for {_coins(mend['price'], coin)}"


def fit_count_page(steps: Sequence[FitCount], shape: str, waiting: int, foot: str) -> str:
    """Return the report of how many more fit."""
    tree = fit_answer_to_dict(steps, waiting)
    lead = opening_lines_of_drawing(draw_fit_counts(steps, shape, waiting, _WIDE))
    return html_page("How many more fit", lead, _fit(steps, tree), foot)


def _fit(steps: Sequence[FitCount], tree: AnswerTree) -> Iterator[Html]:
    parts = [
        ChartBar(
            ", ".join(step["changes"]) or "as it is",
            step["count"],
            f"{step['count']:,}" if step["proven"] else f"{step['count']:,} to {step['bound']:,}",
        )
        for step in tree["steps"]
    ]
    yield html_section("How many more fit", bar_chart(parts))
    for step in tree["steps"]:
        rows = [
            [one["machine"], _number(len(one["nodes"])), _number(one["count"]), one["reason"]]
            for one in step["classes"]
        ]
        title = ", ".join(step["changes"]) or "As it is"
        head = ("machine", "#nodes", "#more", "what stops the next one")
        yield html_section(title, sortable_table(head, rows))
    first = steps[0]
    node = node_with_most_new_pods(first.placement, [one.name for one in first.instance.nodes])
    yield from report_sections_of_nodes(
        first.instance, first.placement, [] if node is None else [node]
    )


def _scenarios(scenarios: Sequence[AnswerTree]) -> Html:
    """Return what has to find places at one time: each scenario, and again after each loss."""
    if any(one["lost"] for one in scenarios):
        head = ("scenario", "without", "#pods")
        rows = [(one["name"], one["lost"] or "", _number(one["pods"])) for one in scenarios]
        return html_section("Scenarios and losses", sortable_table(head, rows))
    alone = [(one["name"], _number(one["pods"])) for one in scenarios]
    return html_section("Scenarios", sortable_table(("scenario", "#pods"), alone))


def _unplaced(pods: Sequence[AnswerTree], title: str = "Without a place") -> Html:
    """Return who has no place and why, those with one reason together."""
    by_why: dict[str, list[str]] = {}
    for one in pods:
        case = [one["case"]] if one.get("case") else []
        why = "; ".join([*case, *one.get("reasons", ())]) or "too few nodes can be bought"
        alike = (one.get("count") or 1) - 1
        name = one["name"] or "any"
        by_why.setdefault(why, []).append(f"{name} and {alike:,} like it" if alike else name)
    rows = [[names_as_host_lists(names), why] for why, names in by_why.items()]
    return html_section(title, sortable_table(("pods", "why"), rows))


def _without_empty(
    head: Sequence[str], rows: Sequence[Sequence[SortableTableCell | str]]
) -> tuple[list[str], list[list[SortableTableCell | str]]]:
    """Return the head and the rows of a table without the columns in which nothing stands."""
    filled = [
        any(cell.text if isinstance(cell, SortableTableCell) else cell for cell in column)
        for column in zip(*rows, strict=True)
    ]
    return [*compress(head, filled)], [[*compress(row, filled)] for row in rows]


def _number(number: int) -> SortableTableCell:
    return SortableTableCell(f"{number:,}", number)


def _percent(percent: float | None) -> SortableTableCell:
    return SortableTableCell("" if percent is None else f"{percent} %", percent)


def _price(price: str | None, coin: str) -> SortableTableCell:
    return SortableTableCell("none" if price is None else _coins(price, coin), price)


def _coins(price: str, coin: str) -> str:
    """Write a decimal as people write prices: no digits after the point, or two or more."""
    digits = len(price.partition(".")[2])
    return f"{Decimal(price):,.{max(2, digits) if digits else 0}f}{coin}"
