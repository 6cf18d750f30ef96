"""Hugepages on NUMA nodes, size by size."""

from collections.abc import Iterator

from placer.judge.family import Finding, JudgedFamily
from placer.judge.memory import cell_amount_breaches
from placer.judge.scene import InstanceWithPlacement


def hugepages_breaches(scene: InstanceWithPlacement) -> Iterator[Finding]:
    """A pod's pages sum to its request, and a NUMA node gives no more than it has, by size."""
    return cell_amount_breaches(scene, pages=True)


JUDGED = JudgedFamily(rules={"hugepages": hugepages_breaches})
