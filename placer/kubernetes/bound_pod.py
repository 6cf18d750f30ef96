"""Reader of a pod that is bound to a node, with its CPUs and devices there (C2)."""

from collections import Counter
from dataclasses import dataclass, field, replace

from placer.kubernetes.held_claims import DevicesHeldByClaimsOfDump
from placer.kubernetes.held_devices import (
    DevicesHeldByKubePod,
    held_devices,
    minors_of_pod_in_device_status,
)
from placer.kubernetes.summary import DumpSummary
from placer_models.annotations.names import RESOURCE_STATUS
from placer_models.cluster import Node
from placer_models.cpuset import CpuSet, format_cpu_list
from placer_models.device import DeviceKey
from placer_models.files.tree import field_path_text
from placer_models.instance.device_holders import DeviceHolderLedger
from placer_models.kubernetes.claimed import PodResourcesByClaims, spec_with_claims
from placer_models.kubernetes.device import KubeKoordinatorDevice
from placer_models.kubernetes.illegal_pod import device_types_asked, read_illegal_pod_spec
from placer_models.kubernetes.join import NodeFromObjects
from placer_models.kubernetes.object_fields import IllegalPodObjectError, KubernetesObjectError
from placer_models.kubernetes.pod import KubePod
from placer_models.kubernetes.pod_containers import ClusterFactsForRequests
from placer_models.kubernetes.pod_spec import ParsedPodSpec, may_own_cpus, parsed_spec_of_kube_pod
from placer_models.kubernetes.topology import KubeNodeResourceTopology
from placer_models.message_text import cpu_ids_with_noun
from placer_models.placement import DeviceGrant
from placer_models.pod import PodSpec
from placer_models.policy import BindPolicy, QosClass, RequiredOrPreferred

_STATUS = ("metadata", "annotations", RESOURCE_STATUS)
"""The field in which a pod names its CPUs."""


@dataclass(slots=True)
class KubeRunningPod:
    """One bound pod, as far as it is read.

    Attributes:
        illegal: What it asks for that no pod may ask for, in one line.

    """

    part: KubePod
    asked: ParsedPodSpec
    cpus: CpuSet
    devices: tuple[DeviceGrant, ...]
    illegal: str = ""


@dataclass(slots=True)
class UnseenHoldings:
    """What pods of a node hold, or may hold, unseen: nobody else gets it.

    Attributes:
        unknown: Types of which some pod holds devices, but it is unknown which.
        unasked: Devices that some pod has or sees without asking for them.
        checkpoint: Those of ``unasked`` that the kubelet's checkpoint names.
        unresolved: Those of ``unknown`` of which the checkpoint has ids that nobody knows.
        hides_cpus: Whether some pod owns CPUs, but it is unknown which.

    """

    unknown: set[str] = field(default_factory=set)
    unasked: set[DeviceKey] = field(default_factory=set)
    checkpoint: set[DeviceKey] = field(default_factory=set)
    unresolved: set[str] = field(default_factory=set)
    hides_cpus: bool = False


