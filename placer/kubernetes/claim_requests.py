"""Requests of claims, resolved: how many devices of which type, or why that cannot be said."""

from placer.kubernetes.device_matches import ClaimRequestMatchesByNode
from placer.kubernetes.doubts import UnreadableObjects
from placer.kubernetes.pod_claims import ResolvedClaimRequest, ResolvedPodClaims
from placer_models.kubernetes.listed_devices import (
    CPU_CAPACITY,
    SEVERAL_CPUS,
    is_cpu_group_of_whole_node,
)
from placer_models.kubernetes.resource_claim import ClaimDeviceRequest, KubeResourceClaim


def resolved_claim_request(
    title: str,
    request: ClaimDeviceRequest,
    claim: KubeResourceClaim | None,
    found: ResolvedPodClaims,
    match: ClaimRequestMatchesByNode,
    doubts: UnreadableObjects,
    *,
    alone: bool,
) -> ResolvedClaimRequest | None:
    """Return a request, resolved, or None if Placer cannot express it or lacks its class.

    Args:
        title: Title of the claim, or of its template.
        request: What it asks for.
        claim: The claim, or None if it is not made yet.
        found: What the pod asks for; gets what is lacking or missing, and what is assumed.
        match: The devices that the request can be given.
        doubts: What cannot be read.
        alone: Whether there is no other alternative; only then nodes may differ in how many
            devices they have of which all are asked for.

    """
    name = f"request {request.name} of {title}"
    lacks = list(request.lacks)
    counts = match.counts
    if match.missing:
        why = doubts.of(match.missing)
        (found.waits if why else found.missing).append(why or match.missing)
        return None
    if match.lacks:
        lacks.append(match.lacks)
    cpus = 0
    if match.types and set(match.types) <= set(SEVERAL_CPUS):
        cpus, beyond = _cpus_asked(request, match)
        lacks += [beyond] if beyond else []
    elif request.capacity_milli and match.nodes:
        lacks.append("a part of the capacity of devices")
    if len(match.types) > 1:
        lacks.append(f"devices of several types at once, {', '.join(match.types)}")
    if request.count is None and len(counts) > 1 and not alone:
        lacks.append(f"all devices, where nodes have {' or '.join(map(str, counts))}")
    if not (lacks or match.nodes):
        if match.partly:
            lacks.append("some devices of a type on a node and not the others")
        elif match.faulty:
            lacks.append("attributes that some devices do not have")
        elif match.apart:
            lacks.append(f"devices {match.apart[0]}")
    if lacks:
        found.lacks += [f"{what} ({name})" for what in lacks]
        return None
    if match.nodes and (match.partly or match.faulty):
        found.assumed.append(
            f"kept off nodes where only some devices are what they claim "
            f"({', '.join((*match.partly, *match.faulty)[:3])})"
        )
    kind = match.types[0] if match.types else ""
    count = (counts[0] if counts else 0) if request.count is None else request.count
    return ResolvedClaimRequest(claim, request, kind, cpus or count, match)


def _cpus_asked(request: ClaimDeviceRequest, match: ClaimRequestMatchesByNode) -> tuple[int, str]:
    """Return how many CPUs of a device of several CPUs a request asks for, or why that is unclear.

    Without a capacity it asks for all of them, or of a whole machine for as many as its count.
    """
    asked_milli = request.capacity_milli.get(CPU_CAPACITY)
    count = match.counts[0] if request.count is None else request.count
    if request.capacity_milli and (len(request.capacity_milli) > 1 or not asked_milli):
        return 0, "a part of the capacity of devices"
    sizes_milli = {asked_milli} if asked_milli else set()
    if not asked_milli:
        devices = [one.listed for devices in match.nodes.values() for one in devices]
        if request.count is not None and all(map(is_cpu_group_of_whole_node, devices)):
            return count, ""
        sizes_milli = {one.capacity_milli[CPU_CAPACITY] for one in devices}
    if count != 1:
        return 0, f"{count} devices of several CPUs, of which a request can have one"
    if len(sizes_milli) > 1:
        counts = " or ".join(f"{milli / 1000:g}" for milli in sorted(sizes_milli))
        return 0, f"all CPUs of a device, where devices have {counts}"
    (milli,) = sizes_milli
    return milli // 1000, f"{milli / 1000:g} CPUs" if milli % 1000 else ""
