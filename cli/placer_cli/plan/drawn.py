"""The answer of a plan, for a terminal: first the sentence, then the figures behind it."""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import assert_never

from rich.console import Group as Lines
from rich.console import RenderableType
from rich.text import Text

from placer.plan.answer import (
    NoPlanExists,
    NoPlanFoundInTime,
    OfferBindingResource,
    PlanAnswer,
    PodsShortOfOffers,
    PurchasePlan,
    SufficientQuestionChange,
)
from placer.plan.cases import loss_in_words, plan_cases_of
from placer.plan.question import PlanQuestion
from placer_cli.draw.canvas import WidthAndMarks
from placer_cli.draw.palette import BAD, GOOD, QUIET, STRONG
from placer_cli.draw.tables import table_of_first_rows, table_without_empty_columns
from placer_cli.draw.text_flow import drawing_with_title
from placer_models.message_text import count_with_noun, listed_in_sentence
from placer_models.placement import Unplaced
from placer_models.pod import pods_of_gangs

MOST_ROWS = 60
"""So many rows of a table are drawn; --format json has all."""


def draw_purchase_plan(
    question: PlanQuestion, answer: PlanAnswer, canvas: WidthAndMarks
) -> RenderableType:
    """Draw what to buy, or why nothing does."""
    match answer:
        case PurchasePlan():
            return Lines(*_bought(question, answer, canvas))
        case NoPlanExists():
            return Lines(*_no_plan(question, answer))
        case NoPlanFoundInTime():
            return Lines(*_none_found(question, answer))
        case _:
            assert_never(answer)


def _bought(
    question: PlanQuestion, answer: PurchasePlan, canvas: WidthAndMarks
) -> Iterator[RenderableType]:
    price = price_text(question, answer.price)
    if not answer.mix:
        yield Text("Nothing has to be bought: all pods fit on what is there.", STRONG)
        return
    nodes = count_with_noun(sum(one.count for one in answer.mix), "node")
    yield Text(f"Buy {nodes} for {price}: {_proof(question, answer)}.", STRONG)
    yield Text(_who(question, answer))
    yield ""
    yield drawing_with_title("What to buy", _mix(question, answer, canvas))
    yield ""
    yield drawing_with_title("What binds", Lines(*map(_binds, answer.binding)))
    if answer.runners_up:
        yield ""
        yield drawing_with_title("Without one of them", _runners_up(question, answer, canvas))
    if answer.relaxed:
        yield ""
        yield Text(f"The bound does not look at {listed_in_sentence(answer.relaxed, 'or')}.", QUIET)


def _proof(question: PlanQuestion, answer: PurchasePlan) -> str:
    if answer.price == answer.bound:
        return "no plan costs less, which is proven"
    gap = f"{answer.gap_percent:.2f}".rstrip("0").rstrip(".")
    bound = price_text(question, answer.bound)
    return f"no plan costs less than {bound}, which is proven (gap {gap} %)"


def _who(question: PlanQuestion, answer: PurchasePlan) -> str:
    """Say who gets a place, scenario by scenario."""
    whole = [one for one in answer.witnesses if not one.loss]
    losses = [one for one in answer.witnesses if one.loss]
    pods = [len(one.placement.pods) for one in whole]
    without = ""
    if losses:
        domain = question.survive.domain if question.survive else ""
        names = list(dict.fromkeys(loss_in_words(one.loss, domain) for one in losses))
        some = f"the loss of {listed_in_sentence(names, 'or')}"
        told = some if len(names) <= 4 else f"any of {len(names)} losses"
        without = f" Nobody is left without a place after {told}."
    if len(question.scenarios) == 1:
        return f"{count_with_noun(pods[0], 'pod gets', 'pods get')} a place, all judged.{without}"
    told = ", ".join(
        f"{one.scenario} ({count_with_noun(number, 'pod')})"
        for one, number in zip(whole, pods, strict=True)
    )
    return f"It does for each scenario: {told}. All places are judged.{without}"


def price_text(question: PlanQuestion, price: Decimal) -> str:
    """Write a price in the plan's currency."""
    # Two digits or none, as people write prices, or as many as the file has.
    digits = question.decimals if question.decimals != 1 else 2
    text = f"{price:,.{digits}f}"
    return f"{text} {question.currency}" if question.currency else text


def _mix(question: PlanQuestion, answer: PurchasePlan, canvas: WidthAndMarks) -> RenderableType:
    offers = {offer.name: offer for offer in question.offers}
    rows = [
        (
            one.offer,
            f"{one.count:,}",
            price_text(question, offers[one.offer].price),
            price_text(question, one.price),
        )
        for one in answer.mix
    ]
    head = ("offer", "nodes", "each", "together")
    return table_of_first_rows(
        head,
        rows,
        canvas.width,
        MOST_ROWS,
        lambda more: f"{count_with_noun(more, 'row')} more",
        numbers=head[1:],
        wrap={head[0]: 12},
    )


