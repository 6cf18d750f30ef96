"""The measure of a placement, tier by tier: the only source of truth about it."""

from collections.abc import Mapping, Sequence

from placer.judge.breaches import scene_for_judge_with_moves
from placer.judge.families import FAMILIES
from placer.judge.family import Measure
from placer.judge.scene import InstanceWithPlacement, NodesBefore
from placer_models.cluster import Instance
from placer_models.goals import (
    MEMBER_ABOVE_POINTS,
    MEMBER_OF_MINIMUM_POINTS,
    Tier,
    all_tiers_most_important_first,
    placed_tier,
)
from placer_models.optional_tiers import tiers_asked_by_instance
from placer_models.placement import Placement
from placer_models.typed import check_argument_types

Worth = tuple[tuple[Tier, int], ...]
"""A value for each tier, most important first."""

MEASURES: Mapping[Tier, Measure] = {
    tier: measured for family in FAMILIES for tier, measured in family.tiers.items()
}
"""How each tier after the first is measured."""


@check_argument_types
def measure(
    instance: Instance, placement: Placement, nodes_before: NodesBefore | None = None
) -> Worth:
    """Return the value of each tier, aligned with ``all_tiers_most_important_first`` the instance.

    The values mean something only for placements without breaches. Others get some number.

    Args:
        instance: The nodes, what runs there and what waits.
        placement: What is newly placed.
        nodes_before: The result of `scene.nodes_before_placement`, if already known.

    """
    return measure_tiers(scene_for_judge_with_moves(instance, placement, nodes_before))


def measure_tiers(scene: InstanceWithPlacement) -> Worth:
    """Return the value of each tier in a scene."""
    instance = scene.instance
    points = {placed_tier(p): points for p, points in _placed_points(scene).items()}
    tiers = all_tiers_most_important_first(
        (gang.priority for gang in instance.gangs), tiers_asked_by_instance(instance)
    )
    return tuple((t, points[t] if t in points else MEASURES[t](scene)) for t in tiers)


def are_tier_values_better(a: Sequence[tuple[Tier, int]], b: Sequence[tuple[Tier, int]]) -> bool:
    """Return whether vector a is better than b in the first tier where they differ."""
    for (tier, mine), (_, other) in zip(a, b, strict=True):
        if mine != other:
            return tier.better(mine, other)
    return False


def _placed_points(scene: InstanceWithPlacement) -> dict[int, int]:
    """Return priority -> points of the gangs that have members placed."""
    points = dict.fromkeys((gang.priority for gang in scene.instance.gangs), 0)
    for gang in scene.instance.gangs:
        if placed := len(scene.members.get(gang.key, {})):
            above = max(0, placed - gang.minimum)
            points[gang.priority] += gang.weight * (
                MEMBER_OF_MINIMUM_POINTS * gang.minimum + MEMBER_ABOVE_POINTS * above
            )
    return points
