"""Proofs of plans once more, by code of its own, and their witnesses looked at by the judge."""

from decimal import Decimal
from fractions import Fraction
from itertools import product

from placer.judge.breaches import breaches
from placer.plan.answer import NoPlanExists, PriceBoundProof, PurchasePlan
from placer.plan.market import BinKind
from placer.plan.plan import buy
from placer.plan.question import PlanQuestion
from placer_models.pod import pods_of_gangs


def check_witnesses(question: PlanQuestion, answer: PurchasePlan) -> None:
    """
    Every pod of every scenario has a place on nodes that are there or paid for.
    """
    price_of = {offer.name: offer.price for offer in question.offers}
    total = sum((price_of[one.offer] * one.count for one in answer.mix), Decimal(0))
    assert total == answer.price
    for witness in answer.witnesses:
        wanted = [pod.key for pod in pods_of_gangs(witness.instance.gangs)]
        assert sorted(place.key for place in witness.placement.pods) == sorted(wanted)
        assert breaches(witness.instance, witness.placement) == ()
        new = len(witness.instance.nodes) - len(question.instance.nodes)
        assert new == sum(one.count for one in answer.mix)


def proven_again(proof: PriceBoundProof) -> Fraction | None:
    """
    The bound once more, by code of its own: the fullest bins by trying all fillings, and the best
    factor by trying all corners.
    """
    market, values = proof.market, proof.values
    for kind, claimed in zip(market.kinds, values.fullest, strict=True):
        for block, most in enumerate(claimed):
            assert fullest(kind, market.blocks[block], values.of_item[block]) <= most
    total = sum(
        value * count
        for of_item, counts in zip(values.of_item, market.blocks, strict=True)
        for value, count in zip(of_item, counts, strict=True)
    )
    filled = [sum(claimed) for claimed in values.fullest]

    def worth_at(factor: Fraction) -> Fraction | None:
        found = factor * total
        for kind, most in zip(market.kinds, filled, strict=True):
            over = factor * most - kind.price
            if over > 0:
                if kind.most is None:
                    return None
                found -= over * (kind.most // kind.pack * kind.pack)
        return found

    corners = [Fraction(k.price, f) for k, f in zip(market.kinds, filled, strict=True) if f]
    found = [worth for c in (Fraction(0), *corners) if (worth := worth_at(c)) is not None]
    beyond = max(corners, default=Fraction(0)) + 1
    if proof.exact is None:
        first, second = worth_at(beyond), worth_at(beyond + 1)
        assert first is not None
        assert second is not None
        assert second > first  # it grows without end
        return None
    return max(found)


def fullest(kind: BinKind, counts: tuple[int, ...], values: tuple[int, ...]) -> int:
    """
    What the best of all fillings is worth, counting devices by their number alone where they are
    whole, and share by share where they are not.
    """
    best = 0
    for held in product(*(range(count + 1) for count in counts)):
        worth = sum(n * value for n, value in zip(held, values, strict=True))
        if worth > best and holds(kind, held):
            best = worth
    return best


def holds(kind: BinKind, held: tuple[int, ...]) -> bool:
    """Whether a bin holds so many items of each kind, by trying."""
    if any(n and size is None for n, size in zip(held, kind.sizes, strict=True)):
        return False
    for resource, room in enumerate(kind.room):
        sizes = (size[resource] if size else 0 for size in kind.sizes)
        if sum(n * size for n, size in zip(held, sizes, strict=True)) > room:
            return False
    for devices in kind.devices:
        whole = sum(n * ask.whole for n, ask in zip(held, devices.asks, strict=True))
        shares = [
            devices.sizes[share]
            for n, ask in zip(held, devices.asks, strict=True)
            for share, count in ask.shares
            for _ in range(n * count)
        ]
        if not _shared_out(shares, list(zip(devices.rooms, devices.free, strict=True)), whole):
            return False
    return True


def _shared_out(
    shares: list[tuple[int, ...]], devices: list[tuple[tuple[int, ...], bool]], whole: int
) -> bool:
    if not shares:
        return sum(free for _, free in devices) >= whole
    for i, (room, _) in enumerate(devices):
        left = tuple(a - b for a, b in zip(room, shares[0], strict=True))
        rest = [*devices[:i], (left, False), *devices[i + 1 :]]
        if min(left) >= 0 and _shared_out(shares[1:], rest, whole):
            return True
    return False


def bought_at(best: Decimal | None, question: PlanQuestion, world: str) -> PurchasePlan | None:
    """Buy what a question asks for, at the best price; None: there is none, and no plan either."""
    answer = buy(question, seconds=20.0, threads=1)
    if best is None:
        assert isinstance(answer, NoPlanExists), world
        return None
    assert isinstance(answer, PurchasePlan), world
    assert answer.bound <= best, world
    assert answer.price == best, world
    return answer


def check_proven(best: Decimal | None, question: PlanQuestion, world: str) -> None:
    """Buy it, with a bound that is the price and proven anew, and places that are judged."""
    answer = bought_at(best, question, world)
    if answer is not None:
        assert answer.bound == best, world
        assert proven_again(answer.proof) == answer.proof.exact, world
        check_witnesses(question, answer)
