"""Features that the kubelets of some nodes declare, and that some pods need (NodeDeclaredFeatures).

A pod does not name them: they follow from what it asks for, as in Kubernetes v1.36. Features that
only matter when a pod is changed keep no pod off a node.
"""

from collections.abc import Iterable, Iterator

from placer_models.kubernetes.object_fields import KubeObjectFieldValue
from placer_models.selectors import Labels

RESTART_ALL_CONTAINERS = "RestartAllContainersOnContainerExits"
"""Needed by a pod of which a container has all containers restarted when it ends."""

HOST_NETWORK_WITH_OWN_USERS = "UserNamespacesHostNetworkSupport"
"""Needed by a pod with users of its own in the network of its node."""

_NEEDED = (RESTART_ALL_CONTAINERS, HOST_NETWORK_WITH_OWN_USERS)


def declared_feature_labels(status: KubeObjectFieldValue) -> Labels:
    """Return the labels of a node that stand for the features that it declares."""
    declared = {item.text() for item in status.get("declaredFeatures").items()}
    return _labels(feature for feature in _NEEDED if feature in declared)


def needed_declared_feature_labels(spec: KubeObjectFieldValue) -> Labels:
    """Return the labels that the node of a pod must have for the features that the pod needs."""
    return _labels(_features_of(spec))


def _features_of(spec: KubeObjectFieldValue) -> Iterator[str]:
    for kind in ("containers", "initContainers"):
        for container in spec.get(kind).items():
            for rule in container.get("restartPolicyRules").items():
                if rule.get("action").value == "RestartAllContainers":
                    yield RESTART_ALL_CONTAINERS
    users = spec.get("hostUsers")
    if users.there and not users.flag() and spec.get("hostNetwork").flag():
        yield HOST_NETWORK_WITH_OWN_USERS


def _labels(features: Iterable[str]) -> Labels:
    return tuple((f"placer:declares-{feature}", "true") for feature in sorted(set(features)))
