"""The first pods of their kind, where affinity inside a node means pods of one kind (C18).

Such a pod may be alone while nobody else is meant. The next one that is meant has to be
with it: it needs CPUs wherever the first has some.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from placer_models.affinity import AffinityLevel
from placer_models.node_state import sides_of
from placer_models.problem import Choice, Problem
from placer_models.tasks import BesideTerm

Places = frozenset[tuple[AffinityLevel, int]]
"""(Level, core class or cell) of a node."""


class Beginners:
    """Who may be the first of its kind, and who is; nothing but terms inside nodes."""

    def __init__(self, problem: Problem) -> None:
        """Look up the terms that mean pods of their own shape."""
        self._problem = problem
        self._terms = [
            (number, position, shape.beside.terms[position])
            for number, shape in enumerate(problem.shapes)
            if shape.beside is not None
            for position in shape.beside.beginning
        ]

    def begun(self, shape: int, placed: NDArray[np.int64]) -> frozenset[int]:
        """Return the positions of the terms that a pod of the shape need not keep now.

        Args:
            shape: Its index.
            placed: How many pods of each shape are placed, node by node.

        """
        return frozenset(
            position
            for number, position, term in self._terms
            if number == shape and not self._meant(term, placed)
        )

    def to_cover(
        self, shape: int, placed: NDArray[np.int64], choices: Mapping[int, Choice]
    ) -> tuple[int, Places] | None:
        """Return the node, and the places there, where a pod of the shape has to be.

        None: no first pod waits for its company.
        """
        for number, _, term in self._terms:
            alone = shape in term.matches and self._meant(term, placed) == 1
            if alone and placed[number].sum() == 1:
                pod = next(pod for pod in choices if self._problem.pods[pod] == number)
                places = [p for p in self._places(choices[pod]) if p[0] is term.level]
                return choices[pod].node, frozenset(places)
        return None

    def covers(self, choice: Choice, node: int, places: Places) -> bool:
        """Return whether a pod with the place is with a first one that is there."""
        state = self._problem.nodes[node]
        together = all(
            state.cells[at].real if level is AffinityLevel.NUMA else state.cores[at].free > 1
            for level, at in places
        )
        return together and choice.node == node and places <= set(self._places(choice))

    def holds(self, choices: Mapping[int, Choice]) -> bool:
        """Return whether every pod that requires others inside its node has them."""
        present: defaultdict[tuple[int, AffinityLevel, int], list[int]] = defaultdict(list)
        for pod, choice in choices.items():
            for level, at in self._places(choice):
                present[choice.node, level, at].append(self._problem.pods[pod])
        counts = Counter(self._problem.pods[pod] for pod in choices)
        return all(
            self._holds(self._problem.pods[pod], term, choice, present)
            for pod, choice in choices.items()
            for term in self._needs(self._problem.pods[pod], counts)
        )

    def _needs(self, shape: int, counts: Mapping[int, int]) -> Iterator[BesideTerm]:
        """Yield the terms that a placed pod of the shape has to keep."""
        beside = self._problem.shapes[shape].beside
        for position, term in enumerate(beside.terms if beside else ()):
            if term.required and not term.apart:
                first = beside is not None and position in beside.beginning
                meant = sum(counts.get(side, 0) for side in term.matches)
                if not (first and meant == 1):
                    yield term

    def _holds(
        self,
        shape: int,
        term: BesideTerm,
        choice: Choice,
        present: Mapping[tuple[int, AffinityLevel, int], list[int]],
    ) -> bool:
        state = self._problem.nodes[choice.node]
        for level, at in self._places(choice):
            if level is not term.level:
                continue
            on_cores = level is AffinityLevel.CORE
            there = state.cores[at].guests if on_cores else state.cells[at].guests
            if not term.matches.isdisjoint(sides_of(there)):
                continue
            shared = state.cores[at].free > 1 if on_cores else state.cells[at].real
            others = [s for s in present[choice.node, level, at] if s in term.matches]
            if not shared or len(others) <= (shape in term.matches):
                return False
        return True

    def _places(self, choice: Choice) -> Iterator[tuple[AffinityLevel, int]]:
        """Yield the classes and the cells that a place has CPUs of."""
        cells = set()
        for at, take in enumerate(choice.cores):
            if take.whole or take.threads:
                yield AffinityLevel.CORE, at
                cells.add(self._problem.nodes[choice.node].cores[at].cell)
        for cell in sorted(cells):
            yield AffinityLevel.NUMA, cell

    def _meant(self, term: BesideTerm, placed: NDArray[np.int64]) -> int:
        shapes = [side for side in term.matches if side < len(self._problem.shapes)]
        return int(placed[shapes].sum())
