"""Labels that stand for what nodes have: none of a cluster is taken for one of them."""

import pytest

from claim_worlds import claim, claiming, device_class, resource_slice
from kubernetes_dumps import notes, read
from kubernetes_worlds import Json, node, pod, spreading
from placer.kubernetes.dump import DumpError
from placer.search.options import SolveOptions
from placer.search.solver import solve
from placer_models.placement import Placed

NAMES = ("claimable", "claimable-1", "every-node", "cpu-ids", "volumes", "claim-c", "being-deleted")


def where(*objects: Json) -> dict[str, str]:
    """Return pod -> node."""
    instance, _ = read(*objects)
    answer = solve(instance, SolveOptions(workers=1, work_limit=20))
    return {p.name: p.node for p in answer.placement.pods} if isinstance(answer, Placed) else {}


def test_a_label_of_that_name_on_a_node_changes_nothing() -> None:
    """
    A pod that claims a GPU goes to the node that has one, whatever others say of themselves.
    """
    labels = {f"placer/{name}": "true" for name in NAMES}
    nodes = node("n1", labels=labels), node("n2")
    found = where(*nodes, resource_slice("n2"), device_class(), claim(), claiming())

    assert found == {"p": "n2"}


def test_a_label_of_that_name_on_a_pod_changes_nothing() -> None:
    """
    A pod with the label of who holds a claim, or of who is being deleted, is like any other.
    """
    labels = {f"placer/{name}": "true" for name in NAMES} | {"app": "a"}
    spread = spreading("a", "kubernetes.io/hostname")
    nodes = node("n1"), node("n2")
    running = [pod(f"r{i}", {"cpu": "100m"}, nodeName="n1", labels=labels) for i in range(2)]
    asked = pod(labels={"app": "a"}, topologySpreadConstraints=[spread])
    claims = resource_slice("n2"), device_class(), claim(), claiming("g1"), claiming("g2")

    assert where(*nodes, *running, asked) == {"p": "n2"}
    assert where(*nodes, *running, *claims) == {"g1": "n2", "g2": "n2"}


def test_a_selector_of_that_name_selects_by_the_label() -> None:
    """
    Only a node that says so itself has the label that a pod selects.
    """
    asked = pod(nodeSelector={"placer/cpu-ids": "known"})

    assert where(node("n1"), node("n2", labels={"placer/cpu-ids": "known"}), asked) == {"p": "n2"}


@pytest.mark.parametrize("key", ["placer:claimable", "placer:every-node"])
def test_what_is_no_label_in_any_cluster_is_refused(key: str) -> None:
    """
    Their own names have a colon, which Kubernetes does not let through; nodes with one are closed.
    """
    running = pod("r", nodeName="n1", labels={key: "true"})
    for broken in ((node("n1", labels={key: "true"}),), (node("n1"), running)):
        with pytest.raises(DumpError) as caught:
            read(*broken, pod())
        instance, summary = read(*broken, pod(), bears=True)

        assert "no label of Kubernetes has a colon in its name; rename it" in str(caught.value)
        assert "no label of Kubernetes has a colon in its name; rename it" in notes(summary)
        assert [one.closed for one in instance.nodes] == [True]
