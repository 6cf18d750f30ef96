"""The rule about how many pods a node takes."""

from collections.abc import Iterator

from placer.judge.family import JudgedFamily
from placer.judge.finding import Finding
from placer.judge.scene import Scene


def max_pods(scene: Scene) -> Iterator[Finding]:
    """A node has no more pods than it takes, running pods included."""
    for site in scene.entered:
        most = site.node.max_pods
        # More pods may already run there than it takes: only new ones are blamed.
        if most is not None and site.new and len(site.tenants) > most:
            yield Finding(
                site.node.name,
                f"node {site.node.name!r} has {len(site.tenants)} pods; it takes {most}",
            )


JUDGED = JudgedFamily(rules={"max-pods": max_pods})
