"""Reach: what pods ask of other pods beyond their node, in domains of nodes."""

from collections.abc import Iterable
from dataclasses import replace

from placer_models.pod import Pod, PodSpec
from placer_models.relations import RELATIONS


def asks_beyond_node(spec: PodSpec) -> bool:
    """Return whether the pod asks something that its own node does not decide."""
    return any(relation.reaches(spec) for relation in RELATIONS)


def any_pod_asks_beyond_node(pods: Iterable[Pod]) -> bool:
    """Return whether any of the pods reaches beyond its node."""
    # By identity: replicas share their spec.
    return any(map(asks_beyond_node, {id(pod.spec): pod.spec for pod in pods}.values()))


def without_asks_beyond_node(pod: Pod) -> Pod:
    """Return the pod with only what it asks of its own node."""
    spec = pod.spec
    for relation in RELATIONS:
        spec = relation.node_local_spec(spec)
    return pod if spec is pod.spec else replace(pod, spec=spec)
