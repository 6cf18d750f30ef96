"""What labels, taints and terms mean, told a second time from docs/rules (C18)."""

from collections.abc import Iterable, Mapping
from random import Random
from typing import cast

import pytest

from judge.hand import MACHINE
from placer.judge.open_nodes import admits_new_pods, open_nodes_key_of_spec
from placer_models.affinity import (
    EVERY_NAMESPACE,
    SYSTEM_NAMESPACE,
    AffinityTerm,
    InNodeAffinityLevel,
)
from placer_models.cluster import Node
from placer_models.network import GangNetworkLevelRule, GangNetworkLevelRuleKind
from placer_models.node_affinity import NAME_FIELD, NodeAffinity, NodeTerm, PreferredNodeTerm
from placer_models.node_rules import missed_preference_weight_on_node, node_rules_allow
from placer_models.pod import PodSpec
from placer_models.policy import RequiredOrPreferred
from placer_models.selectors import LabelExpression, SelectorOperator
from placer_models.taints import Taint, TaintEffect, Toleration, TolerationOperator
from placer_models.topology_spread import SpreadConstraint
from second_tellings.drawing import drawn_labels, nodes_and_specs

OPERATOR = SelectorOperator
LARGEST, SMALLEST = 2**63 - 1, -(2**63)
VALUES = (
    "",
    "a",
    "b",
    "0",
    "7",
    "-7",
    "+7",
    "007",
    "8",
    f"{LARGEST}",
    f"{LARGEST + 1}",
    "7.0",
    "٧",
)


def number(text: str) -> int | None:
    """Return a label's value as a number of 64 bits; a sign and leading zeros may be there."""
    try:
        value = int(text) if text.isascii() and text.strip("+-").isdigit() else None
    except ValueError:
        return None
    return value if value is not None and SMALLEST <= value <= LARGEST else None


def meets(labels: Mapping[str, str], asked: LabelExpression) -> bool:
    """Return whether labels meet an expression (docs/rules/affinity.md, node-affinity.md)."""
    there, value = asked.key in labels, labels.get(asked.key, "")
    if asked.operator is OPERATOR.EXISTS:
        return there
    if asked.operator is OPERATOR.DOES_NOT_EXIST:
        return not there
    if asked.operator is OPERATOR.IN:
        return there and value in asked.values
    if asked.operator is OPERATOR.NOT_IN:
        return not (there and value in asked.values)
    (limit,) = map(int, asked.values)
    mine = number(value) if there else None
    if mine is None:
        return False
    return mine > limit if asked.operator is OPERATOR.GT else mine < limit


