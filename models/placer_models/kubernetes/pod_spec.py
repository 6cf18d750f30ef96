"""PodSpecs of Pod objects: what a pod asks for, in Placer's words."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from placer_models.annotations.device_hint import device_strategies_of
from placer_models.annotations.resource_spec import CpuBindPolicy, CpuExclusivePolicy
from placer_models.device_request import DeviceRequestError
from placer_models.kubernetes.counted_devices import selector_for_nodes_listing_devices
from placer_models.kubernetes.names import (
    BEING_DELETED,
    KNOWS_CPUS,
    KNOWS_NUMA_NODES,
    NOMINATED,
    TAKES_DEFAULT_ALIGNMENT,
)
from placer_models.kubernetes.object_fields import IllegalPodObjectError
from placer_models.kubernetes.pod import KubePod
from placer_models.kubernetes.pod_containers import (
    ClusterFactsForRequests,
    device_amounts_asked,
    pod_containers_and_device_requests,
)
from placer_models.kubernetes.pod_devices import (
    device_scopes_asked,
    inexpressible_demands,
    virtual_function_selectors,
)
from placer_models.kubernetes.pod_terms import complete_spread_constraints, resolve_written_terms
from placer_models.legal import spec_faults
from placer_models.limits import NO_LIMITS, ContainerLimits, PodLimits
from placer_models.pod import Container, ContainerRole, Pod, PodSpec
from placer_models.policy import (
    AlignmentPolicy,
    BindPolicy,
    ExclusivePolicy,
    QosClass,
    RequiredOrPreferred,
)
from placer_models.selectors import Labels


@dataclass(frozen=True, slots=True)
class ParsedPodSpec:
    """What a pod asks for.

    Attributes:
        shared_milli: The request of containers that share CPUs while others own some; it is
            not in the spec.
        lacks: Demands that Placer cannot express; a waiting pod with any is not placed.
        missing: Objects that it names but that were not read; with any it is not placed, either.
        waits: Why else it cannot be placed yet, a clause each.

    """

    spec: PodSpec
    limits: PodLimits
    lacks: tuple[str, ...] = ()
    shared_milli: int = 0
    missing: tuple[str, ...] = ()
    waits: tuple[str, ...] = ()

    def pod(self, part: KubePod) -> Pod:
        """Return the pod that asks for it."""
        identity = part.identity
        return Pod(identity.name, identity.namespace, self.spec, self.limits, part.kubelet_uid)


def parsed_spec_of_kube_pod(
    part: KubePod,
    reading: ClusterFactsForRequests,
    *,
    owns_cpus: bool = False,
    select: Iterable[tuple[str, str]] = (),
) -> ParsedPodSpec:
    """Return what a pod asks for.

    Args:
        part: The pod.
        reading: The facts that are needed to read its requests.
        owns_cpus: Whether it has CPUs of its own though no class says so, as Guaranteed pods
            have under the kubelet's static policy, in containers of whole CPUs (C2).
        select: Further labels that its node must have.

    Raises:
        IllegalPodObjectError: It asks for what no pod may ask for.

    """
    qos = qos_of(part, owns_cpus=owns_cpus)
    containers, demands = pod_containers_and_device_requests(part, reading)
    asked = {request.type for one in containers for request in one.requests.devices}
    hints, joint = part.devices.hints, part.devices.joint
    together = joint.types if joint else ()
    bind, bind_strength = _bind(part, qos)
    exclusive, exclusive_strength = exclusive_policy_of(part, qos)
    all_milli = PodSpec(containers).requests.cpu_milli
    if owns_cpus and part.pod_class.qos is None and qos.owns_cpus:
        containers = tuple(map(_sharing_nothing, containers))
    limits = {one.name: one.limits.cpu_milli for one in part.containers}
    burst = (
        bind is CpuBindPolicy.CONSTRAINED_BURST
        and not qos.owns_cpus
        and all(limits.get(one.name) is not None for one in containers)
    )
    bind = CpuBindPolicy.DEFAULT if bind is CpuBindPolicy.CONSTRAINED_BURST else bind
    affinity, vain = resolve_written_terms(
        part.constraints.affinity, part.identity.namespace, reading.around
    )
    try:
        spec = PodSpec(
            containers=pod_containers_and_device_requests(part, reading, with_limits=True)[0]
            if burst
            else containers,
            qos=qos,
            bind=BindPolicy(bind.value),
            bind_strength=bind_strength,
            alignment=part.alignment,
            node_selector=_selector(part, qos, select, reading),
            node_affinity=part.constraints.node_affinity,
            tolerations=part.constraints.tolerations,
            joint=joint if joint and set(joint.types) <= asked else None,
            labels=pod_labels_seen_by_terms(part, reading),
            affinity=affinity,
            spread=complete_spread_constraints(part.constraints.spread, reading.around),
            host_ports=part.constraints.host_ports,
            scopes=device_scopes_asked(hints, asked),
            exclusive=exclusive,
            exclusive_strength=exclusive_strength,
            functions=virtual_function_selectors(hints, containers),
            constrained_burst=burst,
            strategies=device_strategies_of(
                hints, demands, together if set(together) <= asked else ()
            ),
        )
    except (DeviceRequestError, ValueError) as error:
        raise IllegalPodObjectError(
            part.identity.title, ("spec", "containers"), str(error)
        ) from None
    for fault in spec_faults(spec):
        raise IllegalPodObjectError(
            part.identity.title, ("spec",), f"{fault.path}: {fault.message}"
        )
    lacks = (*part.constraints.lacks, *vain, *inexpressible_demands(hints, asked))
    return ParsedPodSpec(
        spec,
        pod_limits_of(part),
        tuple(dict.fromkeys(lacks)),
        all_milli - spec.requests.cpu_milli if qos.owns_cpus else 0,
    )


def _sharing_nothing(container: Container) -> Container:
    """Return a container of a pod that owns CPUs, without its CPUs if they are not whole."""
    asked = container.requests
    if asked.cpu_milli % 1000 == 0:
        return container
    return replace(container, requests=replace(asked, cpu_milli=0))


def qos_of(part: KubePod, *, owns_cpus: bool = False) -> QosClass:
    """Return the QoS class of a pod, by its label, its priority class or what it asks for.

    A pod that asks for CPUs themselves, not for what others leave of them (batch-cpu), counts
    among all pods that do so, whatever its priority, as in the kubelet and the scheduler.
    """
    if part.pod_class.qos is not None:
        return part.pod_class.qos
    amounts = [part.own, part.own_limits]
    amounts += [one for c in part.containers for one in (c.requests, c.limits)]
    if part.pod_class.is_batch and not any(one.cpu_milli for one in amounts):
        return QosClass.BE
    if owns_cpus:
        return QosClass.LSR
    asks = any(one.cpu_milli or one.memory_bytes for one in amounts)
    return QosClass.LS if asks else QosClass.BE


def may_own_cpus(part: KubePod) -> bool:
    """Return whether a kubelet of the static policy gives the pod CPUs of its own (C2).

    It does if its containers make it Guaranteed and some of them ask for whole CPUs.
    """
    if part.pod_class.qos is not None or part.own.names or part.own_limits.names:
        return False
    for one in part.containers:
        asked, most = one.requests, one.limits
        if not (asked.cpu_milli and asked.memory_bytes):
            return False
        if (asked.cpu_milli, asked.memory_bytes) != (most.cpu_milli, most.memory_bytes):
            return False
    return any((one.requests.cpu_milli or 0) % 1000 == 0 for one in part.containers)


def _bind(part: KubePod, qos: QosClass) -> tuple[CpuBindPolicy, RequiredOrPreferred]:
    """Return the bind policy; without CPUs of its own only ConstrainedBurst means anything."""
    policy, strength = part.cpus.bind
    if qos.owns_cpus:
        return policy, strength
    bursts = policy is CpuBindPolicy.CONSTRAINED_BURST
    return policy if bursts else CpuBindPolicy.DEFAULT, RequiredOrPreferred.PREFERRED


def exclusive_policy_of(
    part: KubePod, qos: QosClass
) -> tuple[ExclusivePolicy | None, RequiredOrPreferred]:
    """Return the exclusive policy of a pod, None where it is the scheduler's default."""
    required, preferred = part.cpus.required_exclusive, part.cpus.preferred_exclusive
    policy = required or preferred or CpuExclusivePolicy.DEFAULT
    if not qos.owns_cpus or policy is CpuExclusivePolicy.DEFAULT:
        return None, RequiredOrPreferred.PREFERRED
    return ExclusivePolicy(
        policy.value
    ), RequiredOrPreferred.REQUIRED if required else RequiredOrPreferred.PREFERRED


