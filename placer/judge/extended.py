"""The rule about extended resources."""

from collections import Counter
from collections.abc import Iterator

from placer.judge.family import JudgedFamily
from placer.judge.finding import Finding
from placer.judge.scene import Scene


def extended(scene: Scene) -> Iterator[Finding]:
    """The pods of a node ask for no more of an extended resource than the node has."""
    for site in scene.entered:
        # Running pods may ask for more than there is: only pods that add to it are blamed.
        anew = {name for tenant in site.new for name, _ in tenant.requests.extended}
        if not anew:
            continue
        has = dict(site.node.extended)
        taken: Counter[str] = Counter()
        for tenant in site.tenants:
            taken.update(dict(tenant.requests.extended))
        for name in sorted(anew):
            if taken[name] > has.get(name, 0):
                yield Finding(
                    site.node.name,
                    f"the pods of node {site.node.name!r} ask for {taken[name]} {name}; "
                    f"it has {has.get(name, 0)}",
                )


JUDGED = JudgedFamily(rules={"extended": extended})
