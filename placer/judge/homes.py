"""Homes: the places of running pods that may move, and whether they stay there (G5)."""

from collections.abc import Iterable

from placer_models.cluster import Instance
from placer_models.placement import DeviceGrant, PodPlacement


def has_same_place_as_home(place: PodPlacement, home: PodPlacement, *, owns_cpus: bool) -> bool:
    """Return whether a pod still has all that it had by place, and nothing else.

    That is its node, the CPUs that it owns, its memory, its hugepages and its devices. The pool
    that it is bound to is the same as long as the NUMA nodes are.
    """
    return (
        place.node == home.node
        and (place.cpuset == home.cpuset or not owns_cpus)
        and sorted(place.memory_bytes) == sorted(home.memory_bytes)
        and sorted(place.hugepages) == sorted(home.hugepages)
        and _devices(place.devices) == _devices(home.devices)
        and _numa_nodes(place) == _numa_nodes(home)
    )


def homes_of_moved_pods(instance: Instance, places: Iterable[PodPlacement]) -> list[PodPlacement]:
    """Return the homes of the running pods that get another place, in the instance's order.

    Who cannot stay moves, wherever it goes.
    """
    place_of = {place.key: place for place in places}
    owning = {pod.key: pod.spec.qos.owns_cpus for gang in instance.gangs for pod in gang.pods}
    return [
        home
        for home in instance.homes
        if (place := place_of.get(home.key)) is not None
        and (
            home.key in instance.gone
            or not has_same_place_as_home(place, home, owns_cpus=owning.get(home.key, False))
        )
    ]


def _devices(grants: Iterable[DeviceGrant]) -> set[tuple[str, int, object]]:
    return {(grant.type, grant.minor, grant.share) for grant in grants}


def _numa_nodes(place: PodPlacement) -> set[int]:
    return {numa_node for numa_node, _ in place.cpu_milli or ()}
