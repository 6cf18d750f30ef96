"""The measure of a placement, tier by tier: the only source of truth about it."""

from collections.abc import Callable, Mapping, Sequence

from placer.judge.affinity import wishes_not_met
from placer.judge.alignment import cells_beyond_fewest
from placer.judge.breaches import scene_with_moves
from placer.judge.cpus import cpus_against_policy
from placer.judge.device_choice import use_off_the_choice
from placer.judge.exclusivity import shared_cores, shared_numa_nodes
from placer.judge.joint import groups_without_every_type
from placer.judge.links import (
    gang_sum_shortfall,
    pod_minimum_shortfall,
    pod_sum_shortfall,
    pods_outside_partitions,
)
from placer.judge.localities import (
    all_packages_beyond_fewest,
    caches_beyond_fewest,
    numa_nodes_beyond_fewest,
    packages_beyond_fewest,
)
from placer.judge.moves import pods_moved
from placer.judge.network import gathering_short
from placer.judge.node_affinity import weights_missed
from placer.judge.node_strategy import STRATEGY_MEASURES, usable_points_left
from placer.judge.numa_strategy import against_strategies
from placer.judge.opened import nodes_opened
from placer.judge.scene import NodesBefore, Scene
from placer.judge.topology_spread import beyond_the_skew
from placer_models.cluster import Instance
from placer_models.goals import (
    AFFINITY,
    ALIGNMENT,
    BIND,
    CACHES,
    DEVICE_CHOICE,
    GANG_PAIR_SUM,
    GATHERING,
    JOINT,
    LOCALITY_NUMA_NODES,
    LOCALITY_PACKAGES,
    MEMBER_ABOVE_POINTS,
    MEMBER_OF_MINIMUM_POINTS,
    MOVES,
    NODE_PREFERENCE,
    NUMA_STRATEGY,
    OPENED,
    PACKAGES,
    PARTITIONS,
    POD_PAIR_MINIMUM,
    POD_PAIR_SUM,
    SHARED_CORES,
    SHARED_NUMA_NODES,
    TOPOLOGY_SPREAD,
    USABLE,
    Tier,
    placed_tier,
    tiers_for,
)
from placer_models.optional_tiers import optional_tiers
from placer_models.placement import Placement
from placer_models.typed import typed

Worth = tuple[tuple[Tier, int], ...]
"""A value for each tier, most important first."""

MEASURES: Mapping[Tier, Callable[[Scene], int]] = {
    AFFINITY: wishes_not_met,
    TOPOLOGY_SPREAD: beyond_the_skew,
    GATHERING: gathering_short,
    SHARED_CORES: shared_cores,
    SHARED_NUMA_NODES: shared_numa_nodes,
    OPENED: nodes_opened,
    MOVES: pods_moved,
    ALIGNMENT: cells_beyond_fewest,
    NODE_PREFERENCE: weights_missed,
    BIND: cpus_against_policy,
    JOINT: groups_without_every_type,
    PARTITIONS: pods_outside_partitions,
    PACKAGES: packages_beyond_fewest,
    CACHES: caches_beyond_fewest,
    POD_PAIR_MINIMUM: pod_minimum_shortfall,
    POD_PAIR_SUM: pod_sum_shortfall,
    GANG_PAIR_SUM: gang_sum_shortfall,
    NUMA_STRATEGY: against_strategies,
    LOCALITY_NUMA_NODES: numa_nodes_beyond_fewest,
    LOCALITY_PACKAGES: all_packages_beyond_fewest,
    DEVICE_CHOICE: use_off_the_choice,
    USABLE: usable_points_left,
    **STRATEGY_MEASURES,
}
"""How each tier after the first is measured."""


@typed
def measure(
    instance: Instance, placement: Placement, nodes_before: NodesBefore | None = None
) -> Worth:
    """Return the value of each tier, aligned with ``tiers_for`` the instance.

    The values mean something only for placements without breaches. Others get some number.

    Args:
        instance: The nodes, what runs there and what waits.
        placement: What is newly placed.
        nodes_before: The result of `scene.sites_of`, if already known.

    """
    return worth_of(scene_with_moves(instance, placement, nodes_before))


def worth_of(scene: Scene) -> Worth:
    """Return the value of each tier in a scene."""
    instance = scene.instance
    points = {placed_tier(p): points for p, points in _placed_points(scene).items()}
    tiers = tiers_for((gang.priority for gang in instance.gangs), optional_tiers(instance))
    return tuple((t, points[t] if t in points else MEASURES[t](scene)) for t in tiers)


def better(a: Sequence[tuple[Tier, int]], b: Sequence[tuple[Tier, int]]) -> bool:
    """Return whether vector a is better than b in the first tier where they differ."""
    for (tier, mine), (_, other) in zip(a, b, strict=True):
        if mine != other:
            return tier.better(mine, other)
    return False


def _placed_points(scene: Scene) -> dict[int, int]:
    """Return priority -> points of the gangs that have members placed."""
    points = dict.fromkeys((gang.priority for gang in scene.instance.gangs), 0)
    for gang in scene.instance.gangs:
        if placed := len(scene.members.get(gang.key, {})):
            above = max(0, placed - gang.minimum)
            points[gang.priority] += gang.weight * (
                MEMBER_OF_MINIMUM_POINTS * gang.minimum + MEMBER_ABOVE_POINTS * above
            )
    return points
