"""The order of moves, in which each running pod finds its place free."""

from collections import deque
from collections.abc import Iterable
from dataclasses import replace

from placer.counting.pools import placement_with_pool_cpus
from placer.judge.breaches import breaches
from placer_models.cluster import Instance, Node, RunningPod
from placer_models.moves import moves_in_answer
from placer_models.placement import Placement, PodPlacement
from placer_models.pod import lone_gang

MET_LATER = frozenset({"affinity"})
"""Rules that pods which come later may help to keep."""


def with_moves_in_feasible_order(instance: Instance, placement: Placement) -> Placement:
    """Return the placement with the moving pods at the end, in such an order.

    A pod leaves its place before it takes the new one. Pods that wait for each other's places
    in a circle come last of all.
    """
    waiting = {move.place.key: move[:2] for move in moves_in_answer(instance, placement)}
    if len(waiting) < 2:
        return placement
    nodes = {node.name: node for node in instance.nodes}
    there: dict[str, dict[tuple[str, str], RunningPod]] = {name: {} for name in nodes}
    for running in instance.running:
        if running.placement.node in nodes:
            there[running.placement.node][running.pod.key] = running
    moving = {*waiting}
    order: list[PodPlacement] = []
    next_to_try = deque(waiting)
    while next_to_try:
        key = next_to_try.popleft()
        if key not in waiting:
            continue
        home, to = waiting[key]
        running = there[home.node][key]
        others = [other for other in there[to.node].values() if other is not running]
        if _is_free(nodes[to.node], others, running, to):
            del waiting[key], there[home.node][key]
            there[to.node][key] = replace(running, placement=to)
            order.append(to)
            next_to_try += [other for other, (_, at) in waiting.items() if at.node == home.node]
    stuck = [to for _, to in waiting.values()]
    rest = [place for place in placement.pods if place.key not in moving]
    return Placement((*rest, *order, *stuck))


def _is_free(
    node: Node, others: Iterable[RunningPod], running: RunningPod, to: PodPlacement
) -> bool:
    """Return whether the pod could come there now."""
    now = Instance((node,), (lone_gang(running.pod),), running=tuple(others))
    found = breaches(now, placement_with_pool_cpus(now, Placement((replace(to, gang=None),))))
    return all(breach.rule in MET_LATER for breach in found)
