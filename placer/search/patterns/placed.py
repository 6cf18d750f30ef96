"""Tier ``placed`` by patterns: where a node holds few pods, who goes beside whom decides.

Sums over all nodes promise too much there, for no node is ever full. Patterns know what a node
holds as a whole. The linear program over all of them gives a bound that mostly can be reached, and
diving into it finds how. At last patterns are chosen whole: among those that a program knows, by a
model in whole numbers.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import gcd

import numpy as np
from ortools.sat.python.cp_model import CpModel, LinearExpr

from placer.search.binding import OfClass, bottlenecks
from placer.search.budget import SolveBudget
from placer.search.cp import optimise_expression
from placer.search.exchanges.lot_places import ExchangeLotPlacer, PodNodes, lot_placer_of_batch
from placer.search.patterns.dearest import NodeKnapsackProblem
from placer.search.patterns.dive import PlacementPatternNodeFilling, diving_heuristic
from placer.search.patterns.program import (
    PlacementPatternAlikeNodes,
    PlacementPatternMasterProgram,
    ShapePriorityGroup,
    converge_bound,
    master_program_exceeds_bound,
)
from placer_models.goals import MEMBER_OF_MINIMUM_POINTS, ObjectiveSense
from placer_models.placement import TierBottleneck
from placer_models.problem.problem import Choices, Problem

MOST_A_NODE = 5.0
"""The most pods a node, as far as sums say, for which patterns are looked at."""

SHARE_OF_CHOICE = 0.3
"""The share of the time that is left for the choice among patterns that are known."""

SHARE_OF_BINDING = 0.1
"""The share of the time that is left for what binds a bound."""

MOST_DIVES = 40
"""The most dives for one level."""

WEIGHT = 64.0
"""How many times as much as points of the next level those of a level count in a dive."""


@dataclass(frozen=True, slots=True)
class PlacedTierChoicesAndBounds:
    """What patterns have shown.

    Attributes:
        choices: Places that are better than those at the start, or None.
        bounds: Per level, what nothing can beat that is as good in earlier ones.
        binds: Per level, what binds where patterns have narrowed the bound. Empty if that is not
            known.
        is_open: Whether other draws may find more.

    """

    choices: Choices | None
    bounds: list[int | None]
    binds: list[tuple[TierBottleneck, ...]]
    is_open: bool


def place_by_patterns(
    problem: Problem,
    start: Choices,
    values: Sequence[int],
    bounds: Sequence[int | None],
    budget: SolveBudget,
    seed: int,
) -> PlacedTierChoicesAndBounds:
    """Return places for more pods, by the levels of tier 1, and narrower bounds.

    Args:
        problem: The batch.
        start: Places that are known.
        values: What they are worth, level by level.
        bounds: Per level, what nothing can beat that is as good as the start in earlier ones.
        budget: Stops the search when it is over.
        seed: The seed of all that is drawn.

    """
    known = list(bounds)
    rng = np.random.default_rng(seed)
    levels = len(problem.priorities)
    nothing = PlacedTierChoicesAndBounds(None, known, [()] * levels, is_open=False)
    if list(values[:levels]) == known[:levels]:
        return nothing
    places = lot_placer_of_batch(problem, start, budget, rng)
    if places is None:
        return nothing
    search = _PatternSearch(places, values, known, rng)
    better = search.run(levels)
    choices = places.choices(search.held) if better else None
    return PlacedTierChoicesAndBounds(choices, search.bounds, search.binds, search.is_open)


class _PatternSearch:
    """A search that goes on level by level, as long as there are few enough patterns.

    Attributes:
        held: The nodes of pods, as far as is known best.
        binds: Per level, what binds where patterns have narrowed the bound.
        is_open: Whether some level has patterns, and what they promise was not reached.

    """

    def __init__(
        self,
        places: ExchangeLotPlacer,
        values: Sequence[int],
        bounds: list[int | None],
        rng: np.random.Generator,
    ) -> None:
        self.places = places
        self.bounds = bounds
        self.rng = rng
        self.held: PodNodes = dict(places.at_start)
        self.binds: list[tuple[TierBottleneck, ...]] = [()] * len(bounds)
        self.is_open = False
        lots = places.lots
        everyone = range(len(lots))
        of_level = [[i for i in everyone if lots[i].level == level] for level in range(len(bounds))]
        self._lots_of = of_level
        # What other pods count, which stay where they are.
        self._others = [
            value - places.points(mine, self.held)
            for value, mine in zip(values, of_level, strict=False)
        ]
        self._all_in_lots = sum(len(lot.pods) for lot in lots) == len(places.problem.pods)

    def run(self, levels: int) -> bool:
        """Improve level after level; return whether anything is better than at the start."""
        better = False
        for level in range(levels):
            bound = self.bounds[level]
            if self._points(level) != bound:
                program = self._program(level)
                if program is None:
                    break
                if self._improved(level, program):
                    better = True
        return better

    def _points(self, level: int) -> int:
        return self._others[level] + self.places.points(self._lots_of[level], self.held)

    def _program(self, level: int) -> PlacementPatternMasterProgram | None:
        """Return the program for the levels up to this one, or None if there is none."""
        places = self.places
        able = [i for before in range(level + 1) for i in places.able(before)]
        if not places.able(level) or not all(places.lots[i].alone for i in able):
            return None
        promised = [(self._points(i) if i < level else self.bounds[i]) for i in range(level + 1)]
        if None in promised:
            return None
        pods = sum(p for p in promised if p is not None) / MEMBER_OF_MINIMUM_POINTS
        if pods > MOST_A_NODE * len(places.columns.room):
            return None
        found: defaultdict[tuple[int, int, int], list[int]] = defaultdict(list)
        for i in able:
            lot = places.lots[i]
            found[places.thing_of[lot.pods[0]], lot.level, lot.points].append(lot.pods[0])
        kinds = [ShapePriorityGroup(tuple(pods), *key) for key, pods in sorted(found.items())]
        kept = [places.points(self._lots_of[i], self.held) for i in range(level)]
        program = PlacementPatternMasterProgram(kinds, self._alike(kinds), level, kept)
        self._know_held(program)
        return program

    def _alike(self, kinds: Sequence[ShapePriorityGroup]) -> list[PlacementPatternAlikeNodes]:
        """Return the nodes, those together that have the same room for the pods."""
        columns = self.places.columns
        groups: defaultdict[tuple[int, bytes], list[int]] = defaultdict(list)
        for node, kind in enumerate(columns.kinds.tolist()):
            groups[kind, columns.room[node].tobytes()].append(node)
        shapes = [kind.shape for kind in kinds]
        sizes, alike = columns.sizes[shapes], []
        for (kind, _), nodes in groups.items():
            counts = np.array([len(of.pods) for of in kinds])
            counts[columns.barred[shapes, kind]] = 0
            alike.append(
                PlacementPatternAlikeNodes(
                    tuple(nodes), NodeKnapsackProblem(columns.room[nodes[0]], sizes, counts)
                )
            )
        return alike

    def _know_held(self, program: PlacementPatternMasterProgram) -> None:
        """Give the program the patterns by which pods are held now."""
        kinds = program.kinds
        kind_of = {pod: k for k, kind in enumerate(kinds) for pod in kind.pods}
        on: defaultdict[int, Counter[int]] = defaultdict(Counter)
        for pod, node in self.held.items():
            if pod in kind_of:
                on[node][kind_of[pod]] += 1
        for index, of in enumerate(program.alike):
            for counts in {frozenset(on[node].items()) for node in of.nodes if node in on}:
                program.know(index, tuple(sorted(Counter(dict(counts)).elements())))

    def _improved(self, level: int, program: PlacementPatternMasterProgram) -> bool:
        """Bound the level, and dive until that is reached; return whether it got better."""
        places, budget = self.places, self.places.budget
        counted = 0.0

        def stop() -> bool:
            nonlocal counted
            budget.spent_work += program.work_s - counted
            counted = program.work_s
            return budget.over

        unit = gcd(*(kind.points for kind in program.kinds if kind.level == level))
        bound = converge_bound(program, unit, stop)
        # A pod that the greedy path finds no place for might have one all the same.
        sees_all = self._all_in_lots and (
            places.all_plain
            or all(len(places.able(i)) == len(self._lots_of[i]) for i in range(level + 1))
        )
        limit = self.bounds[level]
        if sees_all and bound is not None and (limit is None or bound < limit):
            self.bounds[level] = limit = bound
            self.binds[level] = self._binding(program, bound, unit)
        better = False
        if self._points(level) != limit and not budget.over:
            chosen = choose_patterns(program, level, budget, SHARE_OF_CHOICE * budget.left)
            better = self._takes_over(level, program, chosen)
        program.weigh([WEIGHT ** min(3, level - i) for i in range(level + 1)])
        for number in range(MOST_DIVES):
            if budget.over or self._points(level) == limit:
                break
            filled = diving_heuristic(program, self.rng if number else None, stop)
            if self._takes_over(level, program, filled):
                better = True
        self.is_open = self.is_open or self._points(level) != limit
        return better

    def _binding(
        self, program: PlacementPatternMasterProgram, bound: int, unit: int
    ) -> tuple[TierBottleneck, ...]:
        """Return the resources that alone give the bound; empty if that takes too long."""
        nodes, columns = self.places.problem.nodes, self.places.columns
        having = []
        for of in program.alike:
            there = (of.room.amounts > 0) & of.room.sizes.any(axis=0)
            names = [nodes[node].name for node in of.nodes]
            having.append([(columns.resources[d], names) for d in np.flatnonzero(there).tolist()])
        budget = self.places.budget
        part = budget.part(SHARE_OF_BINDING * budget.left)

        def give_bound(counted: Collection[OfClass]) -> bool | None:
            fewer = program.with_fewer_resources(
                [
                    np.array([(what, c) in counted for what in columns.resources])
                    | (of.room.amounts == 0)
                    for c, of in enumerate(program.alike)
                ]
            )

            def stop() -> bool:
                return part.left <= (0.0 if part.timed else fewer.work_s)

            higher = master_program_exceeds_bound(fewer, bound, unit, stop)
            part.spent_work += fewer.work_s
            return None if higher is None else not higher

        found = bottlenecks(having, len(nodes), give_bound)
        budget.spend(part)
        return found

    def _takes_over(
        self,
        level: int,
        program: PlacementPatternMasterProgram,
        filled: Sequence[PlacementPatternNodeFilling],
    ) -> bool:
        """Lay pods as the filling says, and those of later levels beside; keep what is better."""
        places = self.places
        found = places.laid(level, self._held_by(program, filled))
        if found is None:
            return False
        for after in range(len(self.bounds)):
            found = places.topped_up(found, places.able(after))
        worth = [places.points(mine, found) for mine in self._lots_of]
        if worth <= [places.points(mine, self.held) for mine in self._lots_of]:
            return False
        self.held = found
        places.best_laid = places.layer.choices
        return True

    def _held_by(
        self, program: PlacementPatternMasterProgram, filled: Sequence[PlacementPatternNodeFilling]
    ) -> PodNodes:
        """Return the nodes of pods by a filling."""
        nodes = [list(of.nodes) for of in program.alike]
        pods = [list(kind.pods) for kind in program.kinds]
        held: PodNodes = {}
        for filling in filled:
            node = nodes[filling.alike].pop(0)
            for kind in np.flatnonzero(filling.counts).tolist():
                for _ in range(filling.counts[kind]):
                    held[pods[kind].pop(0)] = node
        return held


def choose_patterns(
    program: PlacementPatternMasterProgram, level: int, budget: SolveBudget, share: float
) -> list[PlacementPatternNodeFilling]:
    """Return the best filling by patterns that the program knows; empty if none was found.

    Args:
        program: The program, with its patterns.
        level: The index of the priority whose points are counted.
        budget: Counts what is spent.
        share: Seconds of time or of work.

    """
    model = CpModel()
    columns = program.known
    times = [
        model.new_int_var(0, len(program.alike[alike].nodes), f"times[{number}]")
        for number, (alike, _) in enumerate(columns)
    ]
    for index, group in enumerate(program.alike):
        on = [x for x, (alike, _) in zip(times, columns, strict=True) if alike == index]
        model.add(LinearExpr.sum(on) <= len(group.nodes))
    points: list[list[LinearExpr]] = [[] for _ in range(level + 1)]
    counts = [np.bincount(pattern, minlength=len(program.kinds)) for _, pattern in columns]
    for k, kind in enumerate(program.kinds):
        placed = model.new_int_var(0, len(kind.pods), f"placed[{k}]")
        room = [int(of[k]) * x for of, x in zip(counts, times, strict=True) if of[k]]
        model.add(placed <= LinearExpr.sum(room))
        points[kind.level].append(kind.points * placed)
    for before, least in enumerate(program.kept):
        model.add(LinearExpr.sum(points[before]) >= least)
    found = optimise_expression(
        model, LinearExpr.sum(points[level]), ObjectiveSense.MAXIMISE, budget, share
    )
    if found.solution is None:
        return []
    left = np.array([len(kind.pods) for kind in program.kinds], dtype=np.intp)
    filled = []
    for x, (alike, _), of in zip(times, columns, counts, strict=True):
        for _ in range(found.solution.value(x)):
            taken = np.minimum(of, left)
            left -= taken
            filled.append(PlacementPatternNodeFilling(alike, taken))
    return filled
