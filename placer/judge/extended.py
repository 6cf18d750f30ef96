"""The rule about extended resources."""

from collections import Counter
from collections.abc import Iterator

from placer.judge.family import Finding, JudgedFamily
from placer.judge.scene import InstanceWithPlacement


def extended_breaches(scene: InstanceWithPlacement) -> Iterator[Finding]:
    """The pods of a node ask for no more of an extended resource than the node has."""
    for judged in scene.entered:
        # Running pods may ask for more than there is: only pods that add to it are blamed.
        anew = {name for placed in judged.new for name, _ in placed.requests.extended}
        if not anew:
            continue
        has = dict(judged.node.extended)
        taken: Counter[str] = Counter()
        for placed in judged.placed_pods:
            taken.update(dict(placed.requests.extended))
        for name in sorted(anew):
            if taken[name] > has.get(name, 0):
                yield Finding(
                    judged.node.name,
                    f"the pods of node {judged.node.name!r} ask for {taken[name]} {name}; "
                    f"it has {has.get(name, 0)}",
                )


JUDGED = JudgedFamily(rules={"extended": extended_breaches})
