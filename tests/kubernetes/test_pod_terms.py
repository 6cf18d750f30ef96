"""Terms of pod affinity, read from Pod objects."""

from kubernetes_worlds import pod
from placer_models.affinity import AffinityTerm
from placer_models.kubernetes.names import HOSTNAME
from placer_models.kubernetes.pod import pod_part
from placer_models.kubernetes.pod_terms import OF_NAMESPACES
from placer_models.selectors import LabelExpression, Operator


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
                LabelExpression("app", Operator.EXISTS),
                LabelExpression("team", Operator.NOT_IN, ("t",)),
            ),
            namespaces=("*",),
        ),
    )
    named = {**zone, "namespaceSelector": {"matchLabels": {OF_NAMESPACES: "other"}}}
    found = pod(affinity={"podAntiAffinity": {required: [named]}})
    (term,) = pod_part(found).wishes.affinity
    assert term.namespaces == ("other",)


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
