"""The rules that every placement has to keep, and the breaches of a placement.

The page docs/rules.md states the same rules in words, under the same names.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from placer.judge.families import FAMILIES
from placer.judge.family import Rule
from placer.judge.scene import InstanceWithPlacement, NodesBefore, scene_for_judge
from placer_models.cluster import Instance
from placer_models.moves import with_movable_pods_as_waiting, with_unplaced_at_home
from placer_models.placement import Placement
from placer_models.typed import check_argument_types

RULES: Mapping[str, Rule] = {
    name: rule for family in FAMILIES for name, rule in family.rules.items()
}
"""Name -> rule, of all families."""


@dataclass(frozen=True, slots=True)
class Breach:
    """One rule that a placement breaks.

    Attributes:
        rule: The rule's name, as in docs/rules.md.
        subject: The pod, the node or the gang that it concerns.
        message: What is wrong and what is allowed, in one line.

    """

    rule: str
    subject: str
    message: str


@check_argument_types
def breaches(
    instance: Instance, placement: Placement, nodes_before: NodesBefore | None = None
) -> tuple[Breach, ...]:
    """Return all breaches of the placement, or none if it keeps every rule.

    Any placement may be given, even one that names things that do not exist. Only what is
    newly placed can be at fault: a node that takes nothing new is not looked at.

    Args:
        instance: The nodes, what runs there and what waits.
        placement: What is newly placed.
        nodes_before: The result of `scene.nodes_before_placement`, if already known.

    """
    last = nodes_before and nodes_before.faultless
    if last and last[0] is instance and _is_same(last[1], placement):
        return ()
    return breaches_in_scene(scene_for_judge_with_moves(instance, placement, nodes_before))


def _is_same(one: Placement, other: Placement) -> bool:
    """Return whether two placements are one object, or both place nobody."""
    return one is other or not (one.pods or other.pods)


def scene_for_judge_with_moves(
    instance: Instance, placement: Placement, nodes_before: NodesBefore | None = None
) -> InstanceWithPlacement:
    """Lay a placement over its instance, with the running pods that may move placed as well."""
    asked = with_movable_pods_as_waiting(instance, breaches_of_complete_placement, placement)
    if asked is instance:
        return scene_for_judge(instance, placement, nodes_before)
    return scene_for_judge(asked, with_unplaced_at_home(asked, placement))


def breaches_in_scene(scene: InstanceWithPlacement) -> tuple[Breach, ...]:
    """Return all breaches in a scene."""
    found = tuple(
        Breach(name, finding.subject, finding.message)
        for name, rule in RULES.items()
        for finding in rule(scene)
    )
    if not found:
        scene.nodes_before.faultless = scene.instance, scene.placement
    return found


def breaches_of_complete_placement(instance: Instance, placement: Placement) -> tuple[Breach, ...]:
    """Return the breaches of a placement in which every pod of the question has a place."""
    return breaches_in_scene(scene_for_judge(instance, placement))