def offer_mix_text(mix: Sequence[tuple[str, int]]) -> str:
    """Say what is bought: the first offers, and how many more."""
    said = ", ".join(f"{number:,} {offer}" for offer, number in mix[:4])
    return f"{said} and {len(mix) - 4} more offers" if len(mix) > 4 else said


def _binds(one: OfferBindingResource) -> Text:
    """Say what the price of an offer is paid for, and how full the rest is."""
    uses = {use.resource: use.percent for use in one.uses}
    others = [f"{name} {uses[name]:.0f} %" for name in uses if name != one.resource]
    if one.resource is None:
        return Text(f"{one.offer}: nothing in particular")
    first = f"{one.offer}: {one.resource}"
    if one.resource in uses:
        first += f", {uses[one.resource]:.0f} % in use"
    if 0 < one.percent < 99.5:
        first += f" ({one.percent:.0f} % of its price is paid for them)"
    return Text(f"{first}; {', '.join(others)}" if others else first)


def _runners_up(
    question: PlanQuestion, answer: PurchasePlan, canvas: WidthAndMarks
) -> RenderableType:
    rows = []
    for one in answer.runners_up:
        if one.price is None:
            rows.append((one.without, "no plan found", "", ""))
            continue
        more = float(100 * (one.price - answer.price) / answer.price)
        price = price_text(question, one.price)
        rows.append((one.without, price, f"{more:+.1f} %", offer_mix_text(one.mix)))
    head = ("without", "price", "more", "instead")
    return table_without_empty_columns(
        head, rows, canvas.width, numbers=head[1:3], wrap={"without": 12, "instead": 16}
    )


def _no_plan(question: PlanQuestion, answer: NoPlanExists) -> Iterator[RenderableType]:
    if answer.unplaced:
        which = "no node that is there and no offer" if question.instance.nodes else "no offer"
        what = "this pod" if len(answer.unplaced) == 1 else "these pods"
        yield Text(f"No plan places all pods, which is proven: {which} can hold {what}.", STRONG)
        yield from map(_unplaced, answer.unplaced)
        yield from _mends(question, answer.mends, answer.looked_for)
        return
    total = max(
        sum(1 for _ in pods_of_gangs(case.instance.gangs)) for case in plan_cases_of(question)
    )
    why = "too few nodes can be bought"
    if any(short.reasons for short in answer.short):
        why = "what is there is too little, and no offer holds the rest"
    yield Text(f"No plan places all {total:,} pods, which is proven: {why}.", STRONG)
    for short in answer.short:
        yield Text(_short(short), BAD)
    if answer.ended:
        ends = [f"{most:,} of {name}" for name, most in answer.ended]
        yield Text(f"At most {listed_in_sentence(ends)} can be bought.")
    yield from _mends(question, answer.mends, answer.looked_for)


def _unplaced(one: Unplaced) -> Text:
    return Text(f"{one.title}: {'; '.join(one.reasons)}", BAD)


def _short(short: PodsShortOfOffers) -> str:
    """Say who has no place, in which scenario and after which loss."""
    where = f" ({short.case})" if short.case else ""
    if not short.pod:
        return f"too few nodes would be left for all{where}"
    alike = f" and {count_with_noun(short.count - 1, 'pod')} like it" if short.count > 1 else ""
    said = f"{short.pod}{alike} would have no place{where}"
    if short.reasons:
        said += f", and no offer holds one: {'; '.join(short.reasons)}"
    return said


def _mends(
    question: PlanQuestion,
    mends: Sequence[SufficientQuestionChange],
    looked_for: Sequence[str] = (),
) -> Iterator[RenderableType]:
    """Say what would do, or that nothing that was looked for does."""
    for one in mends:
        alike = f", for each of {one.alike:,} alike" if one.alike > 1 else ""
        price = "" if one.price is None else f", at {price_text(question, one.price)} in all"
        small = " (proven smallest)" if one.smallest else ""
        words = "would do: " if one.price is not None else "would help: "
        yield Text.assemble(words, (", ".join(one.changes), GOOD), alike, price, (small, QUIET))
    if looked_for and not any(one.price is not None for one in mends):
        which = "would be enough" if mends else "would do"
        yield Text(f"No change was found that {which}; looked for: {'; '.join(looked_for)}.")


def _none_found(question: PlanQuestion, answer: NoPlanFoundInTime) -> Iterator[RenderableType]:
    several = len(question.scenarios) > 1 or question.survive is not None
    where = f" in scenario {answer.scenario}" if several else ""
    what = (
        f"{count_with_noun(answer.pods, 'pod')} found no place{where}"
        if answer.pods
        else "none was found"
    )
    yield Text(f"No plan yet: {what}, and it is not proven that none exists.", STRONG)
    yield Text(f"If there is one, it costs at least {price_text(question, answer.bound)}.")
    yield from map(_unplaced, answer.unplaced)
    yield from _mends(question, answer.mends)
    yield Text("Give it more --seconds, raise max of an offer, or offer other nodes.")
