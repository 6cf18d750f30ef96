"""Diving for a filling by patterns: what the program uses whole is kept, the rest solved again."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from placer.search.patterns.program import (
    NEARLY,
    PlacementPatternMasterProgram,
    PlacementPatternUse,
)

MOST_KNOWN = 2_000
"""How many patterns the program may know before a dive gives it no more of them."""

NOISE = 0.5
"""The share by which the use of a pattern may be taken for less, but for the first dive."""


@dataclass(frozen=True, slots=True)
class PlacementPatternNodeFilling:
    """How many pods of each kind come to one of some nodes that are alike."""

    alike: int
    counts: NDArray[np.intp]


def diving_heuristic(
    program: PlacementPatternMasterProgram,
    rng: np.random.Generator | None,
    stop: Callable[[], bool],
) -> list[PlacementPatternNodeFilling]:
    """Return fillings of nodes; pods that are in none of them are left out.

    Where the program uses no pattern whole, one that it uses much is kept.

    Args:
        program: The program; it gets more patterns on the way.
        rng: Draws which pattern is kept; None: the one that is used most.
        stop: Asked before each solve whether the time is over.

    """
    kinds = len(program.kinds)
    left = np.array([len(kind.pods) for kind in program.kinds], dtype=np.intp)
    nodes = [len(of.nodes) for of in program.alike]
    filled: list[PlacementPatternNodeFilling] = []
    while any(nodes) and not stop():
        program.limit(left, nodes)
        reached = program.solve()
        if not reached or reached < NEARLY:
            break
        uses = program.uses
        if program.size < MOST_KNOWN:
            program.learn(stop)
        before = len(filled)
        for use in _to_keep(uses, rng):
            pattern = np.bincount(use.pattern, minlength=kinds)
            for _ in range(min(nodes[use.alike], max(1, int(use.times + NEARLY)))):
                counts = np.minimum(pattern, left)
                left -= counts
                nodes[use.alike] -= 1
                filled.append(PlacementPatternNodeFilling(use.alike, counts))
        if len(filled) == before:
            break
    return filled


def _to_keep(
    uses: list[PlacementPatternUse], rng: np.random.Generator | None
) -> list[PlacementPatternUse]:
    whole = [use for use in uses if use.times >= 1 - NEARLY]
    if whole or not uses:
        return whole
    times = np.array([use.times for use in uses])
    if rng is not None:
        times *= rng.uniform(1 - NOISE, 1, len(times))
    return [uses[int(times.argmax())]]
