"""Offers of lots to leave out, so that by the sums over all nodes the others have room.

Which lots are large depends on what is short. So the lots are ordered by many mixtures of
the resources. The first lots of an order are left out, as many as are needed, and the order
that leaves the most of what is short counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from placer.search.exchanges.lots import Lot
from placer.search.exchanges.sweeps import Loads

MIXTURES = 100
MOST_NUMBERS = 1_000_000
"""The most mixtures x lots x resources that are looked at."""

NOISE = 0.5
"""The share by which a lot may be taken for larger or smaller in every other mixture."""


@dataclass(frozen=True, slots=True)
class LotsToLeaveOut:
    """A choice of lots that are left out.

    Attributes:
        out: Their indices.
        points: What the others are worth.
        slack: The share of the shortest resource that the others leave.

    """

    out: tuple[int, ...]
    points: int
    slack: float


def options_of_lots_to_leave_out(
    lots: Sequence[Lot],
    mine: Sequence[int],
    sizes: Loads,
    room: Loads,
    rng: np.random.Generator,
) -> list[LotsToLeaveOut]:
    """Return, for each number of points to keep, which lots to leave out; most points first.

    Args:
        lots: All of them.
        mine: Indices of those of which some are left out.
        sizes: What each of these takes, resource by resource.
        room: What there is for them, over all nodes.
        rng: Draws the mixtures.

    """
    # Sums in which all have room decide nothing.
    short = np.flatnonzero(sizes.sum(axis=0) > room)
    mixed = short if len(short) else np.arange(len(room))
    count, resources = len(sizes), len(mixed)
    points = np.array([lots[i].points for i in mine], dtype=np.int64)
    at = {index: position for position, index in enumerate(mine)}
    above = [(at[needs], p) for p, i in enumerate(mine) if (needs := lots[i].needs) is not None]
    minima = np.array([lots[i].needs is None for i in mine])
    scale = 1 / np.maximum(room, 1.0)
    lacking = room - sizes.sum(axis=0)
    orders, kept, slacks = [], [], []
    for number in range(min(MIXTURES, 1 + MOST_NUMBERS // (count * resources))):
        plain = number < resources
        mixture = np.eye(resources)[number] if plain else rng.dirichlet(np.ones(resources))
        keys = sizes[:, mixed] @ (mixture * scale[mixed]) / points
        if number % 2:
            keys *= rng.uniform(1 - NOISE, 1 + NOISE, count)
        for minimum, member in above:
            keys[minimum] = min(keys[minimum], keys[member])
        # Members above a minimum go before it.
        order = np.lexsort((minima, -keys))
        orders.append(order)
        gone = np.vstack([np.zeros(len(room)), sizes[order].cumsum(axis=0)])
        slacks.append(((lacking + gone) * scale).min(axis=1))
        kept.append(points.sum() - np.append(0, points[order].cumsum()))
    by_points = np.concatenate(kept)
    by_slack = np.concatenate(slacks)
    best = np.lexsort((-by_slack, -by_points))
    _, first = np.unique(-by_points[best], return_index=True)
    offers = []
    for found in best[first].tolist():
        number, out = divmod(found, count + 1)
        left_out = tuple(mine[position] for position in orders[number][:out])
        offers.append(LotsToLeaveOut(left_out, int(by_points[found]), float(by_slack[found])))
    return offers
