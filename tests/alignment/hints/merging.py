"""The one door: hints of all providers in, one set of NUMA nodes and a verdict out."""

from collections.abc import Sequence
from typing import assert_never

from alignment.hints.koordinator import merge_as_koordinator
from alignment.hints.kubelet import merge_as_kubelet
from alignment.hints.model import Koordinator, Kubelet, Merged, ProviderHints
from placer_models.policy import AlignmentPolicy

KUBELET = Kubelet()
"""The kubelet with its default options."""


def merge(
    policy: AlignmentPolicy,
    provider_hints: Sequence[ProviderHints | None],
    *,
    numa_nodes: Sequence[int],
    peer: Kubelet | Koordinator = KUBELET,
) -> Merged:
    """Merge hints as the peer does, to the same set of NUMA nodes and the same verdict.

    This tells what a node will do with a pod, or what another scheduler would have done.
    Placer itself looks at cells and amounts instead: hints know nothing of each other, so
    a merge can only refuse where a joint choice would still find a place.

    Args:
        policy: The policy that holds; None merges nothing and admits everything.
        provider_hints: In the order in which the peer asks the providers.
        numa_nodes: Ids of the node's NUMA nodes.
        peer: Whose rules, with its options; the kubelet's without any if not given.

    Raises:
        ValueError: A hint names a NUMA node that the node does not have, or the
            distances are not square.

    """
    if policy is AlignmentPolicy.NONE:
        return Merged(None, preferred=False, admitted=True)
    match peer:
        case Kubelet():
            return merge_as_kubelet(policy, provider_hints, numa_nodes, peer)
        case Koordinator():
            return merge_as_koordinator(policy, provider_hints, numa_nodes, peer)
        case _:
            assert_never(peer)
