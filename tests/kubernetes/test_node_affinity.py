"""Node affinity of a cluster's pods, and what is wrong with it."""

import pytest

from kubernetes_dumps import places, read
from kubernetes_worlds import REQUIRED, Json, node, pod
from placer_models.kubernetes.object_fields import KubernetesObjectError
from placer_models.kubernetes.pod import read_kube_pod
from placer_models.node_affinity import NodeAffinity, NodeTerm, PreferredNodeTerm
from placer_models.selectors import LabelExpression, SelectorOperator

PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def test_all_that_node_affinity_may_say_is_read() -> None:
    """
    Terms with expressions and fields, and wishes with their weights.
    """
    found = pod(
        affinity={
            "nodeAffinity": {
                REQUIRED: {
                    "nodeSelectorTerms": [
                        {
                            "matchExpressions": [
                                {"key": "zone", "operator": "NotIn", "values": ["b", "a"]},
                                {"key": "cores", "operator": "Gt", "values": ["16"]},
                            ]
                        },
                        {
                            "matchFields": [
                                {"key": "metadata.name", "operator": "In", "values": ["n1"]}
                            ]
                        },
                    ]
                },
                PREFERRED: [
                    {
                        "weight": 10,
                        "preference": {"matchExpressions": [{"key": "gpu", "operator": "Exists"}]},
                    }
                ],
            }
        }
    )
    zone = LabelExpression("zone", SelectorOperator.NOT_IN, ("a", "b"))
    cores = LabelExpression("cores", SelectorOperator.GT, ("16",))
    name = LabelExpression("metadata.name", SelectorOperator.IN, ("n1",))
    gpu = NodeTerm((LabelExpression("gpu", SelectorOperator.EXISTS),))

    assert read_kube_pod(found).constraints.node_affinity == NodeAffinity(
        (NodeTerm((zone, cores)), NodeTerm(fields=(name,))), (PreferredNodeTerm(gpu, 10),)
    )


def test_pods_come_to_the_nodes_that_they_ask_for() -> None:
    """
    By a label, and by the name.
    """
    expression = {"key": "disk", "operator": "In", "values": ["ssd"]}
    field = {"key": "metadata.name", "operator": "In", "values": ["c"]}
    pods = [
        pod(
            name, {"cpu": "1"}, affinity={"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [term]}}}
        )
        for name, term in (
            ("label", {"matchExpressions": [expression]}),
            ("name", {"matchFields": [field]}),
            ("nothing", {}),
        )
    ]
    nodes = node("a"), node("b", labels={"disk": "ssd"}), node("c")
    instance, _ = read(*nodes, *pods)

    assert {name: place.node for name, place in places(instance).items()} == {
        "label": "b",
        "name": "c",
    }


@pytest.mark.parametrize(
    ("affinity", "said"),
    [
        ({REQUIRED: {"nodeSelectorTerms": []}}, "has no term; give one or more"),
        (
            {
                REQUIRED: {
                    "nodeSelectorTerms": [
                        {"matchExpressions": [{"key": "a", "operator": "Like", "values": ["x"]}]}
                    ]
                }
            },
            "expected In, NotIn, Exists, DoesNotExist, Gt, Lt",
        ),
        (
            {
                REQUIRED: {
                    "nodeSelectorTerms": [
                        {"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["x"]}]}
                    ]
                }
            },
            "expected one whole number",
        ),
        (
            {
                REQUIRED: {
                    "nodeSelectorTerms": [
                        {
                            "matchFields": [
                                {"key": "metadata.uid", "operator": "In", "values": ["x"]}
                            ]
                        }
                    ]
                }
            },
            "got the field 'metadata.uid'; expected metadata.name",
        ),
        ({PREFERRED: [{"weight": 101, "preference": {}}]}, "expected 1 to 100"),
    ],
)
def test_what_is_wrong_is_said_with_its_field(affinity: Json, said: str) -> None:
    """
    One clear error.
    """
    with pytest.raises(KubernetesObjectError, match=said):
        read_kube_pod(pod(affinity={"nodeAffinity": affinity}))
