"""Dresses tiny instances with labels of nodes and pods that ask for some, or would like them."""

from dataclasses import replace
from random import Random

from features.feature import Feature, with_specs
from placer_models.cluster import Instance, Node
from placer_models.node_affinity import NAME_FIELD, NodeAffinity, NodeTerm, PreferredNodeTerm
from placer_models.pod import PodSpec
from placer_models.selectors import COMPARING, LabelExpression, SelectorOperator
from tiny_machines import unused_name

KEYS = ("disk", "rank")


def with_node_affinity(rng: Random, instance: Instance) -> Instance:
    """Label the nodes, and let pods look at labels and names; replicas look alike."""
    nodes = list(instance.nodes)
    if len(nodes) == 1 and rng.random() < 0.7:
        nodes.append(replace(nodes[0], name=unused_name(nodes)))
    nodes = [_labelled(rng, node) for node in nodes]
    names = [node.name for node in nodes]

    def dressed(spec: PodSpec) -> PodSpec:
        return replace(spec, node_affinity=drawn(rng, names) if rng.random() < 0.7 else None)

    return with_specs(replace(instance, nodes=tuple(nodes)), dressed)


def drawn(rng: Random, names: list[str]) -> NodeAffinity:
    """Draw what a pod asks, and would like, of its node."""
    required = [_term(rng, names) for _ in range(rng.choice((0, 0, 1, 2)))]
    preferred = [
        PreferredNodeTerm(_term(rng, names), rng.choice((1, 2, 50, 100)))
        for _ in range(rng.choice((0, 1, 1, 2)))
    ]
    return NodeAffinity(tuple(required), tuple(preferred))


def _labelled(rng: Random, node: Node) -> Node:
    more = {"disk": rng.choice(("ssd", "hdd")), "rank": rng.choice(("1", "2", "x", "-3"))}
    kept = {key: value for key, value in more.items() if rng.random() < 0.7}
    return replace(node, labels=tuple(sorted({**dict(node.labels), **kept}.items())))


def _term(rng: Random, names: list[str]) -> NodeTerm:
    if rng.random() < 0.15:
        named = rng.choice((SelectorOperator.IN, SelectorOperator.NOT_IN))
        return NodeTerm(fields=(LabelExpression(NAME_FIELD, named, (rng.choice(names),)),))
    return NodeTerm(tuple(_expression(rng) for _ in range(rng.choice((0, 1, 1, 1, 2)))))


def _expression(rng: Random) -> LabelExpression:
    operator, key = rng.choice(tuple(SelectorOperator)), rng.choice(KEYS)
    values: tuple[str, ...] = ()
    if operator in COMPARING:
        values = (rng.choice(("0", "1", "-3")),)
    elif operator in (SelectorOperator.IN, SelectorOperator.NOT_IN):
        some = ("hdd", "ssd") if key == "disk" else ("1", "2", "x")
        values = tuple(sorted(rng.sample(some, rng.choice((1, 1, 2)))))
    return LabelExpression(key, operator, values)


FEATURE = Feature("node_affinity", with_node_affinity)
