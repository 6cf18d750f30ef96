"""Terms of pod affinity, read from Pod objects."""

import pytest

from kubernetes_worlds import REQUIRED, Json, pod, spreading
from placer_models.affinity import AffinityTerm
from placer_models.kubernetes.names import HOSTNAME, LABEL_OF_HOSTNAME, LABEL_OF_NODE
from placer_models.kubernetes.namespaces import OF_NAMESPACES, KubeNamespace, NamespacesOfDump
from placer_models.kubernetes.object_fields import KubeObjectIdentity, KubernetesObjectError
from placer_models.kubernetes.pod import read_kube_pod
from placer_models.kubernetes.pod_terms import (
    ORDINARY,
    PodAffinityTermContext,
    complete_spread_constraints,
    resolve_written_terms,
)
from placer_models.selectors import LabelExpression, SelectorOperator
from placer_models.topology_spread import SpreadConstraint


def terms_of(found: Json, around: PodAffinityTermContext = ORDINARY) -> tuple[AffinityTerm, ...]:
    """Return the terms of a pod of the namespace `default`, of which each can be met."""
    terms, lacks = resolve_written_terms(
        read_kube_pod(found).constraints.affinity, "default", around
    )
    assert lacks == ()
    return terms


def test_terms_of_pod_affinity_are_read() -> None:
    """
    By any topology key, expressions, namespaces, and labels of the pod's own.
    """
    zone = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "db"}}}
    odd = {
        "topologyKey": "rack",
        "labelSelector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]},
        "namespaceSelector": {},
        "matchLabelKeys": ["version", "missing"],
        "mismatchLabelKeys": ["team"],
    }
    labels = {"version": "2", "team": "t"}
    found = pod(labels=labels, affinity={"podAntiAffinity": {REQUIRED: [zone, odd]}})
    assert terms_of(found) == (
        AffinityTerm((("app", "db"),), apart=True, topology="zone"),
        AffinityTerm(
            (("version", "2"),),
            apart=True,
            topology="rack",
            expressions=(
                LabelExpression("app", SelectorOperator.EXISTS),
                LabelExpression("team", SelectorOperator.NOT_IN, ("t",)),
            ),
            namespaces=("*",),
        ),
    )
    named = {**zone, "namespaceSelector": {"matchLabels": {OF_NAMESPACES: "other"}}}
    found = pod(affinity={"podAntiAffinity": {REQUIRED: [named]}})
    (term,) = terms_of(found, PodAffinityTermContext(namespaces("other")))
    assert term.namespaces == ("other",)


def test_preferred_terms_have_their_weights() -> None:
    """
    One without is no object of Kubernetes. What is wrong is told once, with its place once.
    """
    preferred = "preferredDuringSchedulingIgnoredDuringExecution"
    zone = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "db"}}}

    def read(**said: int) -> tuple[AffinityTerm, ...]:
        wish = {"podAffinityTerm": zone, **said}
        return terms_of(pod(affinity={"podAntiAffinity": {preferred: [wish]}}))

    (term,) = read(weight=42)
    assert (term.required, term.apart, term.weight) == (False, True, 42)
    with pytest.raises(KubernetesObjectError, match=r"podAntiAffinity.*\.weight: .*1 to 100"):
        read(weight=101)
    with pytest.raises(KubernetesObjectError) as caught:
        read()
    assert caught.value.message == "is missing"
    assert str(caught.value).count(".weight: ") == 1


def test_company_is_who_all_required_affinities_mean() -> None:
    """
    To Kubernetes a pod that one of them does not mean is no company for any.
    """
    zone = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "db"}}}
    host = {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"tier": "x"}}}
    found = pod(affinity={"podAffinity": {REQUIRED: [zone, host]}})
    both = (("app", "db"), ("tier", "x"))
    assert terms_of(found) == (
        AffinityTerm(both, topology="zone"),
        AffinityTerm(both),
    )


def test_affinity_that_means_no_pod_is_named() -> None:
    """
    A selector that is left out selects nothing: company is never found, and nobody is in the way.
    """
    near = read_kube_pod(pod(affinity={"podAffinity": {REQUIRED: [{"topologyKey": "zone"}]}}))
    far = read_kube_pod(pod(affinity={"podAntiAffinity": {REQUIRED: [{"topologyKey": "zone"}]}}))
    assert near.constraints.lacks == ("required pod affinity that means no pod",)
    assert (far.constraints.affinity, far.constraints.lacks) == ((), ())


def namespaces(*untold: str, **labels: dict[str, str]) -> NamespacesOfDump:
    """Return namespaces with these labels, and others of which only pods are known."""
    parts = {
        name: KubeNamespace(KubeObjectIdentity("Namespace", "", name, labels=has))
        for name, has in labels.items()
    }
    return NamespacesOfDump.of(parts, ("default", *untold))


