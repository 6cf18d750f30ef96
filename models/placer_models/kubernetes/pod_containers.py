"""Containers of a Pod object with what each asks for, counted as Kubernetes does."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from placer_models.device_request import (
    DeviceRequestError,
    devices_asked,
    undo_request_translation,
    without_share_if_whole,
)
from placer_models.kubernetes.names import REQUESTED_CPU
from placer_models.kubernetes.object_fields import IllegalPodObjectError
from placer_models.kubernetes.pod import KubeContainer, KubePod
from placer_models.kubernetes.pod_devices import with_percent_as_device_count
from placer_models.kubernetes.pod_terms import ORDINARY, PodAffinityTermContext
from placer_models.kubernetes.resources import SUMS, KubeResourceList, counts_devices_of
from placer_models.pod import Container, ContainerRole, DeviceRequest, Resources
from placer_models.topology import hugepages_of_bytes

OF_THE_POD = "pod-itself"
"""The container that stands for what a pod asks for beside its containers."""

_Amounts = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ClusterFactsForRequests:
    """The facts about a cluster that are needed to read its pods' requests.

    Attributes:
        types: Types of the devices that are known one by one; all others are plain amounts.
        label_keys: Keys of the pod labels that affinity and spread look at.
        sums_cpus: Whether some pod of the BE pool asks for `cpu`. The scheduler and the kubelet
            count that with all other requests, so the sum is a resource of its own.
        aligned_by_default: Whether a pod without a NUMA policy goes by that of the scheduler's
            default, so that the NUMA nodes of its node have to be known (C22).
        counted: (Type, resource) of devices that some nodes only count.
        around: What decides what terms about other pods mean.

    """

    types: frozenset[str] = frozenset()
    label_keys: frozenset[str] = frozenset()
    sums_cpus: bool = False
    aligned_by_default: bool = False
    counted: frozenset[tuple[str, str]] = frozenset()
    around: PodAffinityTermContext = ORDINARY


def pod_containers_and_device_requests(
    part: KubePod,
    reading: ClusterFactsForRequests,
    *,
    with_limits: bool = False,
    with_devices: bool = True,
) -> tuple[tuple[Container, ...], tuple[DeviceRequest, ...]]:
    """Return the containers of a pod, and what they ask of devices.

    Overhead becomes a sidecar that starts before all others. So does what the pod asks for as a
    whole, which replaces what its containers ask for of the same resource.

    Args:
        part: The pod.
        reading: The facts that are needed to read its requests.
        with_limits: Whether the containers have their CPU limits.
        with_devices: Whether what they ask of devices is read; if not, they ask for none.

    Raises:
        IllegalPodObjectError: A request for devices breaks a rule.

    """
    parts = _with_own(part)
    devices = [_devices(one.requests.other, reading) if with_devices else {} for one in parts]
    if sum(not SUMS.isdisjoint(asked) for asked in devices) > 1:
        devices = _in_one(parts, devices)
    containers: list[Container] = []
    demands: list[DeviceRequest] = []
    for one, asked in zip(parts, devices, strict=True):
        found = _demands(part, one, asked)
        demands += found
        extended = {
            name: amount
            for name, amount in one.requests.other.items()
            if amount and name not in _devices(one.requests.other, reading)
        }
        cpu_milli = one.requests.cpu_milli or 0
        if reading.sums_cpus and cpu_milli:
            extended[REQUESTED_CPU] = cpu_milli
        containers.append(
            Container(
                one.name,
                Resources(
                    cpu_milli=cpu_milli,
                    memory_bytes=one.requests.memory_bytes or 0,
                    hugepages=hugepages_of_bytes(one.requests.hugepages),
                    devices=_requests(found),
                    extended=tuple(sorted(extended.items())),
                ),
                one.role,
                one.limits.cpu_milli if with_limits else None,
            )
        )
    return tuple(containers), tuple(demands)


def device_amounts_asked(part: KubePod, reading: ClusterFactsForRequests) -> Counter[str]:
    """Return what a pod asks of devices, by name of the resource, summed over its containers."""
    found: Counter[str] = Counter()
    for one in _with_own(part):
        found.update(_devices(one.requests.other, reading))
    return found


def _with_own(part: KubePod) -> tuple[KubeContainer, ...]:
    """Return the containers, and one more for the pod itself if it asks for something."""
    own, over = part.own, part.overhead
    if not (own.names or over.names):
        return part.containers
    kept = []
    for one in part.containers:
        asked = one.requests
        hugepages = {s: n for s, n in asked.hugepages.items() if s not in own.hugepages}
        kept.append(
            replace(
                one,
                requests=KubeResourceList(
                    asked.cpu_milli if own.cpu_milli is None else None,
                    asked.memory_bytes if own.memory_bytes is None else None,
                    hugepages,
                    asked.other,
                ),
            )
        )
    itself = KubeResourceList(
        (own.cpu_milli or 0) + (over.cpu_milli or 0),
        (own.memory_bytes or 0) + (over.memory_bytes or 0),
        dict(Counter(own.hugepages) + Counter(over.hugepages)),
        dict(Counter(own.other) + Counter(over.other)),
    )
    role = ContainerRole.RESTARTABLE_INIT
    return (KubeContainer(OF_THE_POD, role, itself, part.own_limits), *kept)


def _devices(other: _Amounts, reading: ClusterFactsForRequests) -> dict[str, int]:
    """Return what is asked of devices that are known one by one, or of shares of them."""
    return {
        name: amount
        for name, amount in other.items()
        if amount and (name in SUMS or counts_devices_of(name, reading.types))
    }


def _in_one(
    parts: Sequence[KubeContainer], devices: Sequence[dict[str, int]]
) -> list[dict[str, int]]:
    """Return all device requests on the first container with a share: only the pod's sum counts."""
    sidecars: Counter[str] = Counter()
    phases: list[Counter[str]] = []
    apps: Counter[str] = Counter()
    for one, asked in zip(parts, devices, strict=True):
        if one.role is ContainerRole.APP:
            apps.update(asked)
        elif one.role is ContainerRole.RESTARTABLE_INIT:
            sidecars.update(asked)
        else:
            phases.append(sidecars + Counter(asked))
    total = apps + sidecars
    for phase in phases:
        total |= phase
    first = next(i for i, asked in enumerate(devices) if not SUMS.isdisjoint(asked))
    return [dict(total) if i == first else {} for i in range(len(devices))]


def _demands(part: KubePod, one: KubeContainer, asked: _Amounts) -> tuple[DeviceRequest, ...]:
    if not asked:
        return ()
    amounts = undo_request_translation(asked) if part.node else dict(asked)
    try:
        return tuple(
            with_percent_as_device_count(demand, part.devices.hints.get(demand.type))
            for demand in devices_asked(amounts)
        )
    except DeviceRequestError as error:
        raise IllegalPodObjectError(
            part.identity.title,
            ("spec", "containers"),
            f"container {one.name!r}: resources: {error}",
        ) from None


def _requests(demands: Sequence[DeviceRequest]) -> tuple[DeviceRequest, ...]:
    found = map(without_share_if_whole, demands)
    return tuple(sorted(found, key=lambda request: (request.type, request.share is not None)))
