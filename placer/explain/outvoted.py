"""Winners: who has the place of a pod that is outvoted, and in which tier that is better (G7)."""

from collections.abc import Iterable, Iterator, Sequence
from time import monotonic

from placer.explain.explanation import NearMissNode, PodsPlacedInstead
from placer.explain.final_state import instance_after_answer
from placer.judge.breaches import breaches
from placer.judge.measure import measure
from placer.search.options import Engine, SolveOptions
from placer.search.solver import solve
from placer_models.cluster import Instance
from placer_models.placement import NamespacedName, Placed, Placement
from placer_models.pod import Gang

MOST_TRIED = 4
"""How many pods, or sets of pods, are tried for who would have to go."""


def pods_that_outvoted(
    instance: Instance,
    placement: Placement,
    gang: Gang,
    nearest: Sequence[NearMissNode],
    seconds: float,
) -> PodsPlacedInstead | None:
    """Return pods of the answer without which a gang could be placed, and what that would cost.

    It is tried: they are taken out, the gang is placed, and the judge measures both answers.

    Args:
        instance: The instance.
        placement: The answer.
        gang: Who is outvoted.
        nearest: Where it nearly fits, and who has what is missing there.
        seconds: How long that may take.

    Returns:
        None where no such pods were found, or where the answer is not better with them.

    """
    until_s = monotonic() + seconds
    for number, pods in enumerate(_candidates(nearest)):
        left_s = until_s - monotonic()
        if number == MOST_TRIED or left_s <= 0:
            return None
        gone = _with_their_gangs(instance, placement, pods)
        others = Placement(tuple(p for p in placement.pods if p.key not in gone))
        world = instance_after_answer(instance, others, [gang])
        found = solve(world, SolveOptions(Engine.GREEDY, time_limit_s=left_s))
        if not isinstance(found, Placed):
            continue
        instead = Placement((*others.pods, *found.placement.pods))
        if breaches(instance, instead):
            continue
        return _compared(instance, placement, instead, pods)
    return None


def _compared(
    instance: Instance, placement: Placement, instead: Placement, pods: tuple[NamespacedName, ...]
) -> PodsPlacedInstead | None:
    mine, others = measure(instance, placement), measure(instance, instead)
    for (tier, value), (_, other) in zip(mine, others, strict=True):
        if value != other:
            return PodsPlacedInstead(pods, tier.name) if tier.better(value, other) else None
    return PodsPlacedInstead(pods, None)


def _candidates(nearest: Iterable[NearMissNode]) -> Iterator[tuple[NamespacedName, ...]]:
    """Yield pods that the answer placed on the nearest nodes: one by one, then all of a node."""
    seen: set[tuple[NamespacedName, ...]] = set()
    for near in nearest:
        placed = [h.pod for lack in near.lacks for h in lack.held_by if h.placed]
        for pods in (*((pod,) for pod in placed[:2]), tuple(dict.fromkeys(placed))):
            if pods and pods not in seen:
                seen.add(pods)
                yield pods


def _with_their_gangs(
    instance: Instance, placement: Placement, pods: Sequence[NamespacedName]
) -> set[NamespacedName]:
    """Return the pods, and all members of gangs that would have too few members without them."""
    gone = set(pods)
    placed = {place.key for place in placement.pods}
    for gang in instance.gangs:
        there = {pod.key for pod in gang.pods} & placed
        if there & gone and len(there - gone) < gang.minimum:
            gone |= there
    return gone
