"""Drawing of what becomes of losses: the sentence, a table worst first, who and why."""

from collections.abc import Iterator
from decimal import Decimal

from rich.console import Group as Lines
from rich.console import RenderableType
from rich.text import Text

from placer.plan.answer import NoPlanExists, PurchasePlan
from placer.plan.cases import loss_in_words
from placer.plan.survive import LossOutcome, SurvivalAnswer
from placer_cli.draw.canvas import WidthAndMarks
from placer_cli.draw.palette import BAD, GOOD, QUIET, STRONG
from placer_cli.draw.tables import TableCell, table_of_first_rows
from placer_cli.draw.text_flow import drawing_with_title
from placer_cli.draw.texts import names_as_host_lists
from placer_models.message_text import count_with_noun
from placer_models.reasons import UnplacedCause

MOST_ROWS = 30
"""So many losses are drawn; --format json has all."""

_OUTVOTED = UnplacedCause.OUTVOTED.value

MOST_EXPLAINED = 5
"""Of so many losses it is said who has no place, and why."""


def draw_survival(
    answer: SurvivalAnswer,
    nodes: int,
    domain: str,
    currency: str,
    waiting: int,
    canvas: WidthAndMarks,
) -> RenderableType:
    """Draw what becomes of each loss.

    Args:
        answer: The answer.
        nodes: How many nodes were lost at once.
        domain: The label or level whose domains were lost; empty: nodes.
        currency: What prices are in.
        waiting: How many pods wait, which nobody placed.
        canvas: What it is drawn on.

    """
    failed = answer.failed
    lines: list[RenderableType] = [
        Text(_sentence(answer, nodes, domain), STRONG if failed else GOOD)
    ]
    if answer.tried < answer.choices:
        lines.append(
            Text(f"{answer.tried:,} of {answer.choices:,} different choices were tried.", QUIET)
        )
    if answer.outside:
        lines.append(
            Text(f"In no domain, and never lost: {names_as_host_lists(answer.outside)}.", QUIET)
        )
    if answer.unmended:
        losses = count_with_noun(answer.unmended, "loss", "losses")
        told = f"There was no time to look for what mends {losses}: give it more --seconds."
        lines.append(Text(told, QUIET))
    if waiting:
        pods = count_with_noun(waiting, "pod waits and is", "pods wait and are")
        lines.append(Text(f"{pods} left out.", QUIET))
    lines += ["", _table(answer, currency, canvas)]
    for one in failed[:MOST_EXPLAINED]:
        lines += [
            "",
            drawing_with_title(
                f"Without {loss_in_words(one.loss.name, domain)}", Lines(*_why(one, currency))
            ),
        ]
    return Lines(*lines)


def _sentence(answer: SurvivalAnswer, nodes: int, domain: str) -> str:
    what = "domain" if domain else "node" if nodes == 1 else f"{nodes} nodes"
    if not answer.failed:
        whichever = f"whichever {what} is lost" if nodes == 1 else f"whichever {what} are lost"
        if answer.tried < answer.choices:
            return f"Every pod finds a place {whichever} of those that were tried."
        return f"Every pod finds a place {whichever}."
    total = sum(1 + len(one.loss.alike) for one in answer.losses)
    bad = sum(1 + len(one.loss.alike) for one in answer.failed)
    worst = answer.losses[0]
    left = f"{len(worst.unplaced):,} of {count_with_noun(worst.pods, 'pod')}"
    losses = (
        f"{bad:,} of {count_with_noun(total, 'loss', 'losses')} {'leaves' if bad == 1 else 'leave'}"
    )
    named = loss_in_words(worst.loss.name, domain)
    return f"{losses} pods without a place; the worst is {named}: {left}."


def _table(answer: SurvivalAnswer, currency: str, canvas: WidthAndMarks) -> RenderableType:
    rows = [list(_row(one, currency)) for one in answer.losses]
    head = ("lost", "nodes", "pods", "no place", "moves", "known", "mended for")
    return table_of_first_rows(
        head,
        rows,
        canvas.width,
        MOST_ROWS,
        lambda more: f"{count_with_noun(more, 'loss', 'losses')} that are no worse",
        numbers=("nodes", "pods", "no place", "moves"),
        wrap={"lost": 16, "mended for": 16},
    )


def _row(one: LossOutcome, currency: str) -> Iterator[TableCell]:
    alike = len(one.loss.alike)
    yield f"{one.loss.name} and {alike:,} alike" if alike else one.loss.name
    yield f"{len(one.loss.nodes):,}" if len(one.loss.nodes) > 1 else ""
    yield f"{one.pods:,}"
    yield Text(f"{len(one.unplaced):,}" if one.unplaced else "", BAD)
    yield f"{len(one.moves):,}" if one.moves else ""
    yield Text("proven" if one.proven else "as far as was found", "" if one.proven else QUIET)
    yield _price(one, currency)


def _price(one: LossOutcome, currency: str) -> str:
    if one.mend is None:
        return ""
    plan = one.mend.plan
    if isinstance(plan, PurchasePlan):
        return _money(plan.price, currency)
    return "no offer does" if isinstance(plan, NoPlanExists) else "none found in time"


def _money(price: Decimal, currency: str) -> str:
    """Write a price with two digits after the point, as people do, or with as many as it has."""
    exponent = price.normalize().as_tuple().exponent
    digits = max(2, -exponent) if isinstance(exponent, int) and exponent < 0 else 0
    return f"{price:,.{digits}f} {currency}".rstrip()


def _why(one: LossOutcome, currency: str) -> Iterator[Text]:
    """Say who finds no place and why, those with one reason together, and what would do."""
    by_why: dict[str, list[str]] = {}
    for pod in one.unplaced:
        why = pod.reasons[0]
        if why.startswith(_OUTVOTED):
            why = f"{_OUTVOTED} by other pods of the loss{why.removeprefix(_OUTVOTED)}"
        by_why.setdefault(why, []).append(pod.title)
    for why, names in by_why.items():
        yield Text.assemble((names_as_host_lists(names), BAD), f": {why}")
    if one.mend is None:
        return
    plan = one.mend.plan
    if not isinstance(plan, PurchasePlan):
        yield Text("no mix of the offers was found that gives all of them a place")
        return
    bought = ", ".join(f"{part.count:,} {part.offer}" for part in one.mend.mix)
    least = (
        "no mix costs less"
        if plan.price == plan.bound
        else f"none is below {_money(plan.bound, currency)}"
    )
    yield Text.assemble("would do: buy ", (bought, GOOD), f" for {_price(one, currency)} ({least})")
