"""Turns through the alternatives of a pod's claims: each combination of them once."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from placer.kubernetes.pod_claims import ResolvedClaimRequest

T = TypeVar("T")

MOST_TURNS = 64
"""How many combinations are looked at; others are on nodes that a pod is kept off."""


@dataclass(slots=True)
class ClaimCombination:
    """One combination: which of several alternatives each request is taken with.

    Attributes:
        picks: The number of the alternative, request by request; those that lack are 0.
        sizes: How many each request has, of those asked so far.

    """

    picks: tuple[int, ...] = ()
    sizes: list[int] = field(default_factory=list)

    def of(self, groups: Sequence[ResolvedClaimRequest]) -> ResolvedClaimRequest:
        """Return the alternative of the next request whose turn it is."""
        place = len(self.sizes)
        self.sizes.append(len(groups))
        return groups[self.picks[place] if place < len(self.picks) else 0]


def map_over_claim_combinations(look: Callable[[ClaimCombination], T]) -> Iterator[T]:
    """Yield what is found with each combination, the best first, up to `MOST_TURNS`."""
    turn = ClaimCombination()
    for _ in range(MOST_TURNS):
        yield look(turn)
        picks = _next(turn.picks, turn.sizes)
        if picks is None:
            return
        turn = ClaimCombination(picks)


def _next(picks: Sequence[int], sizes: Sequence[int]) -> tuple[int, ...] | None:
    """Return the combination after one, or None if it is the last."""
    now = [*picks, *[0] * (len(sizes) - len(picks))]
    for place in reversed(range(len(sizes))):
        if now[place] + 1 < sizes[place]:
            return *now[:place], now[place] + 1, *[0] * (len(sizes) - place - 1)
    return None