def meets_term(node: Node, term: NodeTerm) -> bool:
    """Return whether a node meets all that a term asks; one that asks for nothing none meets."""
    asked = [*((dict(node.labels), one) for one in term.expressions)]
    asked += [({NAME_FIELD: node.name}, one) for one in term.fields]
    return len(asked) > 0 and all(meets(labels, one) for labels, one in asked)


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Return whether a toleration is for a taint (docs/rules/taints.md)."""
    key_is_right = toleration.key in ("", taint.key)
    effect_is_right = toleration.effect is None or toleration.effect is taint.effect
    match toleration.operator.value:
        case "Exists":
            value_is_right = True
        case "Equal":
            value_is_right = toleration.value == taint.value
        case sign:
            mine, its = (
                int(text) if number(text) is not None and str(int(text)) == text else None
                for text in (toleration.value, taint.value)
            )
            known = mine is not None and its is not None
            value_is_right = known and (its < mine if sign == "Lt" else its > mine)
    return key_is_right and effect_is_right and value_is_right


def kept_off_by(node: Node, tolerations: Iterable[Toleration]) -> list[Taint]:
    """Return the taints of a node that none of the tolerations is for."""
    return [t for t in node.taints if not any(tolerates(one, t) for one in tolerations)]


def drawn_expression(rng: Random) -> LabelExpression:
    """Draw an expression about one of the keys that labels may have."""
    operator = rng.choice(tuple(OPERATOR))
    if operator in (OPERATOR.GT, OPERATOR.LT):
        return LabelExpression(rng.choice("kl"), operator, (rng.choice(("7", "-7", "0", "007")),))
    some = tuple(sorted(rng.sample(VALUES, 2)))
    wants = operator in (OPERATOR.IN, OPERATOR.NOT_IN)
    return LabelExpression(rng.choice("kl"), operator, some if wants else ())


@pytest.mark.parametrize("seed", range(50))
def test_terms_mean_the_labels_that_they_say(seed: int) -> None:
    """
    Of nodes, and of pods that count for affinities and spreads.
    """
    rng = Random(seed)
    for _ in range(40):
        labels = drawn_labels(rng, "kl", VALUES)
        node = Node("n", MACHINE, labels=labels)
        some = tuple(drawn_expression(rng) for _ in range(rng.randrange(3)))
        wanted = drawn_labels(rng, "kl", VALUES[:3]) if rng.random() < 0.5 else ()
        names = tuple(
            LabelExpression(NAME_FIELD, operator, (rng.choice("nm"),))
            for operator in (OPERATOR.IN, OPERATOR.NOT_IN)
            if rng.random() < 0.3
        )
        has = dict(labels)
        fits = all(meets(has, one) for one in some)
        agrees = fits and all(has.get(key) == value for key, value in wanted)
        inside = rng.choice(tuple(InNodeAffinityLevel))
        owns = rng.random() < 0.5
        pair = AffinityTerm(wanted, level=inside, expressions=some)
        counted = SpreadConstraint("zone", labels=wanted, expressions=some)

        assert NodeTerm(some, names).met_by("n", labels) is meets_term(node, NodeTerm(some, names))
        assert counted.means(labels) is agrees
        assert pair.means(labels, owns_cpus=owns) is (
            agrees and (owns or inside is InNodeAffinityLevel.NODE)
        )


@pytest.mark.parametrize(
    ("named", "own", "other", "looked_at"),
    [
        ((), "a", "a", True),
        ((), "a", "b", False),
        (("b",), "a", "b", True),
        (("b",), "a", "a", False),
        (("b", "c"), "a", "c", True),
        ((EVERY_NAMESPACE,), "a", "z", True),
        ((EVERY_NAMESPACE,), "a", SYSTEM_NAMESPACE, False),
    ],
)
def test_a_term_looks_into_its_namespaces(
    named: tuple[str, ...], own: str, other: str, looked_at: bool
) -> None:
    """
    The pod's own, or those that it names instead, or all.
    """
    assert AffinityTerm((), namespaces=named).looks_into(other, own) is looked_at


@pytest.mark.parametrize("effect", TaintEffect)
@pytest.mark.parametrize("operator", TolerationOperator)
def test_tolerations_are_for_the_taints_that_they_say(
    operator: TolerationOperator, effect: TaintEffect
) -> None:
    """
    By key, effect and value; comparing ones want whole numbers without leading zeros.
    """
    exists = operator is TolerationOperator.EXISTS
    compares = operator in (TolerationOperator.LT, TolerationOperator.GT)
    for key in ("k", "", "l") if exists else ("k", "l"):
        for value in ("",) if exists else ("7", "-7") if compares else VALUES:
            for wanted in (None, *TaintEffect):
                toleration = Toleration(key, operator, value, wanted)
                for has in VALUES:
                    taint = Taint("k", has, effect)
                    assert toleration.tolerates(taint) is tolerates(toleration, taint), has


def test_only_a_taint_that_prefers_lets_pods_come() -> None:
    """
    NoSchedule and NoExecute keep off who does not tolerate them.
    """
    assert [e.value for e in TaintEffect if Taint("k", "", e).keeps_off] == [
        "NoSchedule",
        "NoExecute",
    ]


def test_open_nodes_are_open_to_judge_and_solver_alike() -> None:
    """
    On the nodes and pods of tiny worlds: cordon, taints, selector, required affinity; and the
    weights of wishes that a node does not meet.
    """
    verdicts = set()
    for node, spec in nodes_and_specs():
        met = kept_off_by(node, spec.tolerations)
        wishes = spec.node_affinity or NodeAffinity()
        is_allowed = any(meets_term(node, term) for term in wishes.required)
        comes = (
            not (node.cordoned or node.closed)
            and {taint.effect for taint in met} <= {TaintEffect.PREFER_NO_SCHEDULE}
            and set(spec.node_selector) <= set(node.labels)
            and (is_allowed or not wishes.required)
        )
        lost = 100 * sum(taint.effect is TaintEffect.PREFER_NO_SCHEDULE for taint in met)
        lost += sum(w.weight for w in wishes.preferred if not meets_term(node, w.term))
        verdicts.add((comes, lost > 0))

        assert admits_new_pods(node, spec) is comes
        assert node_rules_allow(node, spec) is comes
        assert missed_preference_weight_on_node(spec, node) == lost
    assert len(verdicts) == 4


class _Recorder:
    """Stands for a spec, and notes which of its fields are looked at."""

    def __init__(self, spec: PodSpec) -> None:
        self.spec, self.seen = spec, set[str]()

    def __getattr__(self, field: str) -> object:
        self.seen.add(field)
        return getattr(self.spec, field)


def test_the_judge_tells_pods_apart_by_all_that_decides_where_they_may_come() -> None:
    """
    It keeps what it works out about open nodes for pods that agree; so a field that any rule
    about nodes looks at has to be among what they agree in.
    """
    kept_by = _Recorder(PodSpec(()))
    open_nodes_key_of_spec(cast("PodSpec", kept_by))

    for node, spec in nodes_and_specs():
        looked_at = _Recorder(spec)
        admits_new_pods(node, cast("PodSpec", looked_at))
        node_rules_allow(node, cast("PodSpec", looked_at))
        assert looked_at.seen <= kept_by.seen


def test_wishes_of_nodes_and_strengths_are_what_they_say() -> None:
    """
    A required term asks, a preferred one would like; an affinity without terms allows any node.
    """
    term = NodeTerm((LabelExpression("k", OPERATOR.EXISTS),))
    wished = NodeAffinity((), (PreferredNodeTerm(term, 3),))

    assert wished.allows("n", ())
    assert not NodeAffinity((term,)).allows("n", ())
    assert NodeAffinity((term, NodeTerm())).allows("n", (("k", ""),))
    assert (wished.weight_missed("n", ()), wished.weight_missed("n", (("k", ""),))) == (3, 0)
    assert SpreadConstraint("k").required
    assert AffinityTerm(()).required
    assert not SpreadConstraint("k", strength=RequiredOrPreferred.PREFERRED).required
    assert not AffinityTerm((), strength=RequiredOrPreferred.PREFERRED).required
    assert GangNetworkLevelRule("rack", GangNetworkLevelRuleKind.GATHER).required
    assert not GangNetworkLevelRule(
        "rack", GangNetworkLevelRuleKind.GATHER, RequiredOrPreferred.PREFERRED
    ).required
