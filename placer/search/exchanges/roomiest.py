"""The roomiest choice of lots: those that leave most of what is shortest, while they count so much.

Mixtures of resources find good choices for all numbers of points at once (`wanted`). For one number
a model in how many equal lots go finds the best of all in 10 to 50 ms. That decides where room is
short: on three kinds of nodes it leaves up to four times as much of what is shortest.
"""

import math
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from ortools.sat.python.cp_model import CpModel, LinearExpr

from placer.search.budget import SolveBudget
from placer.search.cp import optimise_expression
from placer.search.exchanges.lots import Lot
from placer.search.exchanges.sweeps import Loads
from placer.search.exchanges.wanted import LotsToLeaveOut
from placer_models.goals import ObjectiveSense

WHOLE = 1_000_000
"""How many parts the room of a sum has in the model."""

MOST_SHARE = 0.1
"""The share of the time that is left for one choice."""


class LotsToLeaveOutModel:
    """The model for some lots, and what it has found."""

    def __init__(self, lots: Sequence[Lot], mine: Sequence[int], sizes: Loads, room: Loads) -> None:
        """Write the model.

        Args:
            lots: All of them.
            mine: Indices of those of which some are left out.
            sizes: What each of these takes, sum by sum.
            room: What there is for them.

        """
        self._mine, self._sizes, self._room = mine, sizes, room
        self._found: dict[int, LotsToLeaveOut | None] = {}
        self._model = model = CpModel()
        needed = {lots[i].needs for i in mine}
        groups: defaultdict[object, list[int]] = defaultdict(list)
        for at, i in enumerate(mine):
            lot = lots[i]
            alike = lot.needs is None and i not in needed
            groups[(lot.points, sizes[at].tobytes()) if alike else i].append(at)
        self._groups = list(groups.values())
        self._kept = [model.new_int_var(0, len(group), "") for group in self._groups]
        firsts = [mine[group[0]] for group in self._groups]
        kept_of = dict(zip(firsts, self._kept, strict=True))
        for first, kept in kept_of.items():
            needs = lots[first].needs
            if needs is not None:
                model.add(kept <= kept_of.get(needs, 0))
        self._points = LinearExpr.weighted_sum(self._kept, [lots[i].points for i in firsts])
        self._slack = model.new_int_var(-WHOLE, WHOLE, "")
        for d in range(len(room)):
            scale = WHOLE / max(room[d], 1.0)
            parts = [math.ceil(sizes[group[0], d] * scale) for group in self._groups]
            taken = LinearExpr.weighted_sum(self._kept, parts)
            model.add(taken + self._slack <= int(room[d] * scale))
        self._is_short = bool((sizes.sum(axis=0) > room).any())

    def choice(self, points: int, budget: SolveBudget) -> LotsToLeaveOut | None:
        """Return which lots to leave out so that the others count exactly so much, or None."""
        if points not in self._found:
            self._found[points] = self._choice(points, budget)
        return self._found[points]

    def _choice(self, points: int, budget: SolveBudget) -> LotsToLeaveOut | None:
        if not self._is_short or budget.over:
            return None
        model = self._model.clone()
        model.add(self._points == points)
        solved = optimise_expression(
            model, self._slack, ObjectiveSense.MAXIMISE, budget, MOST_SHARE * budget.left
        )
        if solved.solution is None:
            return None
        out: list[int] = []
        for group, kept in zip(self._groups, self._kept, strict=True):
            out += group[solved.solution.value(kept) :]
        stay = np.ones(len(self._mine), dtype=np.bool_)
        stay[out] = False
        left = self._room - self._sizes[stay].sum(axis=0)
        slack = float((left / np.maximum(self._room, 1.0)).min())
        return LotsToLeaveOut(tuple(self._mine[at] for at in sorted(out)), points, slack)
