"""The last tier: what is left for pods still to come, or what a node strategy counts (B12, B13)."""

from collections.abc import Callable
from weakref import WeakKeyDictionary

from placer.judge.family import JudgedFamily
from placer.judge.mig import usable_mig_points
from placer.judge.scene import InstanceWithPlacement, JudgedNode, NodeCapacity, PlacedPod
from placer_models.device import GPU, is_mig_instance
from placer_models.goals import (
    GPU_POINTS,
    PACK_NODES,
    ROOM_POINTS,
    ROOM_QUARTERS,
    SWITCH_POINTS,
    USABLE,
    WHOLE_CORE_POINTS,
    WORTH,
)
from placer_models.links import total_devices_in_usable_sets
from placer_models.node_strategy import StrategyNodeLoad
from placer_models.policy import QosClass
from placer_models.resource_classes import (
    node_load_before_new_pods,
    resource_class_request_of_pod,
    resource_class_totals_of_node,
    scored_resource_classes_asked_by_any,
)


def _sum_of(worth: Callable[[StrategyNodeLoad], int]) -> Callable[[InstanceWithPlacement], int]:
    """Return the measure of a tier that is a sum over the nodes where something is new."""
    return lambda scene: sum(worth(_load(scene, judged)) for judged in scene.entered)


def _nodes_in_use(scene: InstanceWithPlacement) -> int:
    """Count the nodes with any pod."""
    before = scene.nodes_before.total(_runs_pods)
    return before + sum(
        not _runs_pods(scene.nodes_before.judged_nodes[s.node.name]) for s in scene.entered
    )


def _runs_pods(judged: JudgedNode) -> int:
    return int(bool(judged.placed_pods))


def _load(scene: InstanceWithPlacement, judged: JudgedNode) -> StrategyNodeLoad:
    """Return the load of a node where something is new."""
    totals = resource_class_totals_of_node(judged.node)
    classes = scored_resource_classes_asked_by_any(placed.pod.spec for placed in judged.new)
    running = [placed.pod.spec for placed in judged.placed_pods if not placed.new]
    load = node_load_before_new_pods(scene.instance.strategy, classes, totals, running)
    for placed in judged.new:
        load = load.with_pod(resource_class_request_of_pod(placed.pod.spec, classes, totals))
    return load


_points: WeakKeyDictionary[JudgedNode, int] = WeakKeyDictionary()
"""Judged node -> its points, kept because it never changes; most outlast many placements."""

_idle_points: WeakKeyDictionary[NodeCapacity, dict[int, int]] = WeakKeyDictionary()
"""What a node has -> what LS pods may ask for of a CPU, in milli -> its points when idle."""


def usable_tier_points(scene: InstanceWithPlacement) -> int:
    """Return the points of all that is left for later pods, over all nodes.

    That is free GPU sets, whole PCIe switches, MIG instances, whole cores and rooms.
    """
    before = scene.nodes_before
    return before.total(_points_of) + sum(
        _points_of(judged) - _points_of(before.judged_nodes[judged.node.name])
        for judged in scene.entered
    )


def _points_of(judged: JudgedNode) -> int:
    if judged.placed_pods:
        points = _points.get(judged)
        if points is None:
            points = _points[judged] = _counted(judged)
        return points
    of_capacity = _idle_points.setdefault(judged.inside, {})
    each = judged.node.milli_per_cpu
    if each not in of_capacity:
        of_capacity[each] = _counted(judged)
    return of_capacity[each]


def _counted(judged: JudgedNode) -> int:
    points = _gpu_points(judged) + usable_mig_points(judged) + _core_points(judged)
    return points + _switch_points(judged) + _room_points(judged)


def _gpu_points(judged: JudgedNode) -> int:
    board = judged.inside.gpus
    if not board.classes:
        return 0
    held = {g.minor for placed in judged.placed_pods for g in placed.place.devices if g.type == GPU}
    free = tuple([len(minors) - len(held.intersection(minors)) for minors in board.classes])
    return GPU_POINTS * total_devices_in_usable_sets(board, free)


def _switch_points(judged: JudgedNode) -> int:
    """Return the points of the switches that are whole, but for new pods with several devices."""
    if not judged.inside.switches:
        return 0
    runners, singles, several = set(), set(), set()
    for placed in judged.placed_pods:
        mine = {(grant.type, grant.minor) for grant in placed.place.devices}
        if not placed.new:
            runners |= mine
        elif _asks_for_several(placed):
            several |= mine
        else:
            singles |= mine
    return SWITCH_POINTS * sum(
        below.isdisjoint(runners) and (below.isdisjoint(singles) or not below.isdisjoint(several))
        for below in judged.inside.switches
    )


def _asks_for_several(placed: PlacedPod) -> bool:
    """Return whether the pod asks for several whole devices of one type, by their number."""
    by_strategy = dict(placed.pod.spec.strategies)
    return any(
        asked.share is None
        and asked.count > 1
        and asked.type not in by_strategy
        and not is_mig_instance(asked.type)
        for asked in placed.requests.devices
    )


def _core_points(judged: JudgedNode) -> int:
    cores = judged.inside.whole_cores
    if judged.taken:
        cores = tuple(core for core in cores if core.isdisjoint(judged.taken))
    return WHOLE_CORE_POINTS * len(cores)


def _room_points(judged: JudgedNode) -> int:
    """Return the points of free rooms: quarters, halves and the whole of the node."""
    total_milli = judged.node.milli_per_cpu * len(judged.inside.allocatable)
    if not total_milli:
        return 0
    quarters = 4 * cpu_milli_left(judged) // total_milli
    if total_bytes := sum(judged.inside.memory_bytes_in.values()):
        quarters = min(quarters, 4 * memory_bytes_left(judged) // total_bytes)
    return ROOM_POINTS * sum(size * (quarters // size) for size in ROOM_QUARTERS)


def cpu_milli_left(judged: JudgedNode) -> int:
    """Return what new LS pods may still ask for of the node's CPUs."""
    allocatable = judged.inside.allocatable
    free_cpus = len(allocatable) - len(allocatable & judged.taken)
    shared = sum(t.requests.cpu_milli for t in judged.placed_pods if t.qos is QosClass.LS)
    return max(0, judged.node.milli_per_cpu * free_cpus - shared)


def memory_bytes_left(judged: JudgedNode) -> int:
    """Return the memory that the pods of a node leave on its NUMA nodes together."""
    left = dict(judged.inside.memory_bytes_in)
    for placed in judged.placed_pods:
        for numa_node, held in placed.place.memory_bytes:
            left[numa_node] = left.get(numa_node, 0) - held
    return sum(amount for amount in left.values() if amount > 0)


JUDGED = JudgedFamily(
    tiers={USABLE: usable_tier_points}
    | {t: _nodes_in_use if t == PACK_NODES else _sum_of(worth) for t, worth in WORTH.items()}
)
