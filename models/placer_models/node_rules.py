"""Rules about what a node is, whatever it has left: which pods may come to it at all.

The judge has its own version of them; everything else asks here.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from placer_models.cluster import Node
from placer_models.pod import PodSpec
from placer_models.taints import TAINT_WEIGHT, Taint, untolerated_taints_of_strength


@dataclass(frozen=True, slots=True)
class NodeEligibilityRule:
    """One rule about what a node is.

    Attributes:
        name: As in docs/rules.md.
        asked: Whether the pod or the node asks for anything by this rule.
        kept: Whether the rule is kept by a pod of the spec on the node.
        dropped: Pod and node without what they ask for by this rule.
        said: What the pod asks for, as text for people.
        word: What the node asks for, as text for people.

    """

    name: str
    asked: Callable[[PodSpec, Node], bool]
    kept: Callable[[PodSpec, Node], bool]
    dropped: Callable[[PodSpec, Node], tuple[PodSpec, Node]]
    said: Callable[[PodSpec], str] = lambda _: ""
    word: Callable[[PodSpec, Node], str] = lambda *_: ""


def _has_labels(spec: PodSpec, node: Node) -> bool:
    labels = dict(node.labels)
    return all(labels.get(key) == value for key, value in spec.node_selector)


def _selected(spec: PodSpec) -> str:
    return ",".join(f"{key}={value}" for key, value in spec.node_selector)


def _met(spec: PodSpec, node: Node) -> Iterator[Taint]:
    return untolerated_taints_of_strength(node.taints, spec.tolerations, keep_off=True)


NODE_RULES = {
    rule.name: rule
    for rule in (
        NodeEligibilityRule(
            "cordon",
            asked=lambda _, node: node.cordoned,
            kept=lambda _, node: not node.cordoned,
            dropped=lambda spec, node: (spec, replace(node, cordoned=False)),
        ),
        NodeEligibilityRule(
            "closed",
            asked=lambda _, node: node.closed,
            kept=lambda _, node: not node.closed,
            dropped=lambda spec, node: (spec, replace(node, closed=False)),
        ),
        NodeEligibilityRule(
            "taints",
            asked=lambda _, node: any(taint.keeps_off for taint in node.taints),
            kept=lambda spec, node: not any(_met(spec, node)),
            dropped=lambda spec, node: (spec, replace(node, taints=())),
            word=lambda spec, node: ", ".join(map(str, _met(spec, node))),
        ),
        NodeEligibilityRule(
            "node-selector",
            asked=lambda spec, _: bool(spec.node_selector),
            kept=_has_labels,
            dropped=lambda spec, node: (replace(spec, node_selector=()), node),
            said=lambda spec: " or ".join(dict.fromkeys(map(_selected, spec.each))),
        ),
        NodeEligibilityRule(
            "node-affinity",
            asked=lambda spec, _: bool(spec.node_affinity and spec.node_affinity.required),
            kept=lambda spec, node: (
                spec.node_affinity is None or spec.node_affinity.allows(node.name, node.labels)
            ),
            dropped=lambda spec, node: (replace(spec, node_affinity=None), node),
            said=lambda spec: f"asks {spec.node_affinity}",
        ),
    )
}
"""Name -> rule, in the order in which reasons are given."""


def node_rules_allow(node: Node, spec: PodSpec) -> bool:
    """Return whether new pods of the spec may go to the node at all."""
    return all(rule.kept(spec, node) for rule in NODE_RULES.values())


def without_node_rules(spec: PodSpec, node: Node) -> tuple[PodSpec, Node]:
    """Return pod and node without anything that these rules could ask."""
    for rule in NODE_RULES.values():
        spec, node = rule.dropped(spec, node)
    return spec, node


def missed_preference_weight_on_node(spec: PodSpec, node: Node) -> int:
    """Return the total weight of what a pod would like of its node and does not get there."""
    wished = spec.node_affinity
    taints = sum(
        1 for _ in untolerated_taints_of_strength(node.taints, spec.tolerations, keep_off=False)
    )
    return TAINT_WEIGHT * taints + (wished.weight_missed(node.name, node.labels) if wished else 0)


def label_keys(spec: PodSpec) -> Iterator[str]:
    """Yield the keys of the node labels that a pod looks at."""
    yield from (key for key, _ in spec.node_selector)
    if spec.node_affinity:
        yield from spec.node_affinity.label_keys
