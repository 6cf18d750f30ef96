"""The rule about hugepages on NUMA nodes."""

from collections import Counter
from collections.abc import Iterator

from placer.judge.finding import Finding
from placer.judge.scene import Scene, Tenant
from placer_models.quantity import format_bytes


def hugepages(scene: Scene) -> Iterator[Finding]:
    """A pod's pages sum to its request, size by size; a NUMA node gives what it has."""
    for _, tenant in scene.newcomers():
        yield from _sums(tenant)
    for site in scene.touched():
        taken: Counter[tuple[int, int]] = Counter()
        anew: set[tuple[int, int]] = set()
        for tenant in site.tenants:
            for numa_node, page_bytes, pages in tenant.place.hugepages:
                taken[numa_node, page_bytes] += pages
                if tenant.new and pages:
                    anew.add((numa_node, page_bytes))
        for (numa_node, page_bytes), pages in sorted(taken.items()):
            has = site.inside.pages_in.get((numa_node, page_bytes), 0)
            # Running pods may overfill a NUMA node: only those who add to it are blamed.
            if pages > has and (numa_node, page_bytes) in anew:
                yield Finding(
                    site.node.name,
                    f"the pods of node {site.node.name!r} hold {pages} hugepages of "
                    f"{format_bytes(page_bytes)} on NUMA node {numa_node}; it has {has}",
                )


def _sums(tenant: Tenant) -> Iterator[Finding]:
    held: Counter[int] = Counter()
    for numa_node, page_bytes, pages in tenant.place.hugepages:
        held[page_bytes] += pages
        if pages < 0:
            yield Finding(
                tenant.title,
                f"pod {tenant.title!r} holds {pages} hugepages of {format_bytes(page_bytes)} on "
                f"NUMA node {numa_node}; an amount is 0 or more",
            )
    wanted = {asked.page_bytes: asked.count for asked in tenant.requests.hugepages}
    for page_bytes in sorted(held.keys() | wanted.keys()):
        if held[page_bytes] != wanted.get(page_bytes, 0):
            yield Finding(
                tenant.title,
                f"pod {tenant.title!r} holds {held[page_bytes]} hugepages of "
                f"{format_bytes(page_bytes)} over its NUMA nodes; its request is "
                f"{wanted.get(page_bytes, 0)}",
            )
