"""The roomiest choice of lots, beside all choices there are."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from placer.search.budget import SolveBudget
from placer.search.exchanges.lots import Lot
from placer.search.exchanges.roomiest import LotsToLeaveOutModel
from placer.search.exchanges.sweeps import Loads
from placer.search.options import SolveOptions


def few_lots(seed: int) -> tuple[list[Lot], list[int], Loads, Loads]:
    """Return lots, indices of some of them, what these take of three sums, and what there is."""
    rng = np.random.default_rng(seed)
    lots: list[Lot] = []
    for pod in range(int(rng.integers(3, 9))):
        minima = [i for i, lot in enumerate(lots) if lot.needs is None]
        needs = int(rng.choice(minima)) if minima and rng.random() < 0.3 else None
        lots.append(Lot((pod,), 0, int(rng.integers(1, 4)), needs, needs is not None))
    mine = [i for i in range(len(lots)) if rng.random() < 0.9]
    sizes = rng.integers(0, 4, (len(mine), 3)).astype(float)
    return lots, mine, sizes, rng.integers(1, 16, 3).astype(float)


def best_slack(
    lots: list[Lot], mine: list[int], sizes: Loads, room: Loads, points: int
) -> float | None:
    """Return the most that can be left of what is shortest, by trying all choices."""
    best: float | None = None
    for kept in product((False, True), repeat=len(mine)):
        stay = [i for i, keeps in zip(mine, kept, strict=True) if keeps]
        needs = {lots[i].needs for i in stay} - {None}
        if sum(lots[i].points for i in stay) == points and needs <= set(stay):
            left = room - sizes[list(kept)].sum(axis=0)
            slack = float((left / np.maximum(room, 1.0)).min())
            best = slack if best is None else max(best, slack)
    return best


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_no_choice_that_counts_as_much_leaves_more(seed: int) -> None:
    """
    And what is left is told as it is.
    """
    lots, mine, sizes, room = few_lots(seed)
    choices = LotsToLeaveOutModel(lots, mine, sizes, room)
    budget = SolveBudget(SolveOptions(workers=1, seed=1, work_limit=100))
    short = bool((sizes.sum(axis=0) > room).any())
    for points in range(sum(lots[i].points for i in mine) + 2):
        found = choices.choice(points, budget)
        best = best_slack(lots, mine, sizes, room, points)
        if not short or best is None or best < -0.9:
            continue
        assert found is not None
        kept = [i for i in mine if i not in found.out]
        assert {lots[i].needs for i in kept} - {None} <= set(kept)
        assert found.points == points == sum(lots[i].points for i in kept)
        left = room - sizes[[mine.index(i) for i in kept]].sum(axis=0)
        assert found.slack == pytest.approx(float((left / np.maximum(room, 1.0)).min()))
        assert found.slack >= best - 1e-5


def test_a_choice_is_looked_for_once() -> None:
    lots, mine, sizes, room = few_lots(7)
    choices = LotsToLeaveOutModel(lots, mine, sizes, room)
    budget = SolveBudget(SolveOptions(workers=1, seed=1, work_limit=100))
    found = choices.choice(2, budget)
    spent = budget.spent_work

    assert found is choices.choice(2, budget)
    assert budget.spent_work == spent
