"""Volumes: patches that say which volume a claim gets, or for which node one is to be made."""

from collections.abc import Iterator, Mapping

from placer.counting.matching import maximum_matching
from placer.kubernetes.emit.annotations import identified_object
from placer.kubernetes.emit.placed_pods import DumpWithPlacement, EmittedFile
from placer.kubernetes.free_volumes import FreeVolumesOfDump
from placer.kubernetes.volume_access import NodesReachingVolumes
from placer_models.kubernetes.object_fields import Object
from placer_models.kubernetes.volume import (
    BOUND_BY_CONTROLLER,
    CLAIM_KIND,
    SELECTED_NODE,
    VOLUME_KIND,
    KubePersistentVolume,
    KubeVolumeClaim,
)
from placer_models.placement import NamespacedName


def volume_claim_ref_patch(volume: KubePersistentVolume, claim: KubeVolumeClaim) -> Object:
    """Return a merge patch of a volume, which keeps it for a claim.

    The cluster binds the two then. Its uid and resourceVersion make the cluster refuse it if the
    volume has changed by now.
    """
    mark = {} if volume.claim is not None else {BOUND_BY_CONTROLLER: "yes"}
    asked = claim.identity
    reference = {
        "apiVersion": "v1",
        "kind": CLAIM_KIND,
        "namespace": asked.namespace,
        "name": asked.name,
        "uid": asked.uid,
        "resourceVersion": asked.resource_version,
    }
    reference = {key: value for key, value in reference.items() if value}
    return {**identified_object(volume.identity, mark), "spec": {"claimRef": reference}}


def selected_node_patch(claim: KubeVolumeClaim, node: str) -> Object:
    """Return a merge patch of a claim, for which a volume is to be provisioned for a node."""
    return identified_object(claim.identity, {SELECTED_NODE: node})


def volume_claim_patches(dump: DumpWithPlacement) -> Iterator[EmittedFile]:
    """Yield a patch for each claim of a placed pod that has no volume yet."""
    nodes: dict[NamespacedName, str] = {}
    for one in dump.pods:
        for used in one.part.volumes.claims:
            nodes.setdefault((one.part.identity.namespace, used.claim), one.node.name)
    known, classes = dump.objects.volume_claims, dump.objects.storage_classes
    claims = {}
    for key in nodes:
        claim = known.get(key)
        if claim is None or claim.volume or claim.leaving:
            continue
        of_class = classes.get(claim.storage_class)
        if of_class is not None and of_class.waits:  # else the cluster binds it by itself
            claims[key] = claim
    access = NodesReachingVolumes(dump.objects)
    chosen = _chosen(dump, claims, nodes, access)
    for key, claim in claims.items():
        if key in chosen:
            volume = dump.objects.volumes[chosen[key]]
            yield EmittedFile(
                f"volumes/{VOLUME_KIND}/{volume.identity.name}.yaml",
                (volume_claim_ref_patch(volume, claim),),
            )
        elif not claim.selected_node and nodes[key] in access.provisioned_for(claim):
            path = f"volumes/{CLAIM_KIND}/{key[0]}/{key[1]}.yaml"
            yield EmittedFile(path, (selected_node_patch(claim, nodes[key]),))


def _chosen(
    dump: DumpWithPlacement,
    claims: Mapping[NamespacedName, KubeVolumeClaim],
    nodes: Mapping[NamespacedName, str],
    access: NodesReachingVolumes,
) -> dict[NamespacedName, str]:
    """Return claim -> the volume that it gets; claims that none can be made for come first."""
    known = dump.objects.volumes
    possible = FreeVolumesOfDump(known, tuple(claims.values()), access).possible
    here: dict[NamespacedName, list[str]] = {}
    for key in possible:
        reached = (name for name in possible[key] if nodes[key] in access.of(known[name]))
        here[key] = sorted(reached, key=lambda name: (known[name].capacity_bytes, name))
    must = [key for key in here if nodes[key] not in access.provisioned_for(claims[key])]
    return maximum_matching({key: here[key] for key in (*must, *here)})
