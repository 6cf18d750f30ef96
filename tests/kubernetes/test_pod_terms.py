"""Terms of pod affinity, read from Pod objects."""

import pytest

from kubernetes_worlds import pod
from placer_models.affinity import AffinityTerm
from placer_models.kubernetes.names import HOSTNAME
from placer_models.kubernetes.object_fields import ObjectError
from placer_models.kubernetes.pod import pod_part
from placer_models.kubernetes.pod_terms import OF_NAMESPACES
from placer_models.selectors import LabelExpression, SelectorOperator
from placer_models.topology_spread import SpreadConstraint


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
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    found = pod(labels=labels, affinity={"podAntiAffinity": {required: [zone, odd]}})
    assert pod_part(found).wishes.affinity == (
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
    found = pod(affinity={"podAntiAffinity": {required: [named]}})
    (term,) = pod_part(found).wishes.affinity
    assert term.namespaces == ("other",)


def test_preferred_terms_have_their_weights() -> None:
    """
    One without is no object of Kubernetes.
    """
    preferred = "preferredDuringSchedulingIgnoredDuringExecution"
    zone = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "db"}}}

    def read(**said: int) -> tuple[AffinityTerm, ...]:
        wish = {"podAffinityTerm": zone, **said}
        return pod_part(pod(affinity={"podAntiAffinity": {preferred: [wish]}})).wishes.affinity

    (term,) = read(weight=42)
    assert (term.required, term.apart, term.weight) == (False, True, 42)
    with pytest.raises(ObjectError, match=r"podAntiAffinity.*\.weight: .*1 to 100"):
        read(weight=101)
    with pytest.raises(ObjectError, match=r"\.weight"):
        read()


def test_company_is_who_all_required_affinities_mean() -> None:
    """
    To Kubernetes a pod that one of them does not mean is no company for any.
    """
    zone = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "db"}}}
    host = {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"tier": "x"}}}
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    found = pod(affinity={"podAffinity": {required: [zone, host]}})
    both = (("app", "db"), ("tier", "x"))
    assert pod_part(found).wishes.affinity == (
        AffinityTerm(both, topology="zone"),
        AffinityTerm(both),
    )


def test_affinity_that_means_no_pod_is_named() -> None:
    """
    A selector that is left out selects nothing: company is never found, and nobody is in the way.
    """
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    near = pod_part(pod(affinity={"podAffinity": {required: [{"topologyKey": "zone"}]}}))
    far = pod_part(pod(affinity={"podAntiAffinity": {required: [{"topologyKey": "zone"}]}}))
    by_labels = {"topologyKey": "z", "namespaceSelector": {"matchLabels": {"env": "x"}}}
    strange = pod_part(pod(affinity={"podAntiAffinity": {required: [by_labels]}}))

    assert near.wishes.lacks == ("required pod affinity that means no pod",)
    assert (far.wishes.affinity, far.wishes.lacks) == ((), ())
    assert strange.wishes.lacks == ("required pod anti-affinity by labels of namespaces",)


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
    with pytest.raises(ObjectError, match=words):
        pod_part(pod(topologySpreadConstraints=[asked]))


def test_spread_constraints_are_read() -> None:
    """
    With Kubernetes' defaults; own labels count by the keys that are named.
    """
    hard = {
        "maxSkew": 1,
        "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
        "matchLabelKeys": ["hash"],
    }
    soft = {
        "maxSkew": 2,
        "topologyKey": HOSTNAME,
        "whenUnsatisfiable": "ScheduleAnyway",
        "nodeAffinityPolicy": "Ignore",
        "nodeTaintsPolicy": "Honor",
    }
    found = pod(labels={"hash": "7"}, topologySpreadConstraints=[{**hard, "minDomains": 3}, soft])
    first, second = pod_part(found).wishes.spread
    assert first == SpreadConstraint("zone", labels=(("app", "web"), ("hash", "7")), min_domains=3)
    assert (second.topology, second.max_skew, second.required) == ("node", 2, False)
    assert (second.by_selector, second.by_taints) == (False, True)
    assert not second.means((("app", "web"),))  # a selector that is left out selects nothing


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
    with pytest.raises(ObjectError, match=message) as error:
        pod_part(pod(topologySpreadConstraints=[{**constraint, **change}]))
    assert str(error.value.path[-1]) == path
