"""The placement of one node: the node, its pods, and the place of each."""

from dataclasses import dataclass

from placer_models.cluster import Node
from placer_models.placement import PodPlacement
from placer_models.pod import Pod

MAX_GENERATION = 2**63 - 1
"""The highest generation of a document, as of an object of Kubernetes; none can follow it."""


@dataclass(frozen=True, slots=True)
class NodePlacementPod:
    """A pod of the node, and how its containers are found there.

    Attributes:
        container_ids: (Container, the runtime's id of it), ascending; for pods with a uid
            whose containers differ.

    """

    pod: Pod
    placement: PodPlacement
    container_ids: tuple[tuple[str, str], ...] = ()

    @property
    def uid(self) -> str:
        """The pod's uid, by which the kubelet names its cgroups; empty if no kubelet runs it."""
        return self.pod.uid

    @property
    def ours(self) -> bool:
        """Whether its containers are cgroups of our own: nothing else says where to find them."""
        return not self.uid and not self.container_ids


@dataclass(frozen=True, slots=True)
class NodePlacement:
    """The part of a placement that one node obeys, complete.

    Attributes:
        pods: All pods of the node, running before or newly placed; keys are unique.
        generation: Grows with each document for the node; a lower number is out of date.

    """

    node: Node
    pods: tuple[NodePlacementPod, ...] = ()
    generation: int = 1
