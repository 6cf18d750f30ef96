"""The edges of the rule about what pods ask of labels and names of nodes."""

from dataclasses import replace

from judge.hand import ALL_CPUS, Edge, node, put, world
from placer_models.node_affinity import NAME_FIELD, NodeAffinity, NodeTerm
from placer_models.pod import Container, Pod, PodSpec, Resources
from placer_models.selectors import LabelExpression, SelectorOperator

LABELLED = replace(node(), name="m", labels=(("disk", "ssd"), ("rank", "3")))


def _edge(*terms: NodeTerm) -> Edge:
    """Return an edge at which the second node meets the terms and the first does not."""
    spec = PodSpec((Container("app", Resources()),), node_affinity=NodeAffinity(terms))
    return Edge(
        world(Pod("a", "default", spec), nodes=[node(), LABELLED]),
        good=put("a", ALL_CPUS, on="m"),
        bad=put("a", ALL_CPUS),
    )


def _term(key: str, operator: SelectorOperator, *values: str) -> NodeTerm:
    return NodeTerm((LabelExpression(key, operator, values),))


NODE_AFFINITY_EDGES = {
    "node-affinity: In wants one of the values": _edge(
        _term("disk", SelectorOperator.IN, "nvme", "ssd")
    ),
    "node-affinity: Exists wants the key": _edge(_term("rank", SelectorOperator.EXISTS)),
    "node-affinity: Gt compares numbers": _edge(_term("rank", SelectorOperator.GT, "2")),
    "node-affinity: Lt is met by no node without the key": _edge(
        _term("rank", SelectorOperator.LT, "4")
    ),
    "node-affinity: one of several terms will do": _edge(
        _term("disk", SelectorOperator.IN, "hdd"), _term("disk", SelectorOperator.IN, "ssd")
    ),
    "node-affinity: a name is asked for as a field": _edge(
        NodeTerm(fields=(LabelExpression(NAME_FIELD, SelectorOperator.IN, ("m",)),))
    ),
}