def pod_labels_seen_by_terms(part: KubePod, reading: ClusterFactsForRequests) -> Labels:
    """Return the labels of a pod that terms about other pods look at."""
    found = {k: v for k, v in part.identity.labels.items() if k in reading.label_keys}
    if part.leaving and reading.around.some_leave:
        found.update([BEING_DELETED])
    if part.expected:
        found.update([NOMINATED])
    return tuple(sorted(found.items()))


def _selector(
    part: KubePod, qos: QosClass, more: Iterable[tuple[str, str]], reading: ClusterFactsForRequests
) -> tuple[tuple[str, str], ...]:
    """Return the labels that its node must have, those for known CPUs and NUMA nodes included."""
    selector = dict((*part.constraints.selector, *part.constraints.features, *more))
    if not part.node:
        selector.update([KNOWS_CPUS] if qos.owns_cpus else [])
        aligned = part.alignment not in (None, AlignmentPolicy.NONE)
        selector.update([KNOWS_NUMA_NODES] if aligned else [])
        if reading.aligned_by_default and part.alignment is None:
            selector.update([TAKES_DEFAULT_ALIGNMENT])
        if reading.counted:
            selector.update(
                selector_for_nodes_listing_devices(
                    device_amounts_asked(part, reading), reading.counted
                )
            )
    return tuple(sorted(selector.items()))


def pod_limits_of(part: KubePod) -> PodLimits:
    """Return what the containers of a pod may use at most."""
    found = (
        (one.name, ContainerLimits(one.limits.cpu_milli, one.limits.memory_bytes))
        for one in part.containers
        if one.role is not ContainerRole.INIT or one.limits.cpu_milli is not None
    )
    return tuple((name, limits) for name, limits in found if limits != NO_LIMITS)
