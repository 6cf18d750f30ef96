"""Effective policies: what holds for a pod on a node, of the words of all who may say it (C22).

The pod's own word goes first, then the node's, then the scheduler's default, which its nodes have
(`Node.defaults`). The judge and the brute force of the tests each say the same for themselves.
"""

from placer_models.alignment import resolve_alignment_policy
from placer_models.cluster import Node
from placer_models.defaults import Defaults
from placer_models.pod import PodSpec
from placer_models.policy import AlignmentPolicy, BindPolicy, ExclusivePolicy


def defaults_on(node: Node) -> Defaults:
    """Return the defaults that the node leaves to pods which say nothing."""
    return Defaults(
        bind=node.default_bind,
        exclusive=node.default_exclusive,
        alignment=AlignmentPolicy.NONE if node.alignment else node.defaults.alignment,
        numa_strategy=None if node.numa_strategy else node.defaults.numa_strategy,
    )


def effective_alignment_policy(spec: PodSpec, node: Node) -> AlignmentPolicy | None:
    """Return the alignment policy that holds, or None if pod and node conflict (C12)."""
    return resolve_alignment_policy(spec.alignment, node.alignment, node.defaults.alignment)


def pod_or_default_bind_policy(spec: PodSpec, node: Node) -> BindPolicy:
    """Return the bind policy that a pod with CPUs of its own asks for or would like (C8).

    ``DEFAULT`` where nobody names one. What the node itself requires goes before a wish (C10).
    """
    return node.default_bind if spec.bind is BindPolicy.DEFAULT else spec.bind


def effective_exclusive_policy(spec: PodSpec, node: Node) -> ExclusivePolicy:
    """Return the policy by which a pod with CPUs of its own keeps apart from others (C9)."""
    if not spec.qos.owns_cpus:
        return ExclusivePolicy.NONE
    return node.default_exclusive if spec.exclusive is None else spec.exclusive
