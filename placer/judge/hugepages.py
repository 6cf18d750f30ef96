"""Hugepages on NUMA nodes, size by size."""

from collections.abc import Iterator

from placer.judge.family import Finding, JudgedFamily
from placer.judge.memory import amounts_held
from placer.judge.scene import Scene


def hugepages(scene: Scene) -> Iterator[Finding]:
    """A pod's pages sum to its request, and a NUMA node gives no more than it has, by size."""
    return amounts_held(scene, pages=True)


JUDGED = JudgedFamily(rules={"hugepages": hugepages})
