"""Dresses tiny instances with zones, and with pods that spread over them."""

from dataclasses import replace
from random import Random

from features.feature import Feature, with_specs
from placer_models.cluster import Instance, Node
from placer_models.network import NODE_LEVEL
from placer_models.pod import PodSpec
from placer_models.policy import RequiredOrPreferred
from placer_models.selectors import LabelExpression, SelectorOperator
from placer_models.topology_spread import SpreadConstraint
from tiny_machines import unused_name
from worlds import tiny_instance

ZONE, RACK = "zone", "rack"
APPS = ("web", "db")


def with_spread(rng: Random, instance: Instance) -> Instance:
    """Put nodes into zones and racks, and let pods spread over them; replicas alike."""
    nodes = instance.nodes
    while len(nodes) < 3 and rng.random() < 0.8:
        nodes = (*nodes, replace(rng.choice(nodes), name=unused_name(nodes)))
    zoned = replace(
        instance,
        nodes=tuple(_in_domains(rng, node) for node in nodes),
        name=f"{instance.name}, spread",
    )
    return with_specs(zoned, lambda spec: _dressed(rng, spec), lambda: rng.random() < 0.4)


def spread_instance(seed: int) -> Instance:
    """Draw a tiny instance whose pods spread over zones."""
    return with_spread(Random(f"spread-{seed}"), tiny_instance(seed))


def _in_domains(rng: Random, node: Node) -> Node:
    zone, rack = rng.choice(("a", "a", "b", "b", None)), rng.choice(("x", "y", None))
    labels, domains = dict(node.labels), dict(node.domains)
    labels |= {ZONE: zone} if zone else {}
    domains |= {RACK: rack} if rack else {}
    return replace(
        node, labels=tuple(sorted(labels.items())), domains=tuple(sorted(domains.items()))
    )


def _dressed(rng: Random, spec: PodSpec) -> PodSpec:
    app = rng.choice((*APPS, *APPS, None))
    wishes = [_constraint(rng) for _ in range(rng.choice((0, 1, 1, 1, 2)))]
    selector = dict(spec.node_selector)
    if rng.random() < 0.2:
        selector[ZONE] = rng.choice(("a", "b"))
    return replace(
        spec,
        labels=spec.labels or ((("app", app),) if app else ()),
        node_selector=tuple(sorted(selector.items())),
        spread=tuple({wish.topology: wish for wish in wishes}.values()),
    )


def _constraint(rng: Random) -> SpreadConstraint:
    strength = rng.choice(tuple(RequiredOrPreferred))
    app = rng.choice(APPS)
    by_label = rng.random() < 0.7
    return SpreadConstraint(
        rng.choice((ZONE, ZONE, RACK, NODE_LEVEL)),
        rng.choice((1, 1, 1, 2)),
        strength,
        (("app", app),) if by_label else (),
        () if by_label else (LabelExpression("app", SelectorOperator.NOT_IN, (app,)),),
        min_domains=rng.choice((1, 1, 2, 3)) if strength is RequiredOrPreferred.REQUIRED else 1,
        by_selector=rng.random() < 0.7,
        by_taints=rng.random() < 0.3,
    )


FEATURE = Feature("topology_spread", with_spread)
