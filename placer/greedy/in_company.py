"""A place for a pod that cares who else owns CPUs of its cores and NUMA nodes (C18)."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace

from placer.greedy.apart import choose_apart
from placer.greedy.chooser import Offer
from placer_models.affinity import AffinityLevel
from placer_models.node_state import NOBODY, Guest, NodeState, sides_of
from placer_models.problem import Choice, Fit, Shape
from placer_models.tasks import Beside, BesideTerm

MOST_CROWDS = 8
"""How crowded a place may be is tried in so many steps, and without a limit."""

Guests = frozenset[Guest]

Bars = Callable[[AffinityLevel, Guests], bool]
"""Whether a pod keeps off a place of the level where these are."""


def choose_in_company(
    node: NodeState, shape: Shape, fit: Fit, begun: Collection[int] = ()
) -> Offer | None:
    """Return the cheapest place found for a pod of the shape; None: none was found.

    What the pod may not share, or has to and cannot, is hidden from it. So are at first
    places where a wish is lost. Then more and more crowded ones are shown, and then wishes
    for company are given up, the last ones first.

    Args:
        node: What is left on it.
        shape: What the pod asks for.
        fit: What that means here.
        begun: Positions of its terms that it need not keep, as the first of its kind.

    """
    beside = shape.beside
    if beside is None:
        return choose_apart(node, shape, fit)
    best: Offer | None = None
    for bars in _strictest_first(node, beside, begun):
        found = choose_apart(_without(node, bars), shape, fit)
        if found is None:
            continue
        lost = _lost(node, beside, found.choice)
        offer = Offer(found.price._replace(affinity=lost), found.choice)
        if best is None or offer.price < best.price:
            best = offer
        if not lost:
            break
    return best


def _strictest_first(node: NodeState, beside: Beside, begun: Collection[int]) -> Iterator[Bars]:
    """Yield what keeps the pod off places: with all wishes kept, then with fewer."""
    required = [term for i, term in enumerate(beside.terms) if term.required and i not in begun]
    wishes = [term for term in beside.terms if not (term.required or term.apart)]
    crowds = sorted({0, *(_pairs(beside, *place) for place in _places(node))})
    for kept in range(len(wishes), -1, -1):
        for crowd in (*crowds[:MOST_CROWDS], *crowds[MOST_CROWDS:][-1:]):
            yield _bars(beside, [*required, *wishes[:kept]], crowd)


def _places(node: NodeState) -> Iterator[tuple[AffinityLevel, Guests]]:
    """Yield who is in each cell and on each core class."""
    yield from ((AffinityLevel.NUMA, cell.guests) for cell in node.cells)
    yield from ((AffinityLevel.CORE, c.guests) for c in node.cores)


def _pairs(beside: Beside, level: AffinityLevel, guests: Guests) -> int:
    """Return how many wishes to be apart are lost once the pod is with these."""
    return sum(beside.pairs_with(side, level) for side, _ in guests)


def _bars(beside: Beside, terms: Sequence[BesideTerm], crowd: int) -> Bars:
    def bars(level: AffinityLevel, guests: Guests) -> bool:
        sides = sides_of(guests)
        return (
            not beside.off_at(level).isdisjoint(sides)
            or _pairs(beside, level, guests) > crowd
            or any(
                term.level is level and term.apart is not sides.isdisjoint(term.matches)
                for term in terms
            )
        )

    return bars


def _without(node: NodeState, bars: Bars) -> NodeState:
    """Return the node without the cores that the pod keeps off, or whose cell it does."""
    cells = [bars(AffinityLevel.NUMA, cell.guests if cell.real else NOBODY) for cell in node.cells]
    return replace(
        node,
        cores=tuple(
            c.hidden if cells[c.cell] or bars(AffinityLevel.CORE, c.guests) else c
            for c in node.cores
        ),
    )


def _lost(node: NodeState, beside: Beside, choice: Choice) -> int:
    """Count what the place loses in tier affinity: wishes for company, and pairs too near."""
    lost = 0
    for level in (AffinityLevel.NUMA, AffinityLevel.CORE):
        met = list(_met(node, choice, level))
        lost += _pairs(beside, level, NOBODY.union(*met))
        for term in beside.terms:
            if term.level is level and not (term.required or term.apart):
                lost += any(term.matches.isdisjoint(sides_of(there)) for there in met)
    return lost


def _met(node: NodeState, choice: Choice, level: AffinityLevel) -> Iterator[Guests]:
    """Yield who is at each place of a level where the pod takes CPUs."""
    for c, take in zip(node.cores, choice.cores, strict=True):
        if take.whole or take.threads:
            yield c.guests if level is AffinityLevel.CORE else node.cells[c.cell].guests
