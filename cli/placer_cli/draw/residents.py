"""Residents of a node: running pods, and those that a placement adds."""

from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

from placer_models.affinity import SYSTEM_NAMESPACE
from placer_models.cluster import Instance, Node
from placer_models.moves import moves_in_answer
from placer_models.placement import Placement, PodPlacement
from placer_models.pod import Pod, without_replica_number


@dataclass(frozen=True, slots=True)
class DrawnPod:
    """A pod in its place.

    Attributes:
        party: What people call it together with its like: its gang, or the name that
            its replicas share.

    """

    pod: Pod
    place: PodPlacement
    party: str
    running: bool

    @property
    def owns_cpus(self) -> bool:
        """Whether the pod's cpuset is its own, not a pool."""
        return self.pod.spec.qos.owns_cpus and bool(self.place.cpuset)

    @property
    def is_pod(self) -> bool:
        """Whether it is a pod of the cluster, not what stands for its node's system."""
        return is_non_system_pod(self.pod)


def is_non_system_pod(pod: Pod) -> bool:
    """Return whether this is a pod of the cluster, not what stands for its node's system."""
    return pod.namespace != SYSTEM_NAMESPACE


def pod_count_and_limit(node: Node, residents: Sequence[DrawnPod]) -> tuple[int, int | None]:
    """Return how many pods of the cluster are on a node, and the most it takes; None: any number.

    What stands for its system is none, and where a dump has it the node's limit is one more.
    """
    pods = sum(resident.is_pod for resident in residents)
    most = node.max_pods
    return pods, None if most is None else max(0, most - (len(residents) - pods))


def extended_amount_asked_by_pods(residents: Iterable[DrawnPod], name: str) -> int:
    """Return how much of an extended resource the pods ask for together."""
    return sum(resident.pod.spec.requests.amount_of(name) for resident in residents)


class UnknownPodOrNodeToDrawError(ValueError):
    """A placement speaks of a pod or a node that the instance does not have."""


def drawn_pods_by_node(
    instance: Instance, placement: Placement
) -> Mapping[str, tuple[DrawnPod, ...]]:
    """Return the pods of every node that has any, running ones first.

    A running pod that the placement moves is where it goes to.

    Raises:
        UnknownPodOrNodeToDrawError: The placement is of another instance.

    """
    nodes = {node.name for node in instance.nodes}
    waiting = {pod.key: (pod, gang) for gang in instance.gangs for pod in gang.pods}
    found: dict[str, list[DrawnPod]] = defaultdict(list)
    goes_to = {move.place.key: move.place for move in moves_in_answer(instance, placement)}
    for running in instance.running:
        place = running.placement
        if running.pod.key in goes_to:
            place = goes_to[running.pod.key]
            _known(place, nodes)
        party = place.gang or without_replica_number(place.name)
        found[place.node].append(DrawnPod(running.pod, place, party, running=True))
    for place in placement.pods:
        if place.key in goes_to:
            continue
        if place.key not in waiting:
            raise UnknownPodOrNodeToDrawError(
                f"pod '{place.name}' of namespace '{place.namespace}' does not wait"
            )
        _known(place, nodes)
        pod, gang = waiting[place.key]
        party = without_replica_number(pod.name) if gang.lone else gang.name
        found[place.node].append(DrawnPod(pod, place, party, running=False))
    return {node: tuple(pods) for node, pods in found.items()}


def _known(place: PodPlacement, nodes: Container[str]) -> None:
    if place.node not in nodes:
        raise UnknownPodOrNodeToDrawError(
            f"pod '{place.name}' is placed on '{place.node}', which is no node"
        )
