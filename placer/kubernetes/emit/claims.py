"""ResourceClaims: patches that say which devices they were given, where, and for whom.

Those for extended resources are created first.
"""

from collections.abc import Iterable, Iterator, Sequence

from placer.kubernetes.claims import WaitingPodClaimsOfDump
from placer.kubernetes.device_pools import PublishedDevicesOfDump, PublishedNodeDevice
from placer.kubernetes.emit.annotations import identified_object, identifying_metadata
from placer.kubernetes.emit.placed_pods import DumpWithPlacement, EmittedFile, EmittedPod
from placer.kubernetes.objects import ClusterObjects
from placer.kubernetes.pod_claims import Label, ResolvedClaimRequest
from placer.kubernetes.shared_claims import pod_label_of_claim_holder
from placer.kubernetes.summary import DumpSummary
from placer_models.cpuset import CpuSet
from placer_models.files.errors import InputError
from placer_models.kubernetes.chosen_devices import device_set_mark_of_share
from placer_models.kubernetes.claimed import claim_container_name
from placer_models.kubernetes.cpu_config import opaque_cpu_config
from placer_models.kubernetes.listed_devices import (
    CPU_CAPACITY,
    CPU_DRIVER,
    CPU_GROUP,
    CPU_TYPES,
    SEVERAL_CPUS,
)
from placer_models.kubernetes.object_fields import KubeObjectIdentity, Object
from placer_models.kubernetes.resource_claim import KubeResourceClaim, is_request_meant
from placer_models.node_affinity import NAME_FIELD
from placer_models.placement import DeviceGrant, NamespacedName

FINALIZER = "resource.kubernetes.io/delete-protection"
"""The finalizer that keeps an allocated claim from being deleted while its devices are in use."""

EXTENDED = "resource.kubernetes.io/extended-resource-claim"
"""The annotation of a claim that was made for a pod's extended resources."""

Handed = tuple[ResolvedClaimRequest, tuple[PublishedNodeDevice, ...], CpuSet]
"""A resolved request, its devices, and its CPUs if one device stands for several."""


def claim_patch(claim: KubeResourceClaim, status: Object) -> Object:
    """Return a merge patch of a claim's status.

    Its uid makes the cluster refuse it if the claim is another one by now, its resourceVersion if
    the claim has changed. If the claim gets its finalizer first, the patch has no version.
    """
    has_finalizer = FINALIZER in claim.finalizers
    metadata = identifying_metadata(claim.identity, {}, with_version=has_finalizer)
    return {**_claim(metadata), "status": status}


def finalizer_patch(claim: KubeResourceClaim) -> Object:
    """Return a merge patch that keeps a claim as long as its devices are in use."""
    finalizers = [*claim.finalizers, FINALIZER]
    return _claim({**identifying_metadata(claim.identity, {}), "finalizers": finalizers})


def claim_for_extended_resources(claim: KubeResourceClaim, owner: KubeObjectIdentity) -> Object:
    """Return a claim that a pod's extended resources need, to be created, with its finalizer."""
    controller = {"apiVersion": "v1", "kind": "Pod", "name": owner.name, "uid": owner.uid}
    requests = [
        {
            "name": one.name,
            "exactly": {
                "deviceClassName": one.device_class,
                "allocationMode": "ExactCount",
                "count": one.count,
            },
        }
        for (one,) in claim.spec.requests
    ]
    metadata = {
        **identifying_metadata(claim.identity, {EXTENDED: "true"}),
        "ownerReferences": [{**controller, "controller": True}],
        "finalizers": [FINALIZER],
    }
    return {**_claim(metadata), "spec": {"devices": {"requests": requests}}}


def pod_claim_status_patch(claim: KubeResourceClaim, pod: KubeObjectIdentity) -> Object:
    """Return a merge patch of a pod's status: by which claim it gets its extended resources."""
    mappings = [
        {
            "containerName": one.container,
            "resourceName": one.resource,
            "requestName": one.request,
        }
        for one in claim.made_for
    ]
    given = {"resourceClaimName": claim.identity.name, "requestMappings": mappings}
    patch = identified_object(pod, {}, with_version=False)
    return {**patch, "status": {"extendedResourceClaimStatus": given}}


def pod_as_claim_consumer(pod: KubeObjectIdentity) -> Object:
    """Return a pod as a consumer that a claim is reserved for."""
    return {"resource": "pods", "name": pod.name, "uid": pod.uid}


