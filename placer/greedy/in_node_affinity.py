"""In-node affinity: a place for a pod that minds who owns CPUs beside its own (C18).

If such an affinity means pods of its own kind, the first of them may be alone while no other
pod is meant. The next pod that is meant has to be with it: it needs CPUs of each core or NUMA
node where the first has some.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from placer.greedy.offer import Chooser, PricedChoice
from placer_models.affinity import InNodeAffinityLevel
from placer_models.goals import AFFINITY
from placer_models.problem.node_state import (
    NOBODY,
    Cell,
    CoreClass,
    Guest,
    NodeState,
    affinity_sides_of_guests,
)
from placer_models.problem.problem import Choice, Fit, Problem, Shape, cells_of_cpus
from placer_models.problem.tasks import InNodeAffinityOfShape, NumaOrCoreAffinityTerm

AffinityPlaces = frozenset[tuple[InNodeAffinityLevel, int]]
"""(level, index of a core class or cell) for places of a node."""

MOST_CROWDS = 8
"""How many limits to how crowded a place may be are tried, before the loosest one."""

_Guests = frozenset[Guest]

Bars = Callable[[InNodeAffinityLevel, _Guests], bool]
"""Returns whether a pod keeps off a place of the level where these guests are."""


def choose_by_in_node_affinity(
    node: NodeState, shape: Shape, fit: Fit, choose: Chooser, waived: Collection[int]
) -> PricedChoice | None:
    """Return the cheapest place found for a pod of the shape, or None if none was found.

    Places that the pod may not share, or where company that it requires is missing, are
    hidden from it. At first, so are places where a wish is lost. Then more and more crowded
    places are shown, and then wishes for company are given up, the lightest first.

    Args:
        node: What is left on the node.
        shape: What the pod asks for.
        fit: What that means on the node.
        choose: Finds a place for a pod that does not mind others.
        waived: Positions of its terms that it need not keep, as the first of its kind.

    """
    affinity = shape.in_node_affinity
    if affinity is None:
        return choose(node, shape, fit)
    best: PricedChoice | None = None
    for bars in _strictest_first(node, affinity, waived):
        found = choose(_without(node, bars), shape, fit)
        if found is None:
            continue
        lost = _lost(node, affinity, found.choice)
        offer = PricedChoice(found.price.but({AFFINITY: lost}), found.choice)
        if best is None or offer.price < best.price:
            best = offer
        if not lost:
            break
    return best


def _strictest_first(
    node: NodeState, affinity: InNodeAffinityOfShape, waived: Collection[int]
) -> Iterator[Bars]:
    """Yield what keeps the pod off places: with all wishes kept, then with fewer."""
    required = [term for i, term in enumerate(affinity.terms) if term.required and i not in waived]
    wishes = [term for term in affinity.terms if not (term.required or term.apart)]
    wishes.sort(key=lambda term: -term.weight)
    crowds = sorted({0, *(_pairs(affinity, *place) for place in _guests_by_place(node))})
    for kept in range(len(wishes), -1, -1):
        for crowd in (*crowds[:MOST_CROWDS], *crowds[MOST_CROWDS:][-1:]):
            yield _bars(affinity, [*required, *wishes[:kept]], crowd)


def _guests_by_place(node: NodeState) -> Iterator[tuple[InNodeAffinityLevel, _Guests]]:
    """Yield (level, guests) for each cell and each core class."""
    yield from ((InNodeAffinityLevel.NUMA, cell.guests) for cell in node.cells)
    yield from ((InNodeAffinityLevel.CORE, c.guests) for c in node.cores)


def _pairs(affinity: InNodeAffinityOfShape, level: InNodeAffinityLevel, guests: _Guests) -> int:
    """Return the weight of the wishes to be apart that are lost if the pod joins these guests."""
    return sum(affinity.pairs_with(side, level) for side, _ in guests)


def _bars(
    affinity: InNodeAffinityOfShape, terms: Sequence[NumaOrCoreAffinityTerm], crowd: int
) -> Bars:
    def bars(level: InNodeAffinityLevel, guests: _Guests) -> bool:
        sides = affinity_sides_of_guests(guests)
        return (
            not affinity.off_at(level).isdisjoint(sides)
            or _pairs(affinity, level, guests) > crowd
            or any(
                term.level is level and term.apart is not sides.isdisjoint(term.matches)
                for term in terms
            )
        )

    return bars


def _without(node: NodeState, bars: Bars) -> NodeState:
    """Return the node without the cores that the pod keeps off, or whose cell it keeps off."""
    cells = [
        bars(InNodeAffinityLevel.NUMA, cell.guests if cell.real else NOBODY) for cell in node.cells
    ]
    return replace(
        node,
        cores=tuple(
            c.hidden if cells[c.cell] or bars(InNodeAffinityLevel.CORE, c.guests) else c
            for c in node.cores
        ),
    )


def _lost(node: NodeState, affinity: InNodeAffinityOfShape, choice: Choice) -> int:
    """Return what the place loses in tier affinity: wishes for company, and pairs too near."""
    lost = 0
    for level in (InNodeAffinityLevel.NUMA, InNodeAffinityLevel.CORE):
        met = list(_met(node, choice, level))
        lost += _pairs(affinity, level, NOBODY.union(*met))
        for term in affinity.terms:
            if term.level is level and not (term.required or term.apart):
                alone = any(
                    term.matches.isdisjoint(affinity_sides_of_guests(there)) for there in met
                )
                lost += term.weight * alone
    return lost


def _met(node: NodeState, choice: Choice, level: InNodeAffinityLevel) -> Iterator[_Guests]:
    """Yield the guests of each place of a level where the pod takes CPUs."""
    for c, take in zip(node.cores, choice.cores, strict=True):
        if take.whole or take.threads:
            yield c.guests if level is InNodeAffinityLevel.CORE else node.cells[c.cell].guests


def pod_as_affinity_guest(node: NodeState, shape: Shape) -> Guest | None:
    """Return the guest that a pod of the shape is once it is there, or None if it is none."""
    affinity = shape.in_node_affinity
    if affinity is None:
        return None
    if not affinity.counts:
        return affinity.side, 0
    on_cells, on_cores = (cell.guests for cell in node.cells), (c.guests for c in node.cores)
    known = NOBODY.union(*on_cells, *on_cores)
    return affinity.side, sum(side == affinity.side for side, _ in known)


def core_class_with_guest(c: CoreClass, shape: Shape, guest: Guest | None) -> CoreClass:
    """Return the class once a pod of the shape has CPUs of it.

    Guests are noted only in a class of one core: on others no two new pods can meet.
    """
    if shape.in_node_affinity is None or guest is None or c.free == 1:
        return c
    if InNodeAffinityLevel.CORE not in shape.in_node_affinity.levels:
        return c
    return c._replace(guests=c.guests | {guest})


def cells_with_guest(
    node: NodeState,
    cells: tuple[Cell, ...],
    shape: Shape,
    choice: Choice,
    guest: Guest | None,
) -> tuple[Cell, ...]:
    """Return the cells with their guests once a pod of the shape has the place."""
    if (
        shape.in_node_affinity is None
        or guest is None
        or InNodeAffinityLevel.NUMA not in shape.in_node_affinity.levels
    ):
        return cells
    used = cells_of_cpus(node, choice.cores)
    return tuple(
        cell._replace(guests=cell.guests | {guest}) if i in used else cell
        for i, cell in enumerate(cells)
    )


class InNodeAffinityFirstPods:
    """The pods that may be, or are, the first of their kind; only terms inside nodes count."""

    def __init__(self, problem: Problem) -> None:
        """Look up the terms that mean pods of their own shape."""
        self._problem = problem
        self._terms = [
            (number, position, shape.in_node_affinity.terms[position])
            for number, shape in enumerate(problem.shapes)
            if shape.in_node_affinity is not None
            for position in shape.in_node_affinity.beginning
        ]

    def waived(self, shape: int, placed: NDArray[np.int64]) -> frozenset[int]:
        """Return the positions of the terms that a pod of the shape need not keep now.

        Args:
            shape: Index of the shape.
            placed: How many pods of each shape are placed, node by node.

        """
        return frozenset(
            position
            for number, position, term in self._terms
            if number == shape and not self._meant(term, placed)
        )

    def to_cover(
        self, shape: int, placed: NDArray[np.int64], choices: Mapping[int, Choice]
    ) -> tuple[int, AffinityPlaces] | None:
        """Return the node, and the places there, where a pod of the shape has to be.

        The answer is None if no first pod waits for its company.
        """
        for number, _, term in self._terms:
            alone = shape in term.matches and self._meant(term, placed) == 1
            if alone and placed[number].sum() == 1:
                pod = next(pod for pod in choices if self._problem.pods[pod] == number)
                places = [p for p in self._places(choices[pod]) if p[0] is term.level]
                return choices[pod].node, frozenset(places)
        return None

    def covers(self, choice: Choice, node: int, places: AffinityPlaces) -> bool:
        """Return whether a pod in the place is with the first of its kind that is there."""
        state = self._problem.nodes[node]
        together = all(
            state.cells[at].real if level is InNodeAffinityLevel.NUMA else state.cores[at].free > 1
            for level, at in places
        )
        return together and choice.node == node and places <= set(self._places(choice))

    def holds(self, choices: Mapping[int, Choice]) -> bool:
        """Return whether every pod that requires others inside its node has them."""
        present: defaultdict[tuple[int, InNodeAffinityLevel, int], list[int]] = defaultdict(list)
        for pod, choice in choices.items():
            for level, at in self._places(choice):
                present[choice.node, level, at].append(self._problem.pods[pod])
        counts = Counter(self._problem.pods[pod] for pod in choices)
        return all(
            self._holds(self._problem.pods[pod], term, choice, present)
            for pod, choice in choices.items()
            for term in self._needs(self._problem.pods[pod], counts)
        )

    def _needs(self, shape: int, counts: Mapping[int, int]) -> Iterator[NumaOrCoreAffinityTerm]:
        """Yield the terms that a placed pod of the shape has to keep."""
        affinity = self._problem.shapes[shape].in_node_affinity
        for position, term in enumerate(affinity.terms if affinity else ()):
            if term.required and not term.apart:
                first = affinity is not None and position in affinity.beginning
                meant = sum(counts.get(side, 0) for side in term.matches)
                if not (first and meant == 1):
                    yield term

    def _holds(
        self,
        shape: int,
        term: NumaOrCoreAffinityTerm,
        choice: Choice,
        present: Mapping[tuple[int, InNodeAffinityLevel, int], list[int]],
    ) -> bool:
        state = self._problem.nodes[choice.node]
        for level, at in self._places(choice):
            if level is not term.level:
                continue
            on_cores = level is InNodeAffinityLevel.CORE
            there = state.cores[at].guests if on_cores else state.cells[at].guests
            if not term.matches.isdisjoint(affinity_sides_of_guests(there)):
                continue
            shared = state.cores[at].free > 1 if on_cores else state.cells[at].real
            others = [s for s in present[choice.node, level, at] if s in term.matches]
            if not shared or len(others) <= (shape in term.matches):
                return False
        return True

    def _places(self, choice: Choice) -> Iterator[tuple[InNodeAffinityLevel, int]]:
        """Yield the classes and the cells that a place has CPUs of."""
        cells = set()
        for at, take in enumerate(choice.cores):
            if take.whole or take.threads:
                yield InNodeAffinityLevel.CORE, at
                cells.add(self._problem.nodes[choice.node].cores[at].cell)
        for cell in sorted(cells):
            yield InNodeAffinityLevel.NUMA, cell

    def _meant(self, term: NumaOrCoreAffinityTerm, placed: NDArray[np.int64]) -> int:
        shapes = [side for side in term.matches if side < len(self._problem.shapes)]
        return int(placed[shapes].sum())
