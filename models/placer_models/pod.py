"""Pods, their containers, gangs and gang groups: everything that wants a place."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property

from placer_models.affinity import AffinityTerm
from placer_models.device import FunctionSelector, is_mig_instance
from placer_models.device_share import DeviceShare
from placer_models.device_strategy import Strategies, device_count_strategy_fault
from placer_models.host_ports import HostPort
from placer_models.limits import PodLimits
from placer_models.network import GangNetworkLevelRule
from placer_models.node_affinity import NodeAffinity
from placer_models.policy import (
    AlignmentPolicy,
    AlignmentScope,
    BindPolicy,
    CpuLocalityWish,
    DeviceChoicePolicy,
    ExclusivePolicy,
    GatherLevel,
    JointDevicesScope,
    QosClass,
    RequiredOrPreferred,
    SameTypeDevicesScope,
)
from placer_models.records import CachedHash
from placer_models.taints import Toleration
from placer_models.topology import Hugepages
from placer_models.topology_spread import SpreadConstraint
from placer_models.typed import (
    TypeChecked,
    check_argument_types,
    check_field_types,
    suggest_argument_names,
)


class NamedInNamespace(TypeChecked):
    """A word that has a name in a namespace, such as a pod or a gang."""

    __slots__ = ()

    name: str
    namespace: str

    @property
    def key(self) -> tuple[str, str]:
        """Namespace and name."""
        return self.namespace, self.name

    @property
    def title(self) -> str:
        """The name for people: the namespace ``default`` is left out."""
        return self.name if self.namespace == "default" else f"{self.namespace}/{self.name}"


@suggest_argument_names
@dataclass(frozen=True, slots=True)
class DeviceRequest(TypeChecked):
    """Devices of one type, on one node: whole ones, or the same share of each (D5).

    Attributes:
        count: How many different devices.
        share: What is taken of each; None: the whole device, so that nobody else has a part.

    """

    type: str
    count: int
    share: DeviceShare | None = None


@suggest_argument_names
@dataclass(frozen=True, slots=True)
class Resources(TypeChecked):
    """Amounts of everything that can be asked for.

    Attributes:
        hugepages: At most one amount per size, ascending by size; no count of 0.
        devices: Ascending by type, whole ones first; no count of 0. Requests of one type
            differ in their share, and all are for different devices.
        extended: (name, amount) of resources that nodes have plain amounts of, such as
            licences; ascending by name, no amount of 0.

    """

    cpu_milli: int = 0
    memory_bytes: int = 0
    hugepages: tuple[Hugepages, ...] = ()
    devices: tuple[DeviceRequest, ...] = ()
    extended: tuple[tuple[str, int], ...] = ()

    def count_of(self, device_type: str) -> int:
        """Return how many devices of the type are asked for, whole or in part."""
        return sum(d.count for d in self.devices if d.type == device_type)

    def pages_of(self, page_bytes: int) -> int:
        """Return how many hugepages of the size are asked for."""
        return sum(h.count for h in self.hugepages if h.page_bytes == page_bytes)

    def amount_of(self, name: str) -> int:
        """Return how much of an extended resource is asked for."""
        return sum(amount for extended, amount in self.extended if extended == name)


class ContainerRole(StrEnum):
    """When a container runs."""

    APP = "app"
    INIT = "init"
    """Runs to its end before the app containers start; what it holds is used again."""
    RESTARTABLE_INIT = "restartable-init"
    """A sidecar: starts among the init containers and stays."""


@suggest_argument_names
@dataclass(frozen=True, slots=True)
class Container(TypeChecked):
    """One container of a pod.

    Attributes:
        cpu_limit_milli: The most CPU that it may use: at least the request, and equal to the
            request if the pod owns its CPUs. It decides where the pod can be under
            ``PodSpec.constrained_burst``; files have it for such pods only.

    """

    name: str
    requests: Resources
    role: ContainerRole = ContainerRole.APP
    cpu_limit_milli: int | None = None


@dataclass(frozen=True, slots=True)
class JointDevicesRequest:
    """Devices of several types side by side (D9).

    Attributes:
        types: Two device types or more; types that the pod does not ask for have no effect.

    Raises:
        ValueError: There are fewer than two types, or one stands there twice.

    """

    types: tuple[str, ...]
    scope: JointDevicesScope = JointDevicesScope.SAME_PCIE
    strength: RequiredOrPreferred = RequiredOrPreferred.PREFERRED

    def __post_init__(self) -> None:
        check_field_types(self)
        if len(set(self.types)) < max(2, len(self.types)):
            named = ", ".join(self.types) or "none"
            raise ValueError(f"got the device types {named}; expected two or more, each once")


@dataclass(frozen=True, slots=True)
class Variant:
    """What a pod asks for on some nodes, in place of what it asks for elsewhere.

    Attributes:
        labels: Labels of these nodes, which they all have; ascending by key, one at least.
        containers: What it asks for there.

    """

    labels: tuple[tuple[str, str], ...]
    containers: tuple[Container, ...]

    def __post_init__(self) -> None:
        check_field_types(self)
        if not self.labels:
            raise ValueError("got no labels; expected those of the nodes where it is asked for")


@suggest_argument_names
@dataclass(frozen=True)  # without slots, so that what it asks for is worked out only once
class PodSpec(CachedHash):
    """Everything that decides where a pod can go: pods of equal spec are interchangeable.

    Attributes:
        alignment: The pod's own policy; None: not set, so that the node's holds.
        locality: What the pod's own CPUs would like to stay within, in the order of the
            enumeration; empty counts as not set: the node's holds.
        scope: What the policy aligns together; None: as the node says.
        labels: The pod's labels, which affinities of others look at; ascending by key.
        affinity: Pods that it wants to be together with, or apart from (C18).
        node_selector: Labels, each of which the node must have; ascending by key.
        node_affinity: What else it asks, or would like, of its node.
        tolerations: Taints of nodes that it tolerates.
        joint: Devices that the pod wants side by side.
        scopes: (Device type, scope within which all its devices must be), ascending.
        exclusive: Which pods it keeps apart from, for pods that own CPUs; None: not set.
        functions: (Device type, selector), ascending: each of its shares of the type comes with
            a virtual function of the device (D9).
        constrained_burst: The LS pod stays in pools of NUMA nodes that hold its CPU limit (C8).
        strategies: Types of which it gets what it asks of one device from several devices (D9).
        device_choice: Which devices it would like its shares of; None: any (B14).
        spread: How evenly pods of its kind have to be spread over domains of nodes.
        host_ports: Ports of the node that it has for itself; ascending, each once.
        variants: What it asks for instead on some nodes: on each node the first of which the
            node has all labels (`variants.spec_on`). Where there are any, the pod goes to no node
            that has the labels of none.

    Raises:
        ValueError: A pod under ConstrainedBurst is not LS, or has a container without a CPU limit;
            or a strategy does not go with what is asked for; or variants differ in more than
            devices, or stand beside strategies.

    """

    containers: tuple[Container, ...]
    qos: QosClass = QosClass.LS
    bind: BindPolicy = BindPolicy.DEFAULT
    bind_strength: RequiredOrPreferred = RequiredOrPreferred.PREFERRED
    alignment: AlignmentPolicy | None = None
    node_selector: tuple[tuple[str, str], ...] = ()
    node_affinity: NodeAffinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    joint: JointDevicesRequest | None = None
    labels: tuple[tuple[str, str], ...] = ()
    affinity: tuple[AffinityTerm, ...] = ()
    scopes: tuple[tuple[str, SameTypeDevicesScope], ...] = ()
    locality: tuple[CpuLocalityWish, ...] = ()
    exclusive: ExclusivePolicy | None = None
    exclusive_strength: RequiredOrPreferred = RequiredOrPreferred.PREFERRED
    scope: AlignmentScope | None = None
    functions: tuple[tuple[str, FunctionSelector], ...] = ()
    constrained_burst: bool = False
    strategies: Strategies = ()
    device_choice: DeviceChoicePolicy | None = None
    spread: tuple[SpreadConstraint, ...] = ()
    host_ports: tuple[HostPort, ...] = ()
    variants: tuple[Variant, ...] = ()

    __hash__ = CachedHash.__hash__

    def __post_init__(self) -> None:
        check_field_types(self)
        if self.variants:
            self._check_variants()
        if self.strategies:
            self._check_strategies()
        if self.constrained_burst and (
            self.qos is not QosClass.LS
            or any(container.cpu_limit_milli is None for container in self.containers)
        ):
            raise ValueError(
                "a pod of ConstrainedBurst is LS, and each of its containers has a CPU limit"
            )

    def _check_variants(self) -> None:
        if self.strategies:
            raise ValueError("variants and strategies both say how many devices; keep one of them")
        several = [self.containers, *(one.containers for one in self.variants)]
        if len(set(map(without_devices, several))) > 1:
            raise ValueError("variants differ in more than devices")

    @property
    def each(self) -> tuple["PodSpec", ...]:
        """All that the pod asks for, without variants: once, or once for each of them."""
        return self.resolved if self.variants else (self,)

    @cached_property
    def resolved(self) -> tuple["PodSpec", ...]:
        """For each variant all that the pod asks for on its nodes."""
        return tuple(
            replace(
                self,
                containers=one.containers,
                node_selector=tuple(sorted({*self.node_selector, *one.labels})),
                variants=(),
            )
            for one in self.variants
        )

    def _check_strategies(self) -> None:
        types = self.joint.types if self.joint else ()
        by_type, counts = dict(self.strategies), device_counts_asked_by_containers(self.containers)
        for kind in by_type:
            if fault := device_count_strategy_fault(
                kind, by_type, counts, types, dict(self.scopes)
            ):
                raise ValueError(fault)

    @property
    def burst_cpus(self) -> int:
        """How many CPUs hold the pod's limit, at least 1; 0 if it is not constrained."""
        if not self.constrained_burst:
            return 0
        limits = (
            Container(c.name, Resources(c.cpu_limit_milli or 0), c.role) for c in self.containers
        )
        return max(1, -(-_phases(tuple(limits)).cpu_milli // 1000))

    @property
    def bind_required(self) -> bool:
        """Whether the bind policy may not be broken; Default is never required."""
        return (
            self.bind_strength is RequiredOrPreferred.REQUIRED
            and self.bind is not BindPolicy.DEFAULT
        )

    @cached_property
    def wants_locality(self) -> bool:
        """Whether it matters how far apart the things that the pod holds are.

        It does if the pod owns CPUs, has devices, or is kept where the pool holds its limit, and
        holds more than one thing in all.
        """
        asked = self.requests
        shapes = sum(request.count for request in asked.devices) + self.burst_cpus
        shapes += asked.cpu_milli // 1000 if self.qos.owns_cpus else 0
        several = shapes > 1 or asked.memory_bytes or asked.hugepages or self.strategies
        return bool(shapes and several)

    def scope_of(self, device_type: str) -> SameTypeDevicesScope:
        """Return the scope within which all devices of the type must be."""
        return dict(self.scopes).get(device_type, SameTypeDevicesScope.NODE)

    def rule_counting(self, request: DeviceRequest) -> str:
        """Return the name of the rule by which one of the pod's requests is counted."""
        if request.type in dict(self.strategies):
            return "device-strategy"
        if request.share:
            return "device-share"
        return "mig" if is_mig_instance(request.type) else "device-count"

    @property
    def exclusive_required(self) -> bool:
        """Whether the pod must be kept apart."""
        required = self.exclusive_strength is RequiredOrPreferred.REQUIRED
        return required and self.exclusive not in (None, ExclusivePolicy.NONE)

    @cached_property
    def requests(self) -> Resources:
        """The most of each resource that any phase needs; sidecars count from their start on."""
        return _phases(self.containers)


@suggest_argument_names
@dataclass(frozen=True, slots=True)
class Pod(NamedInNamespace):
    """One pod. Its key (namespace, name) is unique in an instance.

    Attributes:
        limits: The most that its containers may use on the node that it comes to.
        uid: The uid by which the kubelet names its cgroups; empty if no kubelet runs it.

    """

    name: str
    namespace: str
    spec: PodSpec
    limits: PodLimits = ()
    uid: str = ""


@suggest_argument_names
@dataclass(frozen=True, slots=True)
class Gang(NamedInNamespace):
    """Pods that run together: at least the minimum of them, or none (G1).

    A lone pod's gang has the pod's key.

    Attributes:
        weight: How much the gang counts inside its priority level.
        gather: Where the members must come together; None: anywhere.
        lone: Whether the gang stands for a single pod that belongs to no gang.
        levels: What it asks of levels of the network.

    """

    name: str
    namespace: str
    pods: tuple[Pod, ...]
    minimum: int
    priority: int = 0
    weight: int = 1
    gather: GatherLevel | None = None
    lone: bool = False
    levels: tuple[GangNetworkLevelRule, ...] = ()


@dataclass(frozen=True, slots=True)
class GangGroup(NamedInNamespace):
    """Gangs, by their keys, of which either all reach their minimum or none does (G1)."""

    name: str
    namespace: str
    gangs: tuple[tuple[str, str], ...]


@check_argument_types
def lone_gang(pod: Pod, *, priority: int = 0, weight: int = 1) -> Gang:
    """Return the gang of one pod that stands for a pod without a gang."""
    return Gang(
        name=pod.name,
        namespace=pod.namespace,
        pods=(pod,),
        minimum=1,
        priority=priority,
        weight=weight,
        lone=True,
    )


def without_replica_number(name: str) -> str:
    """Return the name without the number that a replica ends with."""
    stem, dash, number = name.rpartition("-")
    return stem if dash and number.isdecimal() else name


def without_devices(containers: tuple[Container, ...]) -> tuple[Container, ...]:
    """Return containers that ask for all but devices."""
    return tuple(replace(one, requests=replace(one.requests, devices=())) for one in containers)


def _phases(containers: tuple[Container, ...]) -> Resources:
    """Return the largest need over the phases of a pod's life, for each amount by itself."""
    if len(containers) == 1 and containers[0].role is ContainerRole.APP:
        asked = containers[0].requests
        # With one of each at most there is nothing to put in order.
        if len(asked.devices) <= 1 and len(asked.hugepages) <= 1 and len(asked.extended) <= 1:
            return asked
    sidecars: list[Resources] = []
    phases: list[list[Resources]] = []
    for container in containers:
        if container.role is ContainerRole.RESTARTABLE_INIT:
            sidecars.append(container.requests)
        elif container.role is ContainerRole.INIT:
            phases.append([*sidecars, container.requests])
    phases.append(sidecars + [c.requests for c in containers if c.role is ContainerRole.APP])
    return _combined([_combined(phase, sum) for phase in phases], max)


def _combined(parts: list[Resources], combine: Callable[[Iterable[int]], int]) -> Resources:
    """Return one need for several: for each amount by itself the sum, or the largest."""
    return Resources(
        cpu_milli=combine(p.cpu_milli for p in parts),
        memory_bytes=combine(p.memory_bytes for p in parts),
        hugepages=tuple(
            Hugepages(size, combine(p.pages_of(size) for p in parts))
            for size in sorted({h.page_bytes for p in parts for h in p.hugepages})
        ),
        devices=tuple(
            DeviceRequest(kind, combine(_devices(p, kind, share) for p in parts), share)
            for kind, share in _kinds(parts)
        ),
        extended=tuple(
            (name, combine(p.amount_of(name) for p in parts))
            for name in sorted({name for p in parts for name, _ in p.extended})
        ),
    )


def _kinds(parts: list[Resources]) -> list[tuple[str, DeviceShare | None]]:
    """Return each (type, share) asked for, by type, whole devices first, else as first met."""
    met = dict.fromkeys((d.type, d.share) for p in parts for d in p.devices)
    return sorted(met, key=lambda kind: (kind[0], kind[1] is not None))


def _devices(resources: Resources, kind: str, share: DeviceShare | None) -> int:
    return sum(d.count for d in resources.devices if (d.type, d.share) == (kind, share))


def device_counts_asked_by_containers(containers: Iterable[Container]) -> Counter[str]:
    """Return device type -> how many devices the containers ask for in all."""
    counts: Counter[str] = Counter()
    for container in containers:
        for request in container.requests.devices:
            counts[request.type] += request.count
    return counts


def pods_of_gangs(gangs: tuple[Gang, ...]) -> Iterator[Pod]:
    """Yield the pods of the gangs, in order."""
    for gang in gangs:
        yield from gang.pods
