"""Affinity between pods in files: what it says, and what is refused."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from instance_texts import reread
from json_schemas import faults
from placer_models.affinity import AffinityTerm, InNodeAffinityLevel
from placer_models.cluster import Instance
from placer_models.files.part import json_schema
from placer_models.instance.schema import InstanceFile
from placer_models.policy import RequiredOrPreferred
from placer_models.selectors import LabelExpression, SelectorOperator

HEAD = "apiVersion: placer/v1\nkind: Instance\nnodes: [{name: n, machine: dgx-a100}]\n"
PREFERRED = RequiredOrPreferred.PREFERRED


def pod(words: str) -> str:
    return f"{HEAD}pods: [{{name: p, {words}}}]\n"


def term(
    apart: bool = False, strength: RequiredOrPreferred = RequiredOrPreferred.REQUIRED, **labels: str
) -> AffinityTerm:
    return AffinityTerm(tuple(sorted(labels.items())), apart, strength)


@pytest.mark.parametrize(
    ("words", "terms"),
    [
        ("affinity: {required: {matchLabels: {app: db}}}", [term(app="db")]),
        (
            "affinity: {preferred: {matchLabels: {b: x, a: 1}}}",
            [term(strength=PREFERRED, a="1", b="x")],
        ),
        (
            "affinity: {preferred: [{matchLabels: {a: b}, weight: 100}, {matchLabels: {c: d}}]}",
            [replace(term(strength=PREFERRED, a="b"), weight=100), term(strength=PREFERRED, c="d")],
        ),
        (
            "antiAffinity: {required: [{matchLabels: {app: db}}, "
            "{matchLabels: {app: web}, level: node}]}",
            [term(True, app="db"), term(True, app="web")],
        ),
        (
            "qos: LSR, requests: {cpu: 1}, affinity: {required: {matchLabels: {app: db}, "
            "level: core}}, antiAffinity: {preferred: {matchLabels: {app: web}, level: numa}}",
            [
                replace(term(app="db"), level=InNodeAffinityLevel.CORE),
                replace(term(True, PREFERRED, app="web"), level=InNodeAffinityLevel.NUMA),
            ],
        ),
        (
            "antiAffinity: {preferred: {matchLabels: {app: db}}}, "
            "affinity: {preferred: {matchLabels: {app: a}}, required: {matchLabels: {app: b}}}",
            [term(app="b"), term(strength=PREFERRED, app="a"), term(True, PREFERRED, app="db")],
        ),
        (
            "antiAffinity: {required: {matchLabels: {}, topologyKey: zone, namespaces: '*'}}",
            [replace(term(True), topology="zone", namespaces=("*",))],
        ),
        (
            "affinity: {required: {matchExpressions: [{key: app, operator: NotIn, values: [b, a]}, "
            "{key: x, operator: Exists}], topologyKey: kubernetes.io/hostname}}",
            [
                replace(
                    term(),
                    expressions=(
                        LabelExpression("app", SelectorOperator.NOT_IN, ("a", "b")),
                        LabelExpression("x", SelectorOperator.EXISTS),
                    ),
                )
            ],
        ),
    ],
)
def test_a_pod_asks_for_others(
    words: str, terms: list[AffinityTerm], read: Callable[..., Instance]
) -> None:
    """
    One term or a list, and what is written is read back.
    """
    found = read(pod(f"labels: {{app: web}}, {words}"))

    assert list(found.gangs[0].pods[0].spec.affinity) == terms
    assert found.gangs[0].pods[0].spec.labels == (("app", "web"),)
    assert reread(found) == found


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("affinity: {}", "expected terms, such as 'required: {matchLabels: {app: web}}'"),
        ("affinity: {matchLabels: {app: db}}", "pods[0].affinity.matchLabels: is not a field"),
        (
            "affinity: {required: {}}",
            "required: expected labels, such as 'matchLabels: {app: w",
        ),
        (
            "affinity: {required: {matchExpressions: {key: app, operator: In}}}",
            "got 0 values for In; expected one or more",
        ),
        (
            "affinity: {required: {matchExpressions: [{key: cpus, operator: Gt, values: ['3']}]}}",
            "got Gt, which is for labels of nodes; write In",
        ),
        (
            "qos: LSR, requests: {cpu: 1}, affinity: {required: {matchLabels: {app: db}, "
            "level: core, topologyKey: zone}}",
            "got topologyKey 'zone' and level core, which is inside a node; give one of them",
        ),
        (
            "affinity: {required: {matchLabels: {app: db}, level: numa}}",
            "pods[0].affinity.required.level: the qos of this pod is BE; level numa needs CPUs of "
            "its own: qos LSE or LSR, or level node",
        ),
        (
            "requests: {cpu: 1}, antiAffinity: {preferred: [{matchLabels: {a: b}}, "
            "{matchLabels: {app: db}, level: core}]}",
            "pods[0].antiAffinity.preferred[1].level: the qos of this pod is LS; level core needs",
        ),
        (
            "affinity: {required: {matchLabels: {app: db}, level: rack}}",
            "level: got 'rack'; expected 'node', 'numa' or 'core'",
        ),
        (
            "affinity: {preferred: {matchLabels: {app: db}, weight: 101}}",
            "affinity.preferred.weight: got '101'; expected 100 at most",
        ),
        (
            "antiAffinity: {required: {matchLabels: {app: db}, weight: 5}}",
            "antiAffinity.required.weight: is not a field",
        ),
        ("podAffinity: {}", "write 'affinity: {required: {matchLabels: ...}}'"),
    ],
)
def test_what_affinity_cannot_mean_is_refused(
    words: str, message: str, refusal: Callable[..., str]
) -> None:
    """
    Every term says which pods, and who asks for others inside a node owns CPUs there.
    """
    assert message in refusal(pod(words))


@pytest.mark.parametrize(
    ("value", "right"),
    [
        ({"affinity": {"required": {"matchLabels": {"app": "db"}}}}, True),
        ({"antiAffinity": {"preferred": [{"matchLabels": {"app": "db"}, "level": "node"}]}}, True),
        ({"affinity": {"required": {"matchLabels": {"app": "db"}, "level": "core"}}}, True),
        ({"affinity": {"required": {"matchLabels": {"app": "db"}, "level": "rack"}}}, False),
        ({"affinity": {}}, False),
        ({"affinity": {"required": {"matchLabels": {}}}}, True),
        (
            {
                "affinity": {
                    "required": {
                        "matchExpressions": [{"key": "app", "operator": "Exists"}],
                        "topologyKey": "zone",
                        "namespaces": ["a", "b"],
                    }
                }
            },
            True,
        ),
        ({"affinity": {"required": {"level": "node"}}}, False),
    ],
)
def test_editors_know_the_words_too(value: dict[str, Any], right: bool) -> None:
    """
    The JSON Schema takes and refuses the same shapes.
    """
    schema = json_schema(InstanceFile)
    defs: Any = schema["$defs"]

    assert (faults({"name": "p", **value}, defs["WaitingPodPart"], defs) == []) is right
