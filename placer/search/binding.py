"""Binding resources: the fewest, each of some nodes, that give a bound by themselves.

They are found by leaving out: a resource without which the bound is the same holds nobody back.
"""

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from typing import TypeVar

from placer_models.placement import TierBottleneck

Counted = TypeVar("Counted", bound=Hashable)

OfClass = tuple[str, int]
"""A resource, and the index of the class of nodes of which it counts."""

MOST_CLASSES = 8
"""The most classes of nodes that are left out one by one; otherwise a resource counts on all."""


def minimal_set_giving_bound(
    everything: Iterable[Counted],
    groups: Iterable[Collection[Counted]],
    give_bound: Callable[[Collection[Counted]], bool | None],
) -> list[Counted]:
    """Return what gives the bound alone, and has no group that could be left out as well.

    Args:
        everything: All that counts.
        groups: What is tried to be left out, in this order.
        give_bound: Says whether the bound is the same where only these count; None: it is not
            known, for the time is over.

    Returns:
        Empty where something is not known.

    """
    kept = list(everything)
    for group in groups:
        fewer = [one for one in kept if one not in group]
        if len(fewer) < len(kept):
            same = give_bound(fewer)
            if same is None:
                return []
            if same:
                kept = fewer
    return kept


def bottlenecks(
    having: Sequence[Iterable[tuple[str, Sequence[str]]]],
    all_nodes: int,
    give_bound: Callable[[Collection[OfClass]], bool | None],
) -> tuple[TierBottleneck, ...]:
    """Return what binds among resources of classes of nodes; empty if that is not known.

    Args:
        having: Per class of nodes, each resource that counts there, and the names of the nodes
            that have some of it.
        all_nodes: How many nodes there are in all.
        give_bound: As in `minimal_set_giving_bound`.

    """
    nodes_of = {(what, c): names for c, of in enumerate(having) for what, names in of}
    resources = dict.fromkeys(what for what, _ in nodes_of)
    groups: list[list[OfClass]] = [[one for one in nodes_of if one[0] == r] for r in resources]
    if 1 < len(having) <= MOST_CLASSES:
        groups += [[one] for one in nodes_of]
    kept = minimal_set_giving_bound(nodes_of, groups, give_bound)
    return tuple(_merged(kept, nodes_of.__getitem__, all_nodes))


def _merged(
    kept: Sequence[OfClass], nodes_of: Callable[[OfClass], Sequence[str]], all_nodes: int
) -> Iterator[TierBottleneck]:
    """Yield each resource once, with all nodes of which it counts."""
    for resource in dict.fromkeys(what for what, _ in kept):
        names = sorted({name for one in kept if one[0] == resource for name in nodes_of(one)})
        yield TierBottleneck(resource, None if len(names) == all_nodes else tuple(names))
