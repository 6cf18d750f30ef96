"""An answer in one sentence."""

from typing import assert_never

from placer_cli.draw.words import count
from placer_models.cluster import Instance
from placer_models.placement import Answer, GaveUp, Infeasible, PartlyPlaced, Placed, TierValue


def verdict(answer: Answer, instance: Instance) -> str:
    """Say how many pods have a place, and how good that is proven to be."""
    total = sum(len(gang.pods) for gang in instance.gangs)
    pods = count(total, "pod")
    match answer:
        case Placed() if not total:
            return "Nothing waits for a place."
        case Placed():
            return f"{total:,} of {pods} placed; {_proof(answer.tiers)}."
        case PartlyPlaced():
            placed = len(answer.placement.pods)
            return f"{placed:,} of {pods} placed; {_proof(answer.tiers)}."
        case Infeasible():
            return f"0 of {pods} placed: it is proven that nothing that waits can have a place."
        case GaveUp():
            return (
                f"No placement was found or ruled out in {answer.after_s:.1f} s; "
                "try a longer --time-limit."
            )
        case _:
            assert_never(answer)


def _proof(tiers: tuple[TierValue, ...]) -> str:
    proven = sum(value.proven for value in tiers)
    if proven == len(tiers):
        return "proven optimal in every tier"
    first_open = tiers[proven]
    known = "no bound is known" if first_open.gap is None else f"gap {percent(first_open.gap)}"
    name = first_open.tier.name
    if not proven:
        return f"not proven optimal: {name}, {known}"
    return f"proven optimal in the first {proven} of {len(tiers)} tiers; then {name}, {known}"


def percent(gap: float) -> str:
    """Write a gap as a percentage, never rounded down to none."""
    if 0 < gap < 0.001:
        return "below 0.1 %"
    return f"{100 * gap:.1f} %"
