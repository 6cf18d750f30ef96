"""The edges of the rule about what pods ask of labels and names of nodes."""

from dataclasses import replace

from judge.hand import ALL_CPUS, Case, node, placed, put, world
from placer_models.node_affinity import NAME_FIELD, NodeAffinity, NodeTerm
from placer_models.pod import Container, Pod, PodSpec, Resources
from placer_models.selectors import LabelExpression, SelectorOperator

LABELLED = replace(node(), name="m", labels=(("disk", "ssd"), ("rank", "3")))


def _case(what: str, *terms: NodeTerm) -> Case:
    """Return a case in which the second node meets the terms and the first does not."""
    spec = PodSpec((Container("app", Resources()),), node_affinity=NodeAffinity(terms))
    return Case(
        "node-affinity",
        what,
        world(Pod("a", "default", spec), nodes=[node(), LABELLED]),
        good=placed(put("a", ALL_CPUS, on="m")),
        bad=placed(put("a", ALL_CPUS)),
    )


def _term(key: str, operator: SelectorOperator, *values: str) -> NodeTerm:
    return NodeTerm((LabelExpression(key, operator, values),))


NODE_AFFINITY_CASES = (
    _case("In wants one of the values", _term("disk", SelectorOperator.IN, "nvme", "ssd")),
    _case("Exists wants the key", _term("rank", SelectorOperator.EXISTS)),
    _case("Gt compares numbers", _term("rank", SelectorOperator.GT, "2")),
    _case("Lt is met by no node without the key", _term("rank", SelectorOperator.LT, "4")),
    _case(
        "one of several terms will do",
        _term("disk", SelectorOperator.IN, "hdd"),
        _term("disk", SelectorOperator.IN, "ssd"),
    ),
    _case(
        "a name is asked for as a field",
        NodeTerm(fields=(LabelExpression(NAME_FIELD, SelectorOperator.IN, ("m",)),)),
    ),
)
