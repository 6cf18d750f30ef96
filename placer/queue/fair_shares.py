"""Fair shares: what each flow gets in the long run, weighted max-min over the tree.

What a flow cannot use goes to its siblings first, by their weights, then to the flows of
other groups. Shares are exact fractions.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from placer.queue.model import ONE_MILLI


@dataclass(frozen=True, slots=True)
class FlowShareDemand:
    """A flow that wants a share.

    Attributes:
        children: The flows of a group, among which its share is divided.
        least: The least that a flow without children gets.
        most: The most that a flow without children can use, or None if it can use everything.

    """

    name: str
    weight_milli: int = ONE_MILLI
    children: tuple["FlowShareDemand", ...] = ()
    least: int = 0
    most: int | None = None


def steady_shares(capacity: int, demands: Sequence[FlowShareDemand]) -> dict[str, Fraction]:
    """Return the share of each flow that has no children."""
    shares: dict[str, Fraction] = {}
    _share_out(Fraction(capacity), demands, shares)
    return shares


def _share_out(
    capacity: Fraction, demands: Sequence[FlowShareDemand], shares: dict[str, Fraction]
) -> None:
    level = _level(capacity, demands)
    for demand in demands:
        share = _at(level, demand)
        if demand.children:
            _share_out(share, demand.children, shares)
        else:
            shares[demand.name] = share


def _level(capacity: Fraction, demands: Sequence[FlowShareDemand]) -> Fraction:
    """Return the share per weight at which the demands take the capacity, or all they can.

    What they take grows with the level in straight pieces, from bend to bend. The answer
    is on the piece where it crosses the capacity.
    """
    bends = sorted(
        {Fraction(0)}
        | {Fraction(_least(d), d.weight_milli) for d in demands}
        | {Fraction(most, d.weight_milli) for d in demands if (most := _most(d)) is not None}
    )
    low = Fraction(0)
    for bend in bends:
        if _taken(bend, demands) >= capacity:
            break
        low = bend
    taken = _taken(low, demands)
    slope = sum(
        d.weight_milli
        for d in demands
        if _least(d) <= low * d.weight_milli
        and ((most := _most(d)) is None or low * d.weight_milli < most)
    )
    return low + max(capacity - taken, Fraction(0)) / slope if slope else low


def _taken(level: Fraction, demands: Sequence[FlowShareDemand]) -> Fraction:
    return sum((_at(level, demand) for demand in demands), Fraction(0))


def _at(level: Fraction, demand: FlowShareDemand) -> Fraction:
    share = max(level * demand.weight_milli, Fraction(_least(demand)))
    most = _most(demand)
    return share if most is None else min(share, Fraction(most))


def _least(demand: FlowShareDemand) -> int:
    return sum(map(_least, demand.children)) if demand.children else demand.least


def _most(demand: FlowShareDemand) -> int | None:
    if not demand.children:
        return demand.most
    total = 0
    for child in demand.children:
        most = _most(child)
        if most is None:
            return None
        total += most
    return total
