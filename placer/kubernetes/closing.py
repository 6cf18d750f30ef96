"""Closing of nodes of which nobody knows what is given out there already."""

from collections.abc import Iterable

from placer.kubernetes.objects import ClusterObjects
from placer_models.kubernetes.object_fields import KubernetesObjectError
from placer_models.kubernetes.resource_slice import KubeResourceSlice
from placer_models.placement import NamespacedName


def close_nodes_of_invalid_slice(objects: ClusterObjects, error: KubernetesObjectError) -> None:
    """Close the nodes of a pool, as one of its ResourceSlices contradicts another."""
    objects.bear(error)
    for one in list(objects.slices.values()):
        if objects.bears and one.identity.title == error.title:
            pool = one.driver, one.pool
            objects.closed |= _nodes_of(objects, _of_pool(objects, pool))


def close_nodes_of_invalid_claim(objects: ClusterObjects, error: KubernetesObjectError) -> None:
    """Close the nodes where a ResourceClaim may hold what it was given."""
    objects.bear(error)
    for claim in objects.claims.values():
        if objects.bears and claim.identity.title == error.title:
            objects.doubts.why.setdefault(error.title, error.message)
            objects.doubts.claims.append(claim.identity.key)


def close_doubted_nodes(objects: ClusterObjects) -> None:
    """Close all nodes that what cannot be read may concern."""
    doubts = objects.doubts
    for one in doubts.slices:
        parts = objects.slices.values() if one.pool is None else _of_pool(objects, one.pool)
        objects.closed |= _nodes_of(objects, parts)
        if one.access is None:
            doubts.everywhere = True
            continue
        nodes = objects.nodes_with_access(one.access)
        objects.closed |= set(nodes) if len(nodes) == 1 else set()
    for key in doubts.claims:
        objects.closed |= _nodes_with(objects, key)
    objects.closed |= objects.nodes.keys() if doubts.everywhere else set()


def _nodes_with(objects: ClusterObjects, claim: NamespacedName) -> set[str]:
    """Return the nodes where a claim may hold devices: its pods', or all that have devices."""
    found = {
        part.node
        for part in objects.pods.values()
        if part.node and any((part.identity.namespace, one.claim) == claim for one in part.claims)
    }
    return found or _nodes_of(objects, objects.slices.values())


def _of_pool(objects: ClusterObjects, pool: tuple[str, str]) -> list[KubeResourceSlice]:
    return [one for one in objects.slices.values() if (one.driver, one.pool) == pool]


def _nodes_of(objects: ClusterObjects, slices: Iterable[KubeResourceSlice]) -> set[str]:
    accesses = {access for part in slices for _, access in part.devices}
    return {name for access in accesses for name in objects.nodes_with_access(access)}
