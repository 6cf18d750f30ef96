"""Features that nodes declare, and that pods need: no label or taint says so."""

import pytest

from kubernetes_dumps import notes, places, read
from kubernetes_worlds import Json, node, pod

RESTART_ALL = "RestartAllContainersOnContainerExits"
HOST_USERS = "UserNamespacesHostNetworkSupport"


def declaring(name: str, *features: str) -> Json:
    """Return a node whose kubelet declares features."""
    found = node(name)
    found["status"]["declaredFeatures"] = list(features)
    return found


def restarting(kind: str = "containers", action: str = "RestartAllContainers") -> Json:
    """Return a pod of which a container has a rule for its exits."""
    found = pod()
    rule = {"action": action, "exitCodes": {"operator": "In", "values": [88]}}
    has = {"restartPolicy": "Never", "restartPolicyRules": [rule]}
    if kind == "containers":
        found["spec"]["containers"][0] |= has
    else:
        found["spec"]["initContainers"] = [{"name": "first", "resources": {}, **has}]
    return found


@pytest.mark.parametrize(
    ("asked", "feature"),
    [
        (restarting(), RESTART_ALL),
        (restarting("initContainers"), RESTART_ALL),
        (pod(hostNetwork=True, hostUsers=False), HOST_USERS),
    ],
)
def test_a_pod_goes_where_the_feature_that_it_needs_is_declared(asked: Json, feature: str) -> None:
    """
    Not where the kubelet declares nothing, or something else.
    """
    others = node("n1"), declaring("n2", "GuaranteedQoSPodCPUResize")
    instance, _ = read(*others, declaring("n3", "GuaranteedQoSPodCPUResize", feature), asked)
    nowhere, _ = read(*others, asked)

    assert places(instance)["p"].node == "n3"
    assert places(nowhere) == {}


@pytest.mark.parametrize(
    "asked",
    [
        pod(),
        restarting(action="Restart"),
        pod(hostNetwork=True),
        pod(hostNetwork=True, hostUsers=True),
        pod(hostUsers=False),
    ],
)
def test_other_pods_go_anywhere(asked: Json) -> None:
    """
    A rule that restarts only its own container, or users of the pod's own, needs no declaration.
    """
    instance, _ = read(node("n1"), asked)

    assert places(instance)["p"].node == "n1"


def test_the_summary_says_which_label_stands_for_a_feature() -> None:
    """
    The reason names a label that no Node of the cluster has, so what it means is told.
    """
    _, summary = read(node("n1"), restarting())

    assert f"placer:declares-{RESTART_ALL}" in notes(summary)
    assert "default/p" in notes(summary)


def test_a_pod_that_runs_keeps_its_need() -> None:
    """
    Where running pods may be moved, it comes to no node that lacks the feature.
    """
    runs = restarting()
    runs["spec"]["nodeName"] = "n2"
    instance, _ = read(node("n1"), declaring("n2", RESTART_ALL), runs)

    (one,) = instance.running
    assert (f"placer:declares-{RESTART_ALL}", "true") in one.pod.spec.node_selector
