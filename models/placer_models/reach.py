"""Reach: what pods ask of other pods beyond their node, in domains of nodes."""

from collections.abc import Iterable
from dataclasses import replace

from placer_models.pod import Pod, PodSpec


def reaches_beyond(spec: PodSpec) -> bool:
    """Return whether the pod has affinities over domains of nodes, or spreads over them."""
    return bool(spec.spread) or any(term.wide for term in spec.affinity)


def any_reaches_beyond(pods: Iterable[Pod]) -> bool:
    """Return whether any of the pods reaches beyond its node."""
    # By identity: replicas share their spec.
    return any(map(reaches_beyond, {id(pod.spec): pod.spec for pod in pods}.values()))


def of_one_node(pod: Pod) -> Pod:
    """Return the pod with only what it asks of its own node."""
    if not reaches_beyond(pod.spec):
        return pod
    terms = tuple(term for term in pod.spec.affinity if not term.wide)
    return replace(pod, spec=replace(pod.spec, affinity=terms, spread=()))
