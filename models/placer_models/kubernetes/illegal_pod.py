"""Illegal pods that are bound: what counts of a pod that asks for what no pod may ask for."""

from placer_models.kubernetes.counted_devices import device_type_asked_by_resource
from placer_models.kubernetes.pod import KubePod
from placer_models.kubernetes.pod_containers import (
    ClusterFactsForRequests,
    device_amounts_asked,
    pod_containers_and_device_requests,
)
from placer_models.kubernetes.pod_spec import (
    ParsedPodSpec,
    exclusive_policy_of,
    pod_labels_seen_by_terms,
    pod_limits_of,
    qos_of,
)
from placer_models.kubernetes.pod_terms import resolve_written_terms
from placer_models.pod import PodSpec
from placer_models.policy import AlignmentPolicy


def read_illegal_pod_spec(
    part: KubePod, reading: ClusterFactsForRequests, cpus: int
) -> ParsedPodSpec:
    """Return what counts of what such a pod asks for: all but devices and CPUs of its own.

    These it has as far as somebody names them. Its wishes about other pods count, too.

    Args:
        part: The pod.
        reading: The facts that are needed to read its requests.
        cpus: How many CPUs are named as its own. What it asks for beyond them it shares.

    """
    qos = qos_of(part, owns_cpus=cpus > 0)
    containers, _ = pod_containers_and_device_requests(part, reading, with_devices=False)
    exclusive, strength = exclusive_policy_of(part, qos)
    spec = PodSpec(
        containers,
        qos,
        alignment=part.alignment or AlignmentPolicy.NONE,
        tolerations=part.constraints.tolerations,
        labels=pod_labels_seen_by_terms(part, reading),
        affinity=resolve_written_terms(
            part.constraints.affinity, part.identity.namespace, reading.around
        )[0],
        exclusive=exclusive,
        exclusive_strength=strength,
    )
    beyond = max(0, spec.requests.cpu_milli - 1000 * cpus) if cpus else 0
    return ParsedPodSpec(spec, pod_limits_of(part), shared_milli=beyond)


def device_types_asked(part: KubePod, reading: ClusterFactsForRequests) -> frozenset[str]:
    """Return the types of the devices that a pod asks for, whole or in part, rightly or not."""
    return frozenset(map(device_type_asked_by_resource, device_amounts_asked(part, reading)))
