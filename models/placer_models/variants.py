"""Variants: what a pod asks for on a node, where that is not the same everywhere."""

from dataclasses import replace

from placer_models.cluster import Node
from placer_models.pod import Pod, PodSpec


def variant_index_on(spec: PodSpec, node: Node) -> int:
    """Return the index of the variant that counts on a node, of a spec that has some.

    Where none does it is the first: the node does not have its labels, so the pod does not go
    there.
    """
    labels = set(node.labels)
    found = (i for i, one in enumerate(spec.variants) if labels.issuperset(one.labels))
    return next(found, 0)


def spec_on(spec: PodSpec, node: Node) -> PodSpec:
    """Return what a pod asks for on the node, and of it."""
    return spec.resolved[variant_index_on(spec, node)] if spec.variants else spec


def pod_with_spec_on(pod: Pod, node: Node) -> Pod:
    """Return the pod with what it asks for on the node."""
    return replace(pod, spec=spec_on(pod.spec, node)) if pod.spec.variants else pod
