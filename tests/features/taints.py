"""Dresses tiny instances with taints of nodes, and pods that tolerate some of them."""

from dataclasses import replace
from random import Random

from features.feature import Feature, with_specs
from placer_models.cluster import Instance, Node
from placer_models.pod import PodSpec
from placer_models.taints import Taint, TaintEffect, Toleration, TolerationOperator
from tiny_machines import unused_name

KEYS = ("gpu", "sla")


def with_taints(rng: Random, instance: Instance) -> Instance:
    """Taint some nodes, and let pods tolerate some of it; replicas tolerate alike."""
    nodes = list(instance.nodes)
    if len(nodes) == 1 and rng.random() < 0.7:
        nodes.append(replace(nodes[0], name=unused_name(nodes)))

    def dressed(spec: PodSpec) -> PodSpec:
        some = tuple(_toleration(rng) for _ in range(rng.choice((0, 1, 1, 2))))
        return replace(spec, tolerations=some)

    tainted = replace(instance, nodes=tuple(_tainted(rng, node) for node in nodes))
    return with_specs(tainted, dressed)


def _tainted(rng: Random, node: Node) -> Node:
    effects = (*TaintEffect, TaintEffect.PREFER_NO_SCHEDULE)
    some = {
        (key, effect): Taint(key, rng.choice(("", "yes", "7", "90")), effect)
        for key in KEYS
        for effect in effects
        if rng.random() < 0.2
    }
    return replace(node, taints=tuple(some.values()))


def _toleration(rng: Random) -> Toleration:
    operator = rng.choice((*TolerationOperator, TolerationOperator.EXISTS))
    exists = operator is TolerationOperator.EXISTS
    key = rng.choice(KEYS) if rng.random() < 0.9 or not exists else ""
    equal = operator is TolerationOperator.EQUAL
    value = "" if exists else rng.choice(("", "yes") if equal else ("8", "90"))
    return Toleration(key, operator, value, rng.choice((None, None, *TaintEffect)))


FEATURE = Feature("taints", with_taints)