@dataclass(slots=True)
class KubeRunningPodReader:
    """Reads the bound pods of one node, one after the other.

    Attributes:
        joined: The node.
        topology: What the node's agent says of its CPUs and their owners.
        devices: What is known of its devices.
        claims: Devices that ResourceClaims were given.
        reading: The facts that are needed to read containers.
        summary: Gets the assumptions that are made.
        unseen: What the pods hold, or may hold, unseen.
        owners: CPU -> title of the pod that owns it.
        holders: The holders of the node's devices.
        taken: Devices that are held by unknown holders.

    """

    joined: NodeFromObjects
    topology: KubeNodeResourceTopology | None
    devices: KubeKoordinatorDevice | None
    claims: DevicesHeldByClaimsOfDump
    reading: ClusterFactsForRequests
    summary: DumpSummary
    unseen: UnseenHoldings = field(default_factory=UnseenHoldings)
    owners: dict[int, str] = field(default_factory=dict)
    holders: DeviceHolderLedger = field(default_factory=DeviceHolderLedger)
    taken: list[DeviceKey] = field(init=False)

    def __post_init__(self) -> None:
        self.taken = list(self.joined.taken)

    def read(self, part: KubePod) -> KubeRunningPod:
        """Return a pod with its CPUs and devices; of an illegal one, as far as they are named.

        Raises:
            KubernetesObjectError: It holds what the node lacks, or what another pod holds.

        """
        try:
            cpus = self._cpus(part)
            asked = self._asked(part, cpus)
        except IllegalPodObjectError as error:
            return self._illegal(part, f"{field_path_text(error.path)}: {error.message}")
        if part.claims and self.claims.cpus.of_pod(part) is None:
            # CPUs that nobody names count, too, beyond those that its containers ask for.
            more_milli = self.claims.cpus.milli_of_pod(part) - asked.spec.requests.cpu_milli
            shared_milli = max(asked.shared_milli, more_milli)
            asked = replace(asked, shared_milli=shared_milli)
        if asked.spec.qos.owns_cpus:
            want = asked.spec.requests.cpu_milli // 1000
            _own(part, want, cpus, self.joined.node, self.owners)
        else:
            cpus = frozenset()
        grants = self._held(part, asked.spec).grants
        if part.claims:
            claimed = self._claimed(part, grants)
            asked = spec_with_claims(
                asked, PodResourcesByClaims(Counter(one.type for one in claimed))
            )
            grants = tuple(sorted((*grants, *claimed), key=lambda one: (one.type, one.minor)))
        return KubeRunningPod(part, asked, cpus, grants)

    def _illegal(self, part: KubePod, what: str) -> KubeRunningPod:
        """Return a pod that asks for what no pod may ask for, with what it holds all the same.

        CPUs and devices count as far as somebody names them; if nobody does, no more of the kind
        are given out on the node.

        Raises:
            KubernetesObjectError: It holds what the node lacks, or what another pod holds.

        """
        self.summary.assume(
            "illegal pods that run: misfits, of which all counts that they hold",
            part.identity.title,
        )
        cpus = _cpus_of(part, self.topology)
        if not cpus and part.claims:
            cpus = self.claims.cpus.of_pod(part) or frozenset()
        asked = read_illegal_pod_spec(part, self.reading, len(cpus))
        if not asked.spec.qos.owns_cpus:
            cpus = frozenset()
        elif cpus:
            _own(part, len(cpus), cpus, self.joined.node, self.owners)
        else:
            self._hide_cpus(part)
            asked = replace(asked, spec=_shared(asked.spec))
        return KubeRunningPod(part, asked, cpus, self._named_devices(part, asked.spec), what)

    def _named_devices(self, part: KubePod, spec: PodSpec) -> tuple[DeviceGrant, ...]:
        """Return the devices that an illegal pod is said to hold, and close what it may hold."""
        held = self._held(part, spec)
        grants = held.grants
        if part.claims:
            grants = (*grants, *self._claimed(part, grants))
        named = {one.type for one in grants} | {kind for kind, _ in held.unasked}
        hidden = set()
        for kind in device_types_asked(part, self.reading) - named:
            minors = {
                (kind, minor) for minor in minors_of_pod_in_device_status(part, kind, self.devices)
            }
            self.unseen.unasked |= minors
            hidden |= set() if minors else {kind}
        if hidden:
            self._hide_devices(part, frozenset(hidden))
        return tuple(sorted(grants, key=lambda one: (one.type, one.minor)))

    def _cpus(self, part: KubePod) -> CpuSet:
        """Return the CPUs named as the pod's own, or by its claims if these give all of them.

        A pod is not believed about CPUs that its node lacks if the node contradicts itself, too.
        """
        cpus = _cpus_of(part, self.topology)
        doubted = self.topology is not None and self.topology.doubted
        if doubted and not cpus <= self.joined.node.machine.topology.cpu.keys():
            self._hide_cpus(part)
            cpus = frozenset()
        if cpus or not part.claims:
            return cpus
        claimed = self.claims.cpus.of_pod(part)
        if claimed is None:
            self._hide_cpus(part)
        if not claimed:
            return cpus
        milli = parsed_spec_of_kube_pod(part, self.reading, owns_cpus=True).spec.requests.cpu_milli
        return claimed if milli == 1000 * len(claimed) else cpus

    def _asked(self, part: KubePod, cpus: CpuSet) -> ParsedPodSpec:
        """Return what a pod asks for; it shares CPUs if none are named as its own."""
        owns = bool(cpus) or (self.joined.kubelet_is_static and may_own_cpus(part))
        asked = parsed_spec_of_kube_pod(part, self.reading, owns_cpus=owns)
        if cpus or not asked.spec.qos.owns_cpus:
            return asked
        self._hide_cpus(part)
        asked = parsed_spec_of_kube_pod(part, self.reading)
        return replace(asked, spec=_shared(asked.spec)) if asked.spec.qos.owns_cpus else asked

    def _hide_cpus(self, part: KubePod) -> None:
        self.summary.assume(
            "pods whose own CPUs nobody names: no more are given out there",
            part.identity.title,
        )
        self.unseen.hides_cpus = True

    def _hide_devices(self, part: KubePod, types: frozenset[str]) -> None:
        self.summary.assume(
            "pods whose devices nobody names: no more of the type are given out there",
            part.identity.title,
        )
        self.unseen.unknown |= types

    def _held(self, part: KubePod, spec: PodSpec) -> DevicesHeldByKubePod:
        """Return the devices that a pod holds or sees beside its claims; note which nobody gets."""
        held = held_devices(part, spec, self.joined, self.devices, self.holders, self.taken)
        if held.unresolved:
            self.summary.assume(
                "pods whose devices a kubelet's checkpoint names by ids that nobody knows: "
                "no more of the type are given out there",
                part.identity.title,
            )
        if nameless := held.unknown - held.unresolved:
            self._hide_devices(part, nameless)
        self.unseen.unknown |= held.unknown
        self.unseen.unresolved |= held.unresolved
        self.unseen.checkpoint |= held.checkpoint
        if held.unasked:
            self.summary.assume(
                "pods that see devices beyond what they ask for: these are given to nobody",
                part.identity.title,
            )
            self.unseen.unasked |= held.unasked
        return held

    def _claimed(self, part: KubePod, own: tuple[DeviceGrant, ...]) -> tuple[DeviceGrant, ...]:
        """Return the devices that a pod holds by claims, as far as they are named."""
        claimed = self.claims.grants(part, own, self.holders, self.summary)
        if claimed is None:
            here = self.claims.pools.devices(self.joined.node.name)
            self.unseen.unknown |= {one.type for one in here}
            return ()
        return claimed


