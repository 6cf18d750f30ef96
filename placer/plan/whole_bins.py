"""The bound by whole bins: nobody buys a part of a node, or of a pack of nodes.

Values of items say how much the bins of a plan can be worth at most, and so how many bins there
have to be, in fractions. Several such sayings together, with bins in whole packs, are a small
program in whole numbers, whose bound is one for every plan. It is much higher where a plan is a
few nodes or packs.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ortools.sat.python import cp_model

from placer.plan.column_generation import PurchaseColumnGeneration
from placer.plan.market import PurchaseProblem, value_of_items
from placer.plan.proof import IntegerItemValuesForProof
from placer.plan.whole import solved_on_clock, whole_number_bound

MOST_CUTS = 400

_LARGE = 10**9
"""What bins have to be worth is counted in at most so many parts."""
_NEARLY = 1e-6


@dataclass(frozen=True, slots=True)
class NeededWorthOfBins:
    """What the bins of a block have to be worth together.

    Attributes:
        fullest: What one bin of each kind is worth at most.
        total: What all of them have to come to.

    """

    fullest: tuple[int, ...]
    total: int


def needed_bin_worths(
    market: PurchaseProblem, proofs: Sequence[IntegerItemValuesForProof]
) -> list[NeededWorthOfBins]:
    """Return what bins have to be worth, by values that were proven and by sums."""
    found = dict.fromkeys(_by_sums(market))
    for values in proofs:
        found |= dict.fromkeys(_needs_by(market, values))
    return [_smaller(one) for one in found if one.total > 0]


def _needs_by(
    market: PurchaseProblem, values: IntegerItemValuesForProof
) -> Iterator[NeededWorthOfBins]:
    """Yield what the bins of each block have to be worth by some values."""
    for block, (of_item, counts) in enumerate(zip(values.of_item, market.blocks, strict=True)):
        fullest = tuple(of_kind[block] for of_kind in values.fullest)
        yield NeededWorthOfBins(fullest, value_of_items(of_item, counts))


def _by_sums(market: PurchaseProblem) -> Iterator[NeededWorthOfBins]:
    """Yield what follows from one kind of items, and from resources of items for the same kinds."""
    for block, counts in enumerate(market.blocks):
        most = [market.most_of(kind, block) for kind in market.kinds]
        for item, count in enumerate(counts):
            if count:
                yield NeededWorthOfBins(tuple(of_kind[item] for of_kind in most), count)
        allowed = [
            frozenset(k for k, of_kind in enumerate(most) if of_kind[i]) for i in range(len(counts))
        ]
        for kinds in {allowed[item] for item, count in enumerate(counts) if count}:
            mine = [i for i, count in enumerate(counts) if count and allowed[i] <= kinds]
            for resource in range(len(market.kinds[0].room)):
                least = {
                    i: min(
                        size[resource]
                        for k in allowed[i]
                        if (size := market.kinds[k].sizes[i]) is not None
                    )
                    for i in mine
                    if allowed[i]
                }
                room = tuple(
                    kind.room[resource] if k in kinds else 0 for k, kind in enumerate(market.kinds)
                )
                yield NeededWorthOfBins(room, sum(counts[i] * size for i, size in least.items()))


def _smaller(one: NeededWorthOfBins) -> NeededWorthOfBins:
    """Return the same in larger parts, rounded so that it asks for no more."""
    part = one.total // _LARGE + 1
    return NeededWorthOfBins(tuple(-(-n // part) for n in one.fullest), -(-one.total // part))


def price_bound_by_whole_bins(generation: PurchaseColumnGeneration, time: float, most: int) -> int:
    """Return a price below which there is no plan.

    The cheapest bins that do by all that is known are filled by patterns. Where these leave
    something over, its values are proven, and say what bins are missing; and so on.

    Args:
        generation: Knows values that were proven, and proves more.
        time: How much time of its clock there is.
        most: The price of some plan.

    """
    clock = generation.clock
    end = clock.now() + time
    best = 0
    while True:
        bound, bins = _cheapest(generation, max(0.0, end - clock.now()), most)
        best = max(best, min(bound, most))
        if bins is None or best >= most or generation.stop() or clock.now() >= end:
            return best
        solution = generation.master.with_bins(bins)
        if (solution.short < _NEARLY).all():
            return best
        values = generation.prove(solution, end)
        needs = _needs_by(generation.market, values)
        if all(value_of_items(one.fullest, bins) >= one.total for one in needs):
            return best


def _cheapest(
    generation: PurchaseColumnGeneration, time: float, most: int
) -> tuple[int, tuple[int, ...] | None]:
    """Return the least price of bins that are worth enough, and these bins if they were found."""
    market = generation.market
    model = cp_model.CpModel()
    prices = [kind.price * kind.pack for kind in market.kinds]
    packs = []
    for kind, price in zip(market.kinds, prices, strict=True):
        limit = most // price if price else (kind.buyable or 0)
        if price and kind.buyable is not None:
            limit = min(limit, kind.buyable // kind.pack)
        packs.append(model.new_int_var(0 if price else limit, limit, ""))
    for need in needed_bin_worths(market, generation.proofs)[-MOST_CUTS:]:
        worths = [n * kind.pack for n, kind in zip(need.fullest, market.kinds, strict=True)]
        model.add(cp_model.LinearExpr.weighted_sum(packs, worths) >= need.total)
    model.minimize(cp_model.LinearExpr.weighted_sum(packs, prices))
    solver, status = solved_on_clock(model, generation.clock, time, threads=1)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return 0, None
    bins = tuple(
        solver.value(number) * kind.pack for number, kind in zip(packs, market.kinds, strict=True)
    )
    return whole_number_bound(solver), bins