def test_namespaces_are_selected_by_their_labels_as_far_as_they_are_told() -> None:
    """
    One that nobody tells of is kept away from, and never company; its name is known.
    """
    around = PodAffinityTermContext(
        namespaces("untold", prod={"env": "x"}, test={"env": "y"}, default={"env": "y"})
    )
    anyone = {"matchLabels": {}}

    def scope(kind: str, **said: object) -> tuple[str, ...]:
        term = {"topologyKey": "z", "labelSelector": anyone, **said}
        found = terms_of(pod(affinity={kind: {REQUIRED: [term]}}), around)
        return found[0].namespaces

    in_x = {"matchLabels": {"env": "x"}}
    assert scope("podAffinity", namespaceSelector=in_x) == ("prod",)
    assert scope("podAntiAffinity", namespaceSelector=in_x) == ("prod", "untold")
    assert scope("podAffinity", namespaceSelector=in_x, namespaces=["a"]) == ("a", "prod")
    named = {"matchExpressions": [{"key": OF_NAMESPACES, "operator": "NotIn", "values": ["test"]}]}
    assert scope("podAffinity", namespaceSelector=named) == ("default", "prod", "untold")
    assert scope("podAntiAffinity", namespaceSelector={}) == ("*",)

    nobody = {"topologyKey": "z", "labelSelector": anyone, "namespaceSelector": {**in_x}}
    nobody["namespaceSelector"] = {"matchLabels": {"env": "z"}}
    constraints = read_kube_pod(pod(affinity={"podAffinity": {REQUIRED: [nobody]}})).constraints
    assert resolve_written_terms(constraints.affinity, "default", around) == (
        (),
        ("required pod affinity that means no pod",),
    )
    known = PodAffinityTermContext(namespaces(prod={}, default={}))
    assert terms_of(pod(affinity={"podAntiAffinity": {REQUIRED: [nobody]}}), known) == ()


@pytest.mark.parametrize(
    ("key", "around", "topology"),
    [
        (HOSTNAME, ORDINARY, ""),
        (HOSTNAME, PodAffinityTermContext(hostnames_are_nodes=False), LABEL_OF_HOSTNAME),
        ("node", ORDINARY, LABEL_OF_NODE),
        ("zone", ORDINARY, "zone"),
    ],
)
def test_topology_keys_are_labels_of_nodes(
    key: str, around: PodAffinityTermContext, topology: str
) -> None:
    """
    A host name stands for the node where each has its own; `node` is no word of Kubernetes.
    """
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": "db"}}}
    (found,) = terms_of(pod(affinity={"podAntiAffinity": {REQUIRED: [term]}}), around)
    spread = {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule"}
    (constraint,) = complete_spread_constraints(
        read_kube_pod(pod(topologySpreadConstraints=[spread])).constraints.spread, around
    )

    assert (found.topology, constraint.topology) == (topology, topology or "node")
    has = {"node": "a", HOSTNAME: "h"}
    assert dict(around.labels(has)).get(topology) == (has[key] if "placer:" in topology else None)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"minDomains": 2}, r"minDomains: .*DoNotSchedule only"),
        ({"topologyKey": ""}, r"topologyKey: .*is empty; name a label of nodes"),
    ],
)
def test_what_the_api_refuses_of_spread_is_refused(wrong: dict[str, object], words: str) -> None:
    """
    A minimum of domains cannot be wished for, and there is no domain without a key.
    """
    asked = {"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway", **wrong}
    with pytest.raises(KubernetesObjectError, match=words):
        read_kube_pod(pod(topologySpreadConstraints=[asked]))


def test_spread_constraints_are_read() -> None:
    """
    With Kubernetes' defaults; own labels count by the keys that are named.
    """
    hard = spreading("web", "zone", matchLabelKeys=["hash"])
    soft = {
        "maxSkew": 2,
        "topologyKey": HOSTNAME,
        "whenUnsatisfiable": "ScheduleAnyway",
        "nodeAffinityPolicy": "Ignore",
        "nodeTaintsPolicy": "Honor",
    }
    found = pod(labels={"hash": "7"}, topologySpreadConstraints=[{**hard, "minDomains": 3}, soft])
    first, second = complete_spread_constraints(read_kube_pod(found).constraints.spread, ORDINARY)
    assert first == SpreadConstraint("zone", labels=(("app", "web"), ("hash", "7")), min_domains=3)
    assert (second.topology, second.max_skew, second.required) == ("node", 2, False)
    assert (second.by_selector, second.by_taints) == (False, True)
    assert not second.means((("app", "web"),))  # a selector that is left out selects nothing
    everybody = {**soft, "labelSelector": {}}
    (third,) = read_kube_pod(pod(topologySpreadConstraints=[everybody])).constraints.spread
    assert not third.means((("app", "web"),))  # nor does one without conditions, in Kubernetes


@pytest.mark.parametrize(
    ("change", "path", "message"),
    [
        ({"whenUnsatisfiable": "Never"}, "whenUnsatisfiable", "expected DoNotSchedule or Sched"),
        ({"maxSkew": 0}, "0", "expected 1 or more"),
        ({"minDomains": 0}, "0", "expected 1 or more"),
        (
            {"labelSelector": {"matchExpressions": [{"key": "a", "operator": "Gt"}]}},
            "operator",
            "expected In",
        ),
    ],
)
def test_what_no_constraint_says_is_refused(
    change: dict[str, object], path: str, message: str
) -> None:
    """
    The object, the field and what was expected are named.
    """
    constraint = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    with pytest.raises(KubernetesObjectError, match=message) as error:
        read_kube_pod(pod(topologySpreadConstraints=[{**constraint, **change}]))
    assert str(error.value.path[-1]) == path