def _cpus_of(part: KubePod, topology: KubeNodeResourceTopology | None) -> CpuSet:
    """Return the CPUs that a pod owns, as far as they are named."""
    if part.status is not None and part.status.cpuset:
        return part.status.cpuset
    for alloc in topology.owners if topology else ():
        if (
            alloc.uid == part.identity.uid
            if alloc.uid and part.identity.uid
            else ((alloc.namespace or "default", alloc.name) == part.identity.key)
        ):
            return alloc.cpuset
    return frozenset()


def _shared(spec: PodSpec) -> PodSpec:
    """Return the spec of a pod whose own CPUs are unknown, as of one that shares CPUs."""
    return replace(
        spec,
        qos=QosClass.LS,
        bind=BindPolicy.DEFAULT,
        bind_strength=RequiredOrPreferred.PREFERRED,
        locality=(),
        exclusive=None,
        exclusive_strength=RequiredOrPreferred.PREFERRED,
        scope=None,
    )


def _own(part: KubePod, want: int, cpus: CpuSet, node: Node, owners: dict[int, str]) -> None:
    """Give a pod its CPUs, of which it wants so many.

    Raises:
        KubernetesObjectError: The node lacks them, another pod has them, or the pod asks for
            another number.

    """
    title = part.identity.title
    if unknown := cpus - node.machine.topology.cpu.keys():
        raise KubernetesObjectError(
            title,
            _STATUS,
            f"{cpu_ids_with_noun(unknown)}: Node {node.name} has "
            f"{format_cpu_list(node.machine.topology.cpu)}",
        )
    if len(cpus) != want:
        raise KubernetesObjectError(
            title,
            _STATUS,
            f"names {len(cpus)} CPUs, {format_cpu_list(cpus)}; its containers ask for {want}",
        )
    if twice := cpus & owners.keys():
        raise KubernetesObjectError(
            title,
            _STATUS,
            f"{cpu_ids_with_noun(twice)} of Node {node.name} belongs to {owners[min(twice)]} "
            "already; a CPU has one owner",
        )
    owners.update(dict.fromkeys(cpus, title))
