"""A place for a pod that cares who else owns CPUs of its cores and NUMA nodes (C18)."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace

from placer.greedy.apart import choose_apart
from placer.greedy.chooser import Offer
from placer.greedy.residual import ClassLeft, Inside, Residual
from placer_models.affinity import AffinityLevel
from placer_models.problem import Fit, Shape
from placer_models.tasks import Beside, BesideTerm

_NOTHING = ClassLeft(0, 0, 0)

Bars = Callable[[AffinityLevel, frozenset[int]], bool]
"""Whether a pod keeps off a place of the level where these sides are."""


def choose_in_company(
    residual: Residual, shape: Shape, fit: Fit, begun: Collection[int] = ()
) -> Offer | None:
    """Return the cheapest place found for a pod of the shape; None: none was found.

    What the pod may not share, or has to and cannot, is hidden from it. So are at first
    places where a wish is lost; then wishes are given up, the last ones first.

    Args:
        residual: What is left on the node.
        shape: What the pod asks for.
        fit: What that means here.
        begun: Positions of its terms that it need not keep, as the first of its kind.

    """
    beside = shape.beside
    if beside is None:
        return choose_apart(residual, shape, fit)
    best: Offer | None = None
    for bars in _strictest_first(beside, begun):
        found = choose_apart(_without(residual, bars), shape, fit)
        if found is None:
            continue
        lost = _lost(residual, beside, found.inside)
        offer = Offer(found.price._replace(affinity=lost), found.inside)
        if best is None or offer.price < best.price:
            best = offer
        if not lost:
            break
    return best


def _strictest_first(beside: Beside, begun: Collection[int]) -> Iterator[Bars]:
    """Yield what keeps the pod off places: with all wishes kept, then with fewer."""
    required = [term for i, term in enumerate(beside.terms) if term.required and i not in begun]
    wishes = [term for term in beside.terms if not term.required]
    if any(sides for _, sides in beside.rather_off):
        yield _bars(beside, [*required, *wishes], considerate=True)
    for kept in range(len(wishes), -1, -1):
        yield _bars(beside, [*required, *wishes[:kept]], considerate=False)


def _bars(beside: Beside, terms: list[BesideTerm], *, considerate: bool) -> Bars:
    def bars(level: AffinityLevel, sides: frozenset[int]) -> bool:
        off = beside.off_at(level)
        if considerate:
            off |= beside.rather_off_at(level)
        return not off.isdisjoint(sides) or any(
            term.level is level and term.apart is not sides.isdisjoint(term.matches)
            for term in terms
        )

    return bars


def _without(residual: Residual, bars: Bars) -> Residual:
    """Return the residual without the cores that the pod keeps off, or whose cell it does."""
    cells = [
        bars(AffinityLevel.NUMA, sides if real else frozenset())
        for sides, real in zip(residual.cell_sides, residual.layout.real, strict=True)
    ]
    return replace(
        residual,
        cores=tuple(
            _NOTHING if cells[facts.cell] or bars(AffinityLevel.CORE, left.sides) else left
            for facts, left in zip(residual.layout.classes, residual.cores, strict=True)
        ),
    )


def _lost(residual: Residual, beside: Beside, inside: Inside) -> int:
    """Count the pod's wishes that the place does not keep, and sides that mind it there."""
    met = {level: list(_met(residual, inside, level)) for level in AffinityLevel}
    lost = sum(
        any(sides.isdisjoint(term.matches) is not term.apart for sides in met[term.level])
        for term in beside.terms
        if not term.required
    )
    minding = (
        side
        for level, sides in beside.rather_off
        for side in sides
        if any(side in there for there in met[level])
    )
    return lost + sum(1 for _ in minding)


def _met(residual: Residual, inside: Inside, level: AffinityLevel) -> Iterator[frozenset[int]]:
    """Yield who is at each place of a level where the pod takes CPUs."""
    for facts, left, take in zip(
        residual.layout.classes, residual.cores, inside.cores, strict=True
    ):
        if take.whole or take.threads:
            yield left.sides if level is AffinityLevel.CORE else residual.cell_sides[facts.cell]
