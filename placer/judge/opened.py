"""Tier ``opened``: the offered nodes that the placement opens."""

from placer.judge.family import JudgedFamily
from placer.judge.scene import InstanceWithPlacement
from placer_models.goals import OPENED


def opened_node_count(scene: InstanceWithPlacement) -> int:
    """Count the offered nodes with new pods alone: a node where a pod runs is already open.

    So is one where a pod ran that may move, wherever that pod is now.
    """
    return sum(
        judged.node.offered
        and not judged.node.opened
        and len(judged.new) == len(judged.placed_pods)
        for judged in scene.entered
    )


JUDGED = JudgedFamily(tiers={OPENED: opened_node_count})
