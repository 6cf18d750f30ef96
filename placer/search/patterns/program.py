"""The linear program that fills nodes by patterns, in fractions: what it reaches is a bound.

Nodes that are alike have the same patterns. The program knows few of them at first, and is given
those that would improve it until there are none (column generation; Gilmore and Gomory 1961).
Pods of a kind are counted up to what the patterns have room for.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from placer.linear import LinearProgram
from placer.search.patterns.dearest import (
    NodeKnapsackProblem,
    NodePattern,
    most_valuable_node_patterns,
)

AT_ONCE = 20
"""How many patterns of nodes that are alike are given to the program at a time."""

NEARLY = 1e-6

PRICE = 10**6
"""Prices are rounded to so many parts of a point: for whole numbers the bound holds exactly."""

COLUMNS_A_SECOND = 1e5
"""How many patterns known to the program when it is solved count as a second of work."""

LOOKED_AT_A_SECOND = 2e6
"""The same for patterns that are looked at on the way to the dearest ones."""

FEW, MANY = 500, 20_000
"""How many patterns of a length are made longer: at first, and where that finds nothing."""

NOTHING = 10
"""A gain of so few parts of a point is none: it comes from rounding."""


@dataclass(frozen=True, slots=True)
class ShapePriorityGroup:
    """Pods of one shape and priority that count the same.

    Attributes:
        pods: Their indices.
        level: The index of their priority.
        points: What one of them counts.

    """

    pods: tuple[int, ...]
    shape: int
    level: int
    points: int


@dataclass(frozen=True, slots=True)
class PlacementPatternAlikeNodes:
    """Nodes that have the same room for all kinds of pods."""

    nodes: tuple[int, ...]
    room: NodeKnapsackProblem


@dataclass(frozen=True, slots=True)
class PlacementPatternUse:
    """How often a pattern is used, in fractions."""

    alike: int
    pattern: NodePattern
    times: float


class PlacementPatternMasterProgram:
    """The program, and the patterns that it knows.

    Attributes:
        kept: The points that earlier levels keep, one number each.
        work_s: Deterministic seconds of work so far.

    """

    def __init__(
        self,
        kinds: Sequence[ShapePriorityGroup],
        alike: Sequence[PlacementPatternAlikeNodes],
        level: int,
        kept: Sequence[int],
    ) -> None:
        """Write the program without patterns.

        Args:
            kinds: The pods.
            alike: The nodes.
            level: The index of the priority whose points are counted.
            kept: The points that earlier levels keep.

        """
        self.kinds, self.alike = kinds, alike
        self._level, self.kept = level, tuple(kept)
        self._program = program = LinearProgram(maximise=True, go_on=False)
        self._placed = [program.variable(most=float(len(kind.pods))) for kind in kinds]
        self._room = [program.row(most=0.0) for _ in kinds]
        self._nodes = [program.row(0.0, float(len(of.nodes))) for of in alike]
        self._levels = [program.row(least=float(points)) for points in kept]
        for kind, placed, room in zip(kinds, self._placed, self._room, strict=True):
            program.put(room, placed, 1.0)
            if kind.level == level:
                program.set_cost(placed, float(kind.points))
            else:
                program.put(self._levels[kind.level], placed, float(kind.points))
        self._columns: dict[tuple[int, NodePattern], int] = {}
        self._prices = self._node_prices = self._level_prices = np.zeros(0, dtype=np.int64)
        self._times: list[float] = []
        self.work_s = 0.0

    def with_fewer_resources(
        self, counted: Sequence[NDArray[np.bool_]]
    ) -> "PlacementPatternMasterProgram":
        """Return the program, with its patterns, for nodes of which only some resources count.

        Args:
            counted: Per nodes that are alike: resource -> whether it counts.

        """
        alike = [
            replace(of, room=replace(of.room, sizes=np.where(mine, of.room.sizes, 0.0)))
            for of, mine in zip(self.alike, counted, strict=True)
        ]
        program = PlacementPatternMasterProgram(self.kinds, alike, self._level, self.kept)
        for index, pattern in self._columns:
            program.know(index, pattern)
        return program

    def know(self, alike: int, pattern: NodePattern) -> None:
        """Give the program a pattern."""
        if (alike, pattern) in self._columns:
            return
        self._columns[alike, pattern] = column = self._program.variable()
        self._program.put(self._nodes[alike], column, 1.0)
        for kind, count in Counter(pattern).items():
            self._program.put(self._room[kind], column, -float(count))

    def solve(self) -> float | None:
        """Solve the program with the patterns that it knows; return its goal, or None."""
        goal = self._program.solve()
        self.work_s += self.size / COLUMNS_A_SECOND
        if not self._program.is_solved:
            return None
        # All of it is read now: the solver forgets it with the first new pattern.
        self._prices = self._parts_of_points(self._room)
        self._node_prices = self._parts_of_points(self._nodes)
        self._level_prices = self._parts_of_points(self._levels)
        self._times = [self._program.value(column) for column in self._columns.values()]
        return goal

    def _parts_of_points(self, rows: Sequence[int]) -> NDArray[np.int64]:
        """Return what one more of each row's limit is worth."""
        duals = np.array([self._program.dual(row) for row in rows])
        prices: NDArray[np.int64] = (PRICE * np.abs(duals)).astype(np.int64)
        return prices

    @property
    def size(self) -> int:
        """How many patterns it knows."""
        return len(self._columns)

    @property
    def known(self) -> list[tuple[int, NodePattern]]:
        """The patterns that it knows, each with the index of its nodes that are alike."""
        return list(self._columns)

    @property
    def uses(self) -> list[PlacementPatternUse]:
        """The patterns that the last solution uses."""
        return [
            PlacementPatternUse(*key, times)
            for key, times in zip(self._columns, self._times, strict=False)
            if times > NEARLY
        ]

    def learn(self, stop: Callable[[], bool]) -> int:
        """Give the program the patterns that improve it most by its last prices.

        Returns:
            What no solution with all patterns beats, by these prices.

        """
        bound = sum(
            len(kind.pods) * max(0, worth - price)
            for kind, worth, price in zip(
                self.kinds, self._worth(), self._prices.tolist(), strict=True
            )
        )
        for points, price in zip(self.kept, self._level_prices.tolist(), strict=True):
            bound -= price * points
        for index, of in enumerate(self.alike):
            least = int(self._node_prices[index]) + NOTHING
            for most in (FEW, MANY):
                dearest = most_valuable_node_patterns(
                    of.room, self._prices, least, AT_ONCE, most, stop
                )
                self.work_s += dearest.looked_at / LOOKED_AT_A_SECOND
                if dearest.found or dearest.bound <= least + 1:
                    break
            bound += len(of.nodes) * dearest.bound
            for pattern in dearest.found:
                self.know(index, pattern)
        return bound // PRICE

    def _worth(self) -> list[int]:
        """Return what a pod of each kind counts, those of earlier levels by their prices."""
        prices = self._level_prices.tolist()
        return [
            kind.points * (PRICE if kind.level == self._level else prices[kind.level])
            for kind in self.kinds
        ]

    def weigh(self, weights: Sequence[float]) -> None:
        """Count points of all levels, each with its weight, in place of keeping earlier ones."""
        for kind, placed in zip(self.kinds, self._placed, strict=True):
            self._program.set_cost(placed, weights[kind.level] * kind.points)
        for row in self._levels:
            self._program.set_row(row)

    def limit(self, pods: NDArray[np.intp], nodes: Sequence[int]) -> None:
        """Solve from now on for so many pods of each kind, and so many nodes that are alike."""
        for placed, count in zip(self._placed, pods.tolist(), strict=True):
            self._program.set_most(placed, float(count))
        for row, count in zip(self._nodes, nodes, strict=True):
            self._program.set_row(row, 0.0, float(count))


def converge_bound(
    program: PlacementPatternMasterProgram, unit: int, stop: Callable[[], bool]
) -> int | None:
    """Give the program patterns until its bound is as narrow as it gets; return the bound.

    Args:
        program: It knows patterns that keep the points of earlier levels.
        unit: All points are multiples of it.
        stop: Asked before each solve whether the time is over.

    """
    bound: int | None = None
    while not stop():
        reached = program.solve()
        if reached is None:
            break
        before = program.size
        found = program.learn(stop) // unit * unit
        bound = found if bound is None else min(bound, found)
        if program.size == before or bound <= reached + NEARLY:
            break
    return bound


def master_program_exceeds_bound(
    program: PlacementPatternMasterProgram, bound: int, unit: int, stop: Callable[[], bool]
) -> bool | None:
    """Return whether the program reaches more than the bound; None if that takes too long.

    Args:
        program: As in `converge_bound`.
        bound: What it is compared with.
        unit: As in `converge_bound`.
        stop: As in `converge_bound`.

    """
    while not stop():
        reached = program.solve()
        if reached is None:
            break
        if reached >= bound + unit - NEARLY:
            return True
        before = program.size
        if program.learn(stop) // unit * unit <= bound:
            return False
        if program.size == before:
            break
    return None
