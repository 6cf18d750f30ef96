"""Placed pods of a dump, each with its object, its gang and its node."""

from collections.abc import Sequence
from dataclasses import dataclass

from placer.kubernetes.extended_resources import with_extended_resource_claims
from placer.kubernetes.objects import ClusterObjects
from placer.kubernetes.summary import DumpSummary
from placer_models.cluster import Instance, Node
from placer_models.kubernetes.device import KubeKoordinatorDevice
from placer_models.kubernetes.object_fields import KubeObjectIdentity, Object
from placer_models.kubernetes.pod import KubePod
from placer_models.placement import NamespacedName, Placement, PodPlacement
from placer_models.pod import Gang, Pod


@dataclass(frozen=True, slots=True)
class EmittedPod:
    """One pod that got a place.

    Attributes:
        part: The contents of its object.
        pod: The same pod in our words.
        together: Keys of the gangs that are bound together, its own included.
        devices: The Device object of its node.

    """

    part: KubePod
    pod: Pod
    gang: Gang
    together: tuple[NamespacedName, ...]
    place: PodPlacement
    node: Node
    devices: KubeKoordinatorDevice | None


@dataclass(frozen=True, slots=True)
class DumpWithPlacement:
    """The objects read from a cluster, and the pods that got a place there.

    Attributes:
        pods: The pods in the order of the instance, so that members of a gang are adjacent.
        held_back: Pods with a claim that is not made from its template yet. Nothing is written
            for them, the pods bound with them, and those that share claims with them: once they
            were bound, nobody would give that claim devices.
        leaving: Running pods that move, in an order in which each finds its new place free.

    """

    objects: ClusterObjects
    instance: Instance
    pods: tuple[EmittedPod, ...]
    held_back: tuple[EmittedPod, ...] = ()
    leaving: tuple[KubeObjectIdentity, ...] = ()


@dataclass(frozen=True, slots=True)
class EmittedFile:
    """A file for a cluster: objects, as YAML or JSON by its suffix.

    Attributes:
        path: Its path below the folder that is written, with ``/`` between the steps.

    """

    path: str
    objects: tuple[Object, ...]


def placed_dump(
    objects: ClusterObjects, instance: Instance, placement: Placement, *, evicts: bool = False
) -> DumpWithPlacement:
    """Return the placed pods of a dump.

    Args:
        objects: What was read.
        instance: What was made of it.
        placement: The answer.
        evicts: Whether running pods that move are evicted. Nothing else is written of them: what
            takes their place is another pod, which waits then.

    Raises:
        ValueError: A pod of the placement runs already, and nobody is to evict it; or a gang, or
            a group of gangs, has too few of its pods in the placement.

    """
    objects = with_extended_resource_claims(objects, DumpSummary())
    places = {place.key: place for place in placement.pods}
    running = {one.pod.key: one for one in instance.running}
    leaving = [objects.pods[key].identity for key in places if key in running]
    for key in places if not evicts else ():
        if key in running:
            raise ValueError(
                f"Pod {key[0]}/{key[1]} runs on node {running[key].placement.node} and would have "
                f"to move to {places[key].node}: a bound pod cannot be bound again; say --emit "
                "evictions, too, and solve again with the pod that takes its place"
            )
    nodes = {node.name: node for node in instance.nodes}
    groups = {key: group.gangs for group in instance.groups for key in group.gangs}
    found = []
    for gang in instance.gangs:
        members = [pod for pod in gang.pods if pod.key in places]
        together = groups.get(gang.key, (gang.key,))
        _check_whole(gang, len(members))
        found += [
            EmittedPod(
                objects.pods[pod.key],
                pod,
                gang,
                together,
                places[pod.key],
                nodes[places[pod.key].node],
                objects.devices.get(places[pod.key].node),
            )
            for pod in members
        ]
    _check_groups(instance, {one.gang.key for one in found})
    held_back = tuple(one for one in found if not all(claim.claim for claim in one.part.claims))
    waiting = _with_sharers({one.together for one in held_back}, found, objects)
    told = tuple(one for one in found if one.together not in waiting)
    return DumpWithPlacement(objects, instance, told, held_back, tuple(leaving))


def _with_sharers(
    waiting: set[tuple[NamespacedName, ...]], found: Sequence[EmittedPod], objects: ClusterObjects
) -> set[tuple[NamespacedName, ...]]:
    """Return what waits, and all that waits with it for devices of claims that they share."""
    before = -1
    while waiting and len(waiting) != before:
        before = len(waiting)
        claims = {key for one in found if one.together in waiting for key in _unmet(one, objects)}
        waiting |= {one.together for one in found if claims.intersection(_unmet(one, objects))}
    return waiting


def _unmet(one: EmittedPod, objects: ClusterObjects) -> set[NamespacedName]:
    """Return the claims of a pod that were given nothing yet."""
    return {claim.identity.key for claim in objects.claims_of(one.part) if claim.allocation is None}


def _check_whole(gang: Gang, placed: int) -> None:
    if 0 < placed < gang.minimum:
        raise ValueError(
            f"{placed} of the {gang.minimum} pods that gang {gang.namespace}/{gang.name} needs "
            "have a place: all of them are bound, or none"
        )


def _check_groups(instance: Instance, placed: set[NamespacedName]) -> None:
    for group in instance.groups:
        missing = [key for key in group.gangs if key not in placed]
        if missing and len(missing) < len(group.gangs):
            raise ValueError(
                f"gang {missing[0][0]}/{missing[0][1]} has no place, and its group comes together: "
                "all of them are bound, or none"
            )
