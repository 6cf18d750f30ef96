"""Dresses tiny instances with labels and pods that want others near or far (C18)."""

from dataclasses import replace
from random import Random

from features.feature import Feature, with_specs
from placer_models.affinity import EVERY_NAMESPACE, AffinityTerm
from placer_models.cluster import Instance, Node
from placer_models.pod import PodSpec
from placer_models.policy import RequiredOrPreferred
from placer_models.selectors import LabelExpression, SelectorOperator
from tiny_machines import unused_name
from worlds import tiny_instance

APPS = ("web", "db")
ZONE, RACK = "zone", "rack"
"""A label of nodes, and a level of the network."""


def with_affinity(rng: Random, instance: Instance) -> Instance:
    """Give pods labels, and let some ask for others, or for none; replicas ask alike."""
    nodes = instance.nodes
    if len(nodes) < 2 or (len(nodes) < 3 and rng.random() < 0.3):
        nodes = (*nodes, replace(rng.choice(nodes), name=unused_name(nodes)))
    return with_specs(
        replace(instance, nodes=nodes),
        lambda spec: _dressed(rng, spec),
        lambda: rng.random() < 0.5,
    )


def affinity_instance(seed: int) -> Instance:
    """Draw a tiny instance whose pods care who is beside them."""
    return with_affinity(Random(f"affinity-{seed}"), tiny_instance(seed))


def with_wide_affinity(rng: Random, instance: Instance) -> Instance:
    """Put nodes into zones, and let pods ask for others, or for none, in their zone."""
    level = rng.choice((ZONE, RACK))
    nodes = instance.nodes
    while len(nodes) < 3 and rng.random() < 0.8:
        nodes = (*nodes, replace(rng.choice(nodes), name=unused_name(nodes)))
    zoned = replace(
        instance,
        nodes=tuple(_in_zone(rng, node, level) for node in nodes),
        name=f"{instance.name}, zones",
    )
    return with_specs(
        zoned, lambda spec: _dressed_widely(rng, spec, level), lambda: rng.random() < 0.5
    )


def with_some_affinity(rng: Random, instance: Instance) -> Instance:
    """Let pods ask for others on their node, or in their zone."""
    return rng.choice((with_affinity, with_wide_affinity))(rng, instance)


def wide_instance(seed: int) -> Instance:
    """Draw a tiny instance whose pods care who is in their zone."""
    rng = Random(f"wide-{seed}")
    instance = tiny_instance(seed)
    if rng.random() < 0.4:
        instance = with_affinity(rng, instance)
    return with_wide_affinity(rng, instance)


def _in_zone(rng: Random, node: Node, level: str) -> Node:
    zone = rng.choice(("a", "a", "b", None))
    if zone is None:
        return node
    if level == ZONE:
        return replace(node, labels=tuple(sorted({**dict(node.labels), ZONE: zone}.items())))
    return replace(node, domains=tuple(sorted({**dict(node.domains), RACK: zone}.items())))


def _dressed_widely(rng: Random, spec: PodSpec, level: str) -> PodSpec:
    app = rng.choice((*APPS, *APPS, None))
    terms = {_wide_term(rng, level) for _ in range(rng.choice((0, 0, 1, 1, 1, 2)))}
    return replace(
        spec,
        labels=spec.labels or ((("app", app),) if app else ()),
        affinity=tuple(sorted({*spec.affinity, *terms}, key=in_order)),
    )


def _wide_term(rng: Random, level: str) -> AffinityTerm:
    term = replace(drawn_term(rng), topology=rng.choice((level, level, "")))
    if rng.random() < 0.3:
        operator = rng.choice(
            (SelectorOperator.IN, SelectorOperator.NOT_IN, SelectorOperator.EXISTS)
        )
        values = () if operator is SelectorOperator.EXISTS else (rng.choice(APPS),)
        term = replace(term, labels=(), expressions=(LabelExpression("app", operator, values),))
    if rng.random() < 0.3:
        some = rng.choice(((EVERY_NAMESPACE,), ("default", "team"), ("elsewhere",)))
        term = replace(term, namespaces=some)
    return term


def in_order(term: AffinityTerm) -> tuple[object, ...]:
    """Return a key that puts terms in the order in which they are written."""
    said = [str(one) for one in term.expressions]
    where = term.level, term.topology, term.namespaces
    return term.apart, not term.required, term.labels, said, where, term.weight


def _dressed(rng: Random, spec: PodSpec) -> PodSpec:
    app = rng.choice((*APPS, None))
    terms = [drawn_term(rng) for _ in range(rng.choice((0, 0, 1, 1, 1, 2)))]
    return replace(
        spec,
        labels=(("app", app),) if app else (),
        affinity=tuple(sorted(set(terms), key=in_order)),
    )


def drawn_term(rng: Random) -> AffinityTerm:
    """Draw a term for the node, or for what it is replaced by."""
    labels, apart = (("app", rng.choice(APPS)),), rng.random() < 0.5
    strength = rng.choice(tuple(RequiredOrPreferred))
    weight = rng.choice((1, 1, 3)) if strength is RequiredOrPreferred.PREFERRED else 1
    return AffinityTerm(labels, apart, strength, weight=weight)


FEATURE = Feature("affinity", with_some_affinity)
