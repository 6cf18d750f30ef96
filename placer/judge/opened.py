"""Tier ``opened``: nodes that are there because of the placement."""

from placer.judge.scene import Scene


def nodes_opened(scene: Scene) -> int:
    """Count the offered nodes with new pods; where one runs already, the node is open."""
    return sum(site.node.offered and len(site.new) == len(site.tenants) for site in scene.entered)
