"""Merging as Koordinator's scheduler does, without its combinations.

It differs from the kubelet: of what nobody prefers the narrowest mask wins, a sum of
scores decides between masks of one width, exclusivity can make a mask unpreferred, a
mask narrower than a resource asked for is no alignment under BestEffort, and it says why.

Where one mask is lower and another of its width has the higher score, the peer takes the
combination that it meets last, and it meets those of one provider in a random order.
Here the higher score wins.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from alignment.hints.model import Koordinator, Merged, ProviderHints
from alignment.hints.reasons import not_to_be_had, unaligned
from alignment.hints.wishes import (
    Wish,
    affinity_of,
    mask_of,
    on_one_numa_node,
    preferred_by_all,
    wishes_of,
)
from placer_models.policy import AlignmentPolicy

Overlap = tuple[int, bool, bool, int]
"""What the hints of a combination have in common.

The mask; whether a hint names it at all, or it is the whole node for want of one; whether
the hints name one mask and every resource can be had; and the sum of the scores of the
hints that name this very mask. A plain tuple, because there are many.
"""


def merge_as_koordinator(
    policy: AlignmentPolicy,
    provider_hints: Sequence[ProviderHints | None],
    numa_nodes: Sequence[int],
    peer: Koordinator,
) -> Merged:
    """Return the best mask that the hints have in common, and the policy's verdict."""
    everywhere = frozenset(numa_nodes)
    wishes = wishes_of(provider_hints, numa_nodes)
    best_effort = policy is AlignmentPolicy.BEST_EFFORT
    single = policy is AlignmentPolicy.SINGLE_NUMA_NODE
    if not best_effort and (reasons := not_to_be_had(provider_hints)):
        affinity = None if single else everywhere
        return Merged(affinity, preferred=False, admitted=False, reasons=reasons)
    found = _best(on_one_numa_node(wishes) if single else wishes, mask_of(numa_nodes), peer)
    if best_effort:
        return Merged(everywhere, preferred=False, admitted=True) if found.unsatisfied else found
    if not found.preferred:
        reasons = (unaligned(provider_hints, "," if single else " & "),)
        found = replace(found, admitted=False, reasons=reasons)
    if single and found.affinity == everywhere:
        return Merged(None, found.preferred, found.admitted, reasons=found.reasons)
    return found


def _best(wishes: Sequence[Wish], everywhere: int, peer: Koordinator) -> Merged:
    """Return the mask to settle on, admitted whether preferred or not."""
    overlaps: list[Overlap] = [
        (mask, True, True, score)
        for mask, score in preferred_by_all(wishes, everywhere).items()
        if peer.allows(affinity_of(mask))
    ]
    preferred = bool(overlaps)
    if not preferred:
        # Of equals the first: the peer keeps what it has, and begins with the whole node.
        whole = (everywhere, False, True, 0)
        overlaps = [whole, *_overlaps(wishes, whole)]
    mask, _, satisfied, score = min(overlaps, key=_rank)
    return Merged(
        affinity=affinity_of(mask),
        preferred=preferred,
        admitted=True,
        unsatisfied=not satisfied,
        score=score,
    )


def _rank(overlap: Overlap) -> tuple[int, int, int]:
    """Narrower, then of a higher score, then lower: the least is the best."""
    mask, _, _, score = overlap
    return mask.bit_count(), -score, mask


def _overlaps(wishes: Sequence[Wish], whole: Overlap) -> Iterable[Overlap]:
    """Return each overlap once, in the order in which the combinations first reach it."""
    reached: Iterable[Overlap] = (whole,)
    for wish in wishes:
        reached = dict.fromkeys(_met(reached, wish))
    return reached


def _met(overlaps: Iterable[Overlap], wish: Wish) -> Iterator[Overlap]:
    """Yield what each overlap has in common with each option, if it is anything."""
    for mask, named, satisfied, score in overlaps:
        for asked, _, points, to_be_had in wish:
            if asked is None:
                yield mask, named, satisfied and to_be_had, score
            elif common := mask & asked:
                if common == mask == asked or not named:
                    yield common, True, satisfied, score + points
                else:
                    kept = score if common == mask else points if common == asked else 0
                    yield common, True, False, kept
