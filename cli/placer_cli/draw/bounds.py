"""Lines about bounds: how each is known, and what keeps more pods from having a place."""

from collections.abc import Iterable, Iterator, Sequence

from placer_cli.draw.texts import names_as_host_lists
from placer_models.cluster import Instance
from placer_models.goals import PLACED
from placer_models.message_text import count_with_noun, listed_in_sentence
from placer_models.placement import TierBottleneck, TierBoundSource, TierValue

MOST_NAMES = 40
"""Longer lists of nodes are not written."""

_WORDS = {"cpu": "CPUs", "best-effort-cpu": "best-effort CPUs", "gpu": "GPUs", "pods": "pod limits"}
"""Resources that people call otherwise."""

_BY = {
    TierBoundSource.SUMS: "by what nodes have together",
    TierBoundSource.RELAXED_MODEL: "by counting pods on equal nodes (relaxed model)",
    TierBoundSource.PATTERNS: "by what single nodes can hold (patterns)",
    TierBoundSource.NODES: "by what nodes are worth each by itself",
    TierBoundSource.MODEL: "by the model of the whole batch",
}

_NODE_BY_NODE = {
    TierBoundSource.RELAXED_MODEL: " (counted on equal nodes)",
    TierBoundSource.PATTERNS: " (what single nodes can hold)",
}
"""How a resource gives a bound that its sum over the nodes does not give."""


def priority_bound_lines(tiers: Iterable[TierValue], instance: Instance) -> Iterator[str]:
    """Yield a line for each priority of which it is known that not all pods can have a place."""
    for value in tiers:
        source = value.bound_from
        if value.tier.name.startswith(PLACED) and source in _BY and value.bound is not None:
            why = _BY[source]
            binds = [one for one in value.binds if one.nodes != ()]
            if binds:
                listed = " and the ".join(_said(binds, instance))
                why = f"by the {listed}{_NODE_BY_NODE.get(source, '')}"
            elif value.binds:
                why = "as no node can hold the others"
            yield f"{value.tier.name}: {count_with_noun(value.bound, 'point')} at most, {why}"


def _said(binds: Sequence[TierBottleneck], instance: Instance) -> Iterator[str]:
    """Yield resources and nodes, those of the same nodes together."""
    for nodes in dict.fromkeys(one.nodes for one in binds):
        named = [_WORDS.get(one.resource, one.resource) for one in binds if one.nodes == nodes]
        yield f"{listed_in_sentence(named)} of {_nodes(nodes, instance)}"


def _nodes(names: Sequence[str] | None, instance: Instance) -> str:
    """Say which nodes these are, by a label or a machine that no other node has if there is one."""
    total = len(instance.nodes)
    if names is None:
        return {1: "the node", 2: "both nodes"}.get(total, f"all {total:,} nodes")
    mine = set(names)
    inside = [node for node in instance.nodes if node.name in mine]
    outside = [node for node in instance.nodes if node.name not in mine]
    number = "the node" if len(inside) == 1 else f"the {len(inside):,} nodes"
    shared = set.intersection(*(set(node.labels) for node in inside))
    for label in sorted(shared.difference(*(node.labels for node in outside))):
        return f"{number} with {label[0]}={label[1]}"
    machines = {node.machine.name for node in inside}
    if len(machines) == 1 and machines.isdisjoint(node.machine.name for node in outside):
        return f"{number} of machine {machines.pop()}"
    folded = names_as_host_lists(names)
    which = f" ({folded})" if len(folded) <= MOST_NAMES else ""
    return f"{len(inside):,} of {total:,} nodes{which}"
