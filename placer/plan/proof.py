"""The proof that no plan is cheaper: an exact bound from whole-number values of items.

Give each item of each scenario a value of 0 or more. In any plan, the items of a scenario are
worth no more than the bins that hold them can be filled with. So if no bin can be filled with
more, over all scenarios, than it costs, the plan costs at least what the items are worth. Bins
that are there, and offers that end at some number, may be filled with more; that is
taken off, for as many as there are. All values may be multiplied by one factor, and the best one
is used: the bound is a concave function of the factor, with a corner wherever a kind of bins
comes to its price.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from placer.plan.market import PurchaseProblem, value_of_items


@dataclass(frozen=True, slots=True)
class IntegerItemValuesForProof:
    """Whole-number values of items, and what bins can be filled with at most by them.

    Attributes:
        of_item: For each block the value of one item of each kind.
        fullest: For each kind of bins and each block: no bin holds items worth more.

    """

    of_item: tuple[tuple[int, ...], ...]
    fullest: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class PlanPriceLowerBound:
    """What any plan costs at least.

    Attributes:
        price: The bound; None: there is no plan at any price.
        factor: What the values are multiplied by.

    """

    price: Fraction | None
    factor: Fraction


def price_bound_from_item_values(
    market: PurchaseProblem, values: IntegerItemValuesForProof
) -> PlanPriceLowerBound:
    """Return the best bound that values give; it is exact, and holds whatever they are."""
    total = sum(map(value_of_items, values.of_item, market.blocks))
    corners: list[tuple[Fraction, int]] = []
    most: Fraction | None = None
    for kind, fullest in zip(market.kinds, values.fullest, strict=True):
        filled = sum(fullest)
        if not filled:
            continue
        corner = Fraction(kind.price, filled)
        if kind.buyable is None:
            most = corner if most is None else min(most, corner)
        else:
            # Beyond the corner each bin of the kind takes off so much for each unit of the factor.
            corners.append((corner, filled * kind.buyable))
    factor, price, slope = Fraction(0), Fraction(0), total
    for corner, lost in sorted(corners):
        if slope <= 0 or (most is not None and corner >= most):
            break
        price += slope * (corner - factor)
        factor, slope = corner, slope - lost
    if slope > 0:
        if most is None:
            return PlanPriceLowerBound(None, factor)
        price += slope * (most - factor)
        factor = most
    return PlanPriceLowerBound(price, factor)


def rounded_up_to_price(bound: Fraction, steps: Sequence[int]) -> int:
    """Return the bound, rounded up to the next price that there can be.

    Args:
        bound: The bound.
        steps: Prices of what is bought; every plan costs a sum of these.

    """
    from math import gcd

    step = gcd(*steps) or 1
    return -(-bound // step) * step
