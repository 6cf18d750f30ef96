"""Merging said slowly: every combination of one hint a resource, looked at in turn."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product

from alignment.hints import Hint, Koordinator, Kubelet, ProviderHints
from placer_models.policy import AlignmentPolicy


@dataclass(frozen=True)
class Common:
    """What one combination has in common."""

    affinity: frozenset[int]
    preferred: bool
    satisfied: bool
    score: int

    @property
    def highest_first(self) -> list[int]:
        """Of equally many NUMA nodes the peers take those that compare lower so."""
        return sorted(self.affinity, reverse=True)


def combinations(
    policy: AlignmentPolicy,
    providers: Sequence[ProviderHints | None],
    everywhere: frozenset[int],
) -> list[Common]:
    """Return every combination that leaves a NUMA node, the last resource moving fastest."""
    nowhere = Hint(None, preferred=False)  # compared by identity: it says that nothing can be had
    lists: list[Sequence[Hint]] = []
    for provider in providers:
        for hints in (provider or {"": None}).values():
            lists.append([Hint(None, preferred=True)] if hints is None else hints or [nowhere])
    if policy is AlignmentPolicy.SINGLE_NUMA_NODE:
        lists = [
            [h for h in hints if h.preferred and (h.affinity is None or len(h.affinity) == 1)]
            for hints in lists
        ]
    found = []
    for chosen in product(*lists):
        named = [hint.affinity for hint in chosen if hint.affinity is not None]
        common = everywhere.intersection(*named)
        alike = len(set(named)) <= 1
        found.append(
            Common(
                common,
                preferred=alike and all(hint.preferred for hint in chosen),
                satisfied=alike and not any(hint is nowhere for hint in chosen),
                score=sum(hint.score for hint in chosen if hint.affinity == common),
            )
        )
    return [common for common in found if common.affinity]


def aim_slowly(policy: AlignmentPolicy, providers: Sequence[ProviderHints | None]) -> int:
    """Return the NUMA nodes that the most demanding resource needs at least."""
    single = policy is AlignmentPolicy.SINGLE_NUMA_NODE
    least = [
        min((len(h.affinity) for h in hints if h.affinity is not None), default=0)
        for provider in providers
        for hints in (provider or {}).values()
        if hints
    ]
    return 1 if single else max(least, default=0)


def kubelets_choice(
    found: Iterable[Common], aim: int, everywhere: frozenset[int], peer: Kubelet
) -> tuple[frozenset[int], bool]:
    """Return the kubelet's NUMA nodes, and whether it prefers them."""
    order = sorted(everywhere)

    def far(common: Common) -> int:
        places = [order.index(numa_node) for numa_node in common.affinity]
        return sum(peer.distances[a][b] for a in places for b in places) if peer.distances else 0

    found = list(found)
    if some := [common for common in found if common.preferred]:
        width = min(len(common.affinity) for common in some)
    elif found:
        some = found
        widths = {len(common.affinity) for common in found}
        below = [width for width in widths if width <= aim]
        width = max(below) if below else min(widths)
    else:
        return everywhere, False
    some = [common for common in some if len(common.affinity) == width]
    best = min(some, key=lambda common: (far(common), common.highest_first))
    return best.affinity, best.preferred


def koordinators_choice(
    found: Iterable[Common], everywhere: frozenset[int], peer: Koordinator
) -> tuple[Common, bool]:
    """Return Koordinator's choice, and whether it prefers it."""
    found = list(found)
    some = [c for c in found if c.preferred and peer.allows(c.affinity)]
    preferred = bool(some)
    some = some or [Common(everywhere, preferred=False, satisfied=True, score=0), *found]
    width = min(len(common.affinity) for common in some)
    some = [common for common in some if len(common.affinity) == width]
    score = max(common.score for common in some)
    some = [common for common in some if common.score == score]
    lowest = min(common.highest_first for common in some)
    return next(common for common in some if common.highest_first == lowest), preferred
