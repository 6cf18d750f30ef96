"""The rule about how many pods a node takes."""

from collections.abc import Iterator

from placer.judge.family import Finding, JudgedFamily
from placer.judge.scene import InstanceWithPlacement


def max_pods_breaches(scene: InstanceWithPlacement) -> Iterator[Finding]:
    """A node has no more pods than it takes, running pods included."""
    for judged in scene.entered:
        most = judged.node.max_pods
        # More pods may already run there than it takes: only new ones are blamed.
        if most is not None and judged.new and len(judged.placed_pods) > most:
            yield Finding(
                judged.node.name,
                f"node {judged.node.name!r} has {len(judged.placed_pods)} pods; it takes {most}",
            )


JUDGED = JudgedFamily(rules={"max-pods": max_pods_breaches})
