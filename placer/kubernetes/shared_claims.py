"""Claims that several waiting pods share: one of them holds the devices, the others come to it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from placer.kubernetes.pod_claims import Label, ResolvedPodClaims
from placer_models.affinity import AffinityTerm
from placer_models.kubernetes.pod import KubePod
from placer_models.kubernetes.pod_volumes import NO_VOLUMES
from placer_models.placement import NamespacedName
from placer_models.pod import PodSpec


def pod_label_of_claim_holder(name: str) -> Label:
    """Return the label of the pod that holds a claim's devices for all pods that share it."""
    return f"placer:claim-{name}", "true"


def with_affinity_to_claim_sharers(spec: PodSpec, found: ResolvedPodClaims) -> PodSpec:
    """Return the spec of a pod that is on one node with the pods that it shares claims with."""
    if not (found.holds or found.follows):
        return spec
    terms = tuple(AffinityTerm((label,)) for label in dict.fromkeys(found.follows))
    labels = tuple(sorted({*spec.labels, *found.holds}))
    return replace(spec, labels=labels, affinity=(*spec.affinity, *terms))


def claim_sharers_first(
    waiting: Sequence[KubePod], users: Mapping[NamespacedName, int]
) -> list[KubePod]:
    """Return the pods in the order in which they may hold claims for others.

    The first that is asked about holds a claim, and the others wait for it: so it is one that
    is easy to place, and no member of a gang, which may lack others.

    Args:
        waiting: The pods.
        users: Claim -> how many waiting pods have it.

    """
    sharing: list[KubePod] = []
    others: list[KubePod] = []
    for part in waiting:
        keys = [(part.identity.namespace, one.claim) for one in part.claims]
        (sharing if any(users.get(key, 0) > 1 for key in keys) else others).append(part)
    return [*sorted(sharing, key=_demands), *others]


def _demands(part: KubePod) -> tuple[bool, int, int, int]:
    """Return a key that orders pods by how hard it is to place them."""
    constraints = part.constraints
    asked = [part.own, *(one.requests for one in part.containers)]
    return (
        part.gang is not None,
        len(constraints.selector)
        + len(constraints.features)
        + (constraints.node_affinity is not None)
        + len(constraints.affinity)
        + len(constraints.spread)
        + len(constraints.host_ports)
        + len(part.claims)
        + (part.volumes != NO_VOLUMES),
        sum(one.cpu_milli or 0 for one in asked),
        sum(one.memory_bytes or 0 for one in asked),
    )
