"""The rule about memory on NUMA nodes."""

from collections import Counter
from collections.abc import Iterator

from placer.judge.finding import Finding
from placer.judge.scene import Scene


def memory(scene: Scene) -> Iterator[Finding]:
    """A pod's bytes sum to its request, and a NUMA node gives no more than it has."""
    for _, tenant in scene.newcomers():
        held = tenant.place.memory_bytes
        total = sum(amount for _, amount in held)
        if total != tenant.requests.memory_bytes:
            yield Finding(
                tenant.title,
                f"pod {tenant.title!r} holds {total} bytes of memory over its NUMA nodes; "
                f"its request is {tenant.requests.memory_bytes}",
            )
        for numa_node, amount in held:
            if amount < 0:
                yield Finding(
                    tenant.title,
                    f"pod {tenant.title!r} holds {amount} bytes on NUMA node {numa_node}; "
                    "an amount is 0 or more",
                )
    for site in scene.touched():
        taken: Counter[int] = Counter()
        anew: set[int] = set()
        for tenant in site.tenants:
            for numa_node, amount in tenant.place.memory_bytes:
                taken[numa_node] += amount
                if tenant.new and amount:
                    anew.add(numa_node)
        for numa_node, amount in sorted(taken.items()):
            has = site.inside.memory_bytes_in.get(numa_node, 0)
            # Running pods may overfill a NUMA node: only those who add to it are blamed.
            if amount > has and numa_node in anew:
                yield Finding(
                    site.node.name,
                    f"the pods of node {site.node.name!r} hold {amount} bytes on NUMA node "
                    f"{numa_node}; it has {has}",
                )
