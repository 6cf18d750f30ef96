"""An answer in one sentence."""

from typing import assert_never

from placer.search.options import Engine, SolveOptions
from placer_cli.draw.texts import gb_per_s_text
from placer_cli.draw.waiting import left_out_count_text, waiting_pod_count
from placer_models.cluster import Instance
from placer_models.goals import Tier
from placer_models.message_text import count_with_noun
from placer_models.placement import Answer, GaveUp, Infeasible, PartlyPlaced, Placed, TierValue
from placer_models.reasons import NotTried


def answer_summary(answer: Answer, instance: Instance, options: SolveOptions) -> str:
    """Say how many pods have a place, and how good that is proven to be."""
    total = waiting_pod_count(instance)
    pods, bad = count_with_noun(total, "pod"), left_out_count_text(instance)
    match answer:
        case Placed() if not total:
            return "Nothing waits for a place."
        case Placed():
            return _placed(total, pods, _moved(len(answer.moves)), answer.tiers)
        case PartlyPlaced():
            moving = len(answer.moves)
            placed = len(answer.placement.pods) - moving
            return _placed(placed, pods, f"{_moved(moving)}{bad}", answer.tiers)
        case Infeasible():
            unasked = any(isinstance(why, NotTried) for one in instance.left_out for why in one.why)
            if unasked and not instance.gangs:
                return f"0 of {pods} placed{bad}."
            nothing = "nothing else" if unasked else "nothing"
            nothing = f"it is proven that {nothing} that waits can have a place"
            guess = ", if running pods are on the NUMA nodes that were guessed"
            return f"0 of {pods} placed{bad}: {nothing}{guess if answer.guessed else ''}."
        case GaveUp() if options.engine is Engine.GREEDY:
            return f"0 of {pods} placed{bad}: the greedy path proves nothing; try --engine auto."
        case GaveUp():
            more = "longer --time-limit" if options.work_limit is None else "larger --work-limit"
            found = f"none was ruled out in {answer.after_s:.1f} s"
            return f"0 of {pods} placed{bad}; {found}; try a {more}."
        case _:
            assert_never(answer)


def _moved(pods: int) -> str:
    return f", {count_with_noun(pods, 'running pod')} moved" if pods else ""


def _placed(placed: int, pods: str, more: str, tiers: tuple[TierValue, ...]) -> str:
    return f"{placed:,} of {pods} placed{more}{';' if more else ','} {_proof(tiers)}."


def _proof(tiers: tuple[TierValue, ...]) -> str:
    """Say how good it is proven to be: of the first open tier, its distance from a bound found."""
    proven = sum(value.proven for value in tiers)
    if proven == len(tiers):
        return "optimal"
    first_open = tiers[proven]
    distance = gap_text(first_open)
    known = f"{first_open.tier.name} {f'within {distance}' if distance else 'open'}"
    if not proven:
        return f"not proven optimal: {known}" if distance else "not proven optimal"
    return f"optimal in {proven} of {len(tiers)} tiers, {known}"


CENTI_GB_PER_S = "0.01 GB/s"
"""The unit that people read as GB/s."""


def gap_text(value: TierValue) -> str:
    """Write how far a value is from its bound: in percent, or beside a bound of 0 as it is.

    It is empty where no bound was looked for.
    """
    if value.bound is None or value.gap is None or not value.tried:
        return ""
    if value.bound == value.value:
        return "0"
    if not value.bound:
        return tier_value_text(value.tier, abs(value.value))
    return "below 0.1 %" if value.gap < 0.001 else f"{100 * value.gap:.1f} %"


def tier_value_text(tier: Tier, value: int) -> str:
    """Write a tier's value as people read it."""
    return gb_per_s_text(value) if tier.unit == CENTI_GB_PER_S else f"{value:,}"