def claim_allocation(node: str, given: Sequence[Handed], objects: ClusterObjects) -> Object:
    """Return the allocation of a claim on a node.

    Args:
        node: Name of the node.
        given: Each request of the claim, resolved, with its devices.
        objects: The cluster.

    """
    results = [
        {
            **{"request": one.request.name, "driver": driver, "pool": pool, "device": name},
            **({"consumedCapacity": {CPU_CAPACITY: str(len(cpus))}} if cpus else {}),
        }
        for one, devices, cpus in given
        for driver, pool, name in (device.key for device in devices)
    ]
    devices: dict[str, object] = {"results": results}
    if configs := [config for one in given for config in _configs(one, objects)]:
        devices["config"] = [
            config for i, config in enumerate(configs) if config not in configs[:i]
        ]
    here = {"key": NAME_FIELD, "operator": "In", "values": [node]}
    return {"devices": devices, "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [here]}]}}


def claim_patches(dump: DumpWithPlacement) -> Iterator[EmittedFile]:
    """Yield a patch for each claim of a placed pod, and one more for its finalizer if needed.

    A claim for a pod's extended resources is created, and the pod is told of it.

    Raises:
        InputError: A pod with claims has no uid.

    """
    pools = PublishedDevicesOfDump.of(dump.objects, lambda _: None)
    asked = WaitingPodClaimsOfDump(dump.objects, pools, DumpSummary(), _holders(dump))
    statuses: dict[tuple[str, str], dict[str, object]] = {}
    users: dict[tuple[str, str], list[KubeObjectIdentity]] = {}
    for one in dump.pods:
        if not one.part.claims:
            continue
        if not one.part.identity.uid:
            raise _without_uid(one.part.identity.title, dump.objects)
        reserves = pod_as_claim_consumer(one.part.identity)
        given = _devices_of(one, asked, pools)
        # Without those that are not made from their templates yet.
        for claim in dump.objects.claims_of(one.part):
            key = claim.identity.key
            status = statuses.setdefault(key, {"reservedFor": list(claim.reserved_for)})
            reserved = status["reservedFor"]
            if isinstance(reserved, list) and reserves not in reserved:
                reserved.append(reserves)
            users.setdefault(key, []).append(one.part.identity)
            if claim.allocation is None and (
                pod_label_of_claim_holder(claim.identity.name) not in _followed(one)
            ):
                mine = [handed for handed in given if handed[0].claim is claim]
                status["allocation"] = claim_allocation(one.node.name, mine, dump.objects)
    for key, status in statuses.items():
        claim = dump.objects.claims[key]
        path = f"claims/{key[0]}/{key[1]}"
        if claim.made_for and not claim.identity.uid:
            (owner,) = users[key]
            yield EmittedFile(f"{path}.new.yaml", (claim_for_extended_resources(claim, owner),))
        elif FINALIZER not in claim.finalizers:
            yield EmittedFile(f"{path}.finalizer.yaml", (finalizer_patch(claim),))
        yield EmittedFile(f"{path}.status.yaml", (claim_patch(claim, status),))
        for user in users[key] if claim.made_for else ():
            yield EmittedFile(
                f"claims/{key[0]}/{user.name}.pod.yaml", (pod_claim_status_patch(claim, user),)
            )


def _holders(dump: DumpWithPlacement) -> dict[NamespacedName, NamespacedName]:
    """Return claim -> the pod that holds its devices, for claims of several pods."""
    return {
        (one.pod.namespace, source.claim): one.pod.key
        for one in dump.pods
        for source in one.part.claims
        if pod_label_of_claim_holder(source.claim) in one.pod.spec.labels
    }


def _followed(one: EmittedPod) -> set[Label]:
    """Return the labels of the pods that hold devices for this one."""
    return {label for term in one.pod.spec.affinity for label in term.labels}


def _without_uid(title: str, objects: ClusterObjects) -> InputError:
    file, line = objects.places[title]
    return InputError(
        file,
        line,
        "metadata.uid",
        f"{title}: is missing; its claims are kept for a pod by its uid: "
        "create the pod, and read it from the cluster",
    )


def _claim(metadata: Object) -> Object:
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": metadata}


def _devices_of(
    one: EmittedPod, asked: WaitingPodClaimsOfDump, pools: PublishedDevicesOfDump
) -> list[Handed]:
    """Return each request of a pod's claims, resolved, with its devices."""
    on_node = {
        (device.device.type, device.device.minor): device
        for device in pools.on_node.get(one.node.name, ())
    }
    topology = one.node.machine.topology
    claims = asked.asked_on(one.part, one.node.name)
    part_of = {
        id(given): claim_container_name(i) for i, part in enumerate(claims.parts) for given in part
    }
    held = [part for part in one.place.containers if part.name in part_of.values()]
    left = {part.name: _by_type(part.cpuset, part.devices) for part in held}
    elsewhere = {grant for part in held for grant in part.devices}
    others = [grant for grant in one.place.devices if grant not in elsewhere]
    left[""] = _by_type(one.place.cpuset, others)
    found: list[Handed] = []
    for asked_for in claims.given:
        given = asked_for.there(one.node.name)
        kind = CPU_DRIVER if given.type in CPU_TYPES else given.type
        from_ = left[part_of.get(id(asked_for), "")][kind, asked_for.mark]
        ids = [from_.pop(0) for _ in range(given.count)]
        if given.type in SEVERAL_CPUS:
            numa = topology.cpu[ids[0]].numa_node if given.type == CPU_GROUP else 0
            found.append((given, (on_node[given.type, numa or 0],), frozenset(ids)))
        else:
            devices = tuple(on_node[given.type, id] for id in ids)
            found.append((given, devices, frozenset()))
    return found


def _by_type(cpus: CpuSet, grants: Iterable[DeviceGrant]) -> dict[tuple[str, str], list[int]]:
    """Return (type, mark) -> ids, ascending; CPUs have one type, however they are asked for."""
    found = {(CPU_DRIVER, ""): sorted(cpus)}
    for grant in sorted(grants, key=lambda grant: grant.minor):
        found.setdefault((grant.type, device_set_mark_of_share(grant.share)), []).append(
            grant.minor
        )
    return found


def _configs(handed: Handed, objects: ClusterObjects) -> Iterator[Object]:
    """Yield the configurations of a request: its class's, its claim's, and its CPUs'."""
    one, _, cpus = handed
    names = [one.request.name]
    for config in objects.device_classes[one.request.device_class].configs:
        yield {"source": "FromClass", "requests": names, **config}
    for requests, config in one.claim.spec.configs if one.claim else ():
        if is_request_meant(one.request.name, requests):
            yield {
                "source": "FromClaim",
                **({"requests": list(requests)} if requests else {}),
                **config,
            }
    if cpus:
        yield opaque_cpu_config(one.request.name, cpus)
