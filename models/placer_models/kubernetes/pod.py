"""Pod objects: what a pod asks for, what of its place, and what it holds where it runs."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from placer_models.annotations.device_allocated import (
    DeviceAllocatedEntry,
    read_device_allocated_annotation,
)
from placer_models.annotations.device_hint import DeviceAllocateHint, read_device_hints_annotation
from placer_models.annotations.json_parts import LocatedJsonValue
from placer_models.annotations.names import (
    DEVICE_ALLOCATE_HINT,
    DEVICE_ALLOCATED,
    MEMORY_STATUS,
    RESOURCE_SPEC,
    RESOURCE_STATUS,
)
from placer_models.annotations.resource_spec import (
    ResourceSpecAnnotation,
    read_resource_spec_annotation,
)
from placer_models.annotations.resource_status import (
    ResourceStatusAnnotation,
    ResourceStatusNumaNode,
    read_resource_status_annotation,
)
from placer_models.device import GPU
from placer_models.device_request import WHOLE_GPUS
from placer_models.environment import Env
from placer_models.files.part import check_id
from placer_models.kubernetes.names import (
    CONFIG_MIRROR,
    DEVICE_JOINT_ALLOCATE,
    GPU_PARTITION_SPEC,
    NUMA_TOPOLOGY_SPEC,
)
from placer_models.kubernetes.object_fields import (
    KubeObjectFieldValue,
    KubeObjectIdentity,
    Object,
    first_annotation_present,
    read_annotation,
    read_json_annotation,
    read_object_identity_and_fields,
)
from placer_models.kubernetes.placement_constraints import (
    KubePodPlacementConstraints,
    placement_constraints_of,
)
from placer_models.kubernetes.pod_claims import (
    KubePodClaim,
    claim_backed_extended_resources,
    pod_claims,
)
from placer_models.kubernetes.pod_class import QosAndPriorityClass, qos_and_priority_class_of
from placer_models.kubernetes.pod_gang import GangNamedByPod, gang_of
from placer_models.kubernetes.pod_volumes import NO_VOLUMES, PodVolumes, pod_volumes
from placer_models.kubernetes.resources import (
    NOTHING,
    KubeResourceList,
    largest_of_each_resource,
    read_resource_list,
)
from placer_models.pod import ContainerRole, JointDevicesRequest
from placer_models.policy import AlignmentPolicy, JointDevicesScope, RequiredOrPreferred
from placer_models.visible_devices import GpuVendor

KIND = "Pod"

_MAY_EXCEED = ("ephemeral-storage", "kubernetes.io/")
"""Resources whose limits may differ from requests in Kubernetes, beside CPUs and memory."""

DEFAULT_SCHEDULER = "default-scheduler"
"""The scheduler of pods that name none."""
_FILE_HASH = re.compile("[0-9a-f]{32}")

ENDED = ("Succeeded", "Failed")
"""Phases of pods that no longer hold anything."""


@dataclass(frozen=True, slots=True)
class KubeContainer:
    """What a container asks for.

    Attributes:
        requests: The requests; a limit stands for a missing request, as in Kubernetes.
        visible: The variables of its environment that name GPUs.

    """

    name: str
    role: ContainerRole
    requests: KubeResourceList
    limits: KubeResourceList
    visible: Env = ()


@dataclass(frozen=True, slots=True)
class DeviceRequestAnnotations:
    """Annotations about a pod's devices."""

    hints: Mapping[str, DeviceAllocateHint] = field(default_factory=dict)
    joint: JointDevicesRequest | None = None


_NODE_OWNERS = frozenset({"DaemonSet", "Node"})
"""Kinds of owners whose pods run for their node; a node owns the objects of its static pods."""

NO_SPEC = ResourceSpecAnnotation()
NO_WISHES = DeviceRequestAnnotations()


@dataclass(frozen=True, slots=True)
class KubePod:
    """The contents of a Pod object.

    Attributes:
        node: The node that it is bound to; empty if it waits.
        ended: Whether it has ended, so that it holds nothing.
        gates: Names of its scheduling gates; with any it is not to be placed yet.
        scheduler: The name of the scheduler that is to place it.
        nominated: The node where its scheduler makes room for it; empty if there is none.
        expected: Whether its node is that one, to which it has not come yet.
        leaving: Whether it is being deleted; it holds what it has until it is gone.
        priority: The value, or None if it is not given.
        containers: The containers in the order of their start, init containers first.
        overhead: Overhead of the pod, beside its containers.
        own: Requests of the pod as a whole, which take precedence over its containers'.
        alignment: Its own NUMA policy, or None if it has none.
        status: The CPUs and NUMA nodes that it was given, or None if that is not said.
        memory_status: Placer's own annotation on where its memory counts, or None.
        allocated: The devices that it was given, or None if that is not said.
        claims: Its claims.
        volumes: Its volumes that only some nodes reach.
        kubelet_uid: The uid by which the kubelet of its node knows it; empty if it was never in
            a cluster.
        of_node: Whether it runs for its node and ends with it: it is a DaemonSet's, or static.

    """

    identity: KubeObjectIdentity
    containers: tuple[KubeContainer, ...]
    pod_class: QosAndPriorityClass
    constraints: KubePodPlacementConstraints
    node: str = ""
    ended: bool = False
    gates: tuple[str, ...] = ()
    scheduler: str = DEFAULT_SCHEDULER
    nominated: str = ""
    expected: bool = False
    leaving: bool = False
    priority: int | None = None
    priority_class: str = ""
    overhead: KubeResourceList = NOTHING
    own: KubeResourceList = NOTHING
    own_limits: KubeResourceList = NOTHING
    gang: GangNamedByPod | None = None
    cpus: ResourceSpecAnnotation = NO_SPEC
    alignment: AlignmentPolicy | None = None
    devices: DeviceRequestAnnotations = NO_WISHES
    status: ResourceStatusAnnotation | None = None
    memory_status: ResourceStatusAnnotation | None = None
    allocated: tuple[DeviceAllocatedEntry, ...] | None = None
    claims: tuple[KubePodClaim, ...] = ()
    volumes: PodVolumes = NO_VOLUMES
    kubelet_uid: str = ""
    of_node: bool = False

    @property
    def memory(self) -> tuple[ResourceStatusNumaNode, ...]:
        """Its memory by NUMA node, hugepages included; empty if that is not said."""
        if self.memory_status is not None and self.memory_status.numa:
            return self.memory_status.numa
        return self.status.numa if self.status else ()


_GPU_VARIABLES = frozenset(GpuVendor)


def read_kube_pod(found: Object) -> KubePod:
    """Return the contents of a Pod object.

    Raises:
        KubernetesObjectError: Something is wrong with it.

    """
    identity, root = read_object_identity_and_fields(found, KIND, namespaced=True)
    spec = root.get("spec")
    containers = (
        *(_container(item, init=True) for item in spec.get("initContainers").items()),
        *(_container(item) for item in spec.get("containers").items()),
    )
    if not any(container.role is ContainerRole.APP for container in containers):
        spec.get("containers").refuse("names no container; a pod has one or more")
    node = spec.get("nodeName").text("")
    if node:
        containers = _resized(containers, spec, root.get("status"))
    if claimed := claim_backed_extended_resources(root.get("status")):
        containers = tuple(container_without_claimed(one, claimed) for one in containers)
    own, own_limits = _requests(spec.get("resources"))
    partitions = first_annotation_present(root, GPU_PARTITION_SPEC)
    constraints = placement_constraints_of(
        spec, identity.namespace, tuple(sorted(identity.labels.items()))
    )
    if partitions:
        constraints = constraints.lacking(f"the annotation {GPU_PARTITION_SPEC}")
    return KubePod(
        identity=identity,
        containers=containers,
        pod_class=qos_and_priority_class_of(root),
        constraints=constraints,
        node=node,
        ended=root.get("status", "phase").text("") in ENDED,
        gates=tuple(item.get("name").text() for item in spec.get("schedulingGates").items()),
        scheduler=spec.get("schedulerName").text("") or DEFAULT_SCHEDULER,
        nominated=root.get("status", "nominatedNodeName").text(""),
        leaving=root.get("metadata", "deletionTimestamp").there,
        priority=_priority(spec.get("priority")),
        priority_class=spec.get("priorityClassName").text(""),
        overhead=read_resource_list(spec.get("overhead")),
        own=own,
        own_limits=own_limits,
        gang=gang_of(root, identity.namespace),
        cpus=read_annotation(root, read_resource_spec_annotation, RESOURCE_SPEC) or NO_SPEC,
        alignment=read_json_annotation(root, _alignment, NUMA_TOPOLOGY_SPEC),
        devices=DeviceRequestAnnotations(
            read_annotation(root, read_device_hints_annotation, DEVICE_ALLOCATE_HINT) or {},
            read_json_annotation(root, _joint, DEVICE_JOINT_ALLOCATE),
        ),
        status=read_annotation(root, read_resource_status_annotation, RESOURCE_STATUS),
        memory_status=read_annotation(root, read_resource_status_annotation, MEMORY_STATUS),
        allocated=read_annotation(root, read_device_allocated_annotation, DEVICE_ALLOCATED),
        claims=pod_claims(spec, root.get("status")),
        volumes=pod_volumes(spec, identity.name),
        kubelet_uid=_kubelet_uid(root),
        of_node=_is_of_node(root),
    )


def _is_of_node(root: KubeObjectFieldValue) -> bool:
    """Return whether a DaemonSet or a node's own files made the pod."""
    owners = root.get("metadata", "ownerReferences").items()
    kinds = {owner.get("kind").text("") for owner in owners}
    return bool(kinds & _NODE_OWNERS) or first_annotation_present(root, CONFIG_MIRROR) is not None


def _kubelet_uid(root: KubeObjectFieldValue) -> str:
    """Return the uid by which the kubelet knows a pod.

    A static pod's uid is the hash of its file; the API server's object, its mirror, has another
    one and says the hash in an annotation. Anybody may write that on a pod: so it is believed
    only if it has the form of a hash, which the uid of no other pod has.
    """
    mirrored = first_annotation_present(root, CONFIG_MIRROR)
    if mirrored and _FILE_HASH.fullmatch(mirrored.text()):
        return mirrored.text()
    uid = root.get("metadata", "uid")
    try:
        return check_id(text) if (text := uid.text("")) else ""
    except ValueError as error:
        uid.refuse(str(error))


def _priority(part: KubeObjectFieldValue) -> int | None:
    return part.integer(least=-(2**31)) if part.there else None


def _container(part: KubeObjectFieldValue, *, init: bool = False) -> KubeContainer:
    role = ContainerRole.APP
    if init:
        always = part.get("restartPolicy").text("") == "Always"
        role = ContainerRole.RESTARTABLE_INIT if always else ContainerRole.INIT
    requests, limits = _requests(part.get("resources"))
    return KubeContainer(part.get("name").text(), role, requests, limits, _visible(part.get("env")))


def container_without_claimed(
    one: KubeContainer, claimed: frozenset[tuple[str, str]]
) -> KubeContainer:
    """Return a container without the resources, (container, resource), that claims give it."""

    def less(amounts: KubeResourceList) -> KubeResourceList:
        kept = {n: amount for n, amount in amounts.other.items() if (one.name, n) not in claimed}
        return replace(amounts, other=kept)

    return replace(one, requests=less(one.requests), limits=less(one.limits))


def _requests(part: KubeObjectFieldValue) -> tuple[KubeResourceList, KubeResourceList]:
    """Return requests and limits; a resource that has only a limit is requested up to it."""
    asked = part.get("requests")
    requests, limits = read_resource_list(asked), read_resource_list(part.get("limits"))
    for what, want, most in (
        ("cpu", requests.cpu_milli, limits.cpu_milli),
        ("memory", requests.memory_bytes, limits.memory_bytes),
    ):
        if want is not None and most is not None and want > most:
            limit = part.get("limits", what)
            limit.refuse(f"got {limit.got}; expected at least the request, {asked.get(what).got}")
    pages = {f"hugepages of {size} bytes": n for size, n in requests.hugepages.items()}
    most_pages = {f"hugepages of {size} bytes": n for size, n in limits.hugepages.items()}
    for name, amount in (*requests.other.items(), *pages.items()):
        most = {**limits.other, **most_pages}.get(name, amount)
        if amount != most and not name.startswith(_MAY_EXCEED):
            part.get("limits").refuse(
                f"the limit of {name} is {most}; expected the request, {amount}"
            )
    filled = KubeResourceList(
        limits.cpu_milli if requests.cpu_milli is None else requests.cpu_milli,
        limits.memory_bytes if requests.memory_bytes is None else requests.memory_bytes,
        {**limits.hugepages, **requests.hugepages},
        {**limits.other, **requests.other},
    )
    return filled, limits


def _resized(
    containers: tuple[KubeContainer, ...], spec: KubeObjectFieldValue, status: KubeObjectFieldValue
) -> tuple[KubeContainer, ...]:
    """Return the containers of a bound pod; during a resize the larger amounts count.

    These are the larger of what a container is to get and what it has. If the kubelet says that
    it can never get the former, only what it has counts.
    """
    statuses = {
        item.get("name").text(): item
        for kind in ("containerStatuses", "initContainerStatuses")
        for item in status.get(kind).items()
        if item.get("resources").there
    }
    for kind in ("containers", "initContainers"):
        for item in spec.get(kind).items() if statuses else ():
            if (has := statuses.get(item.get("name").text())) is None:
                continue
            asked, now = item.get("resources"), has.get("resources")
            allocated = has.get("allocatedResources").value
            if asked.value == now.value and asked.get("requests").value == allocated:
                del statuses[item.get("name").text()]  # as for nearly all: nothing is resized
    if not statuses:
        return containers
    never = any(
        item.get("type").value == "PodResizePending" and item.get("reason").value == "Infeasible"
        for item in status.get("conditions").items()
    )
    return tuple(_counted(one, statuses.get(one.name), never=never) for one in containers)


def _counted(
    one: KubeContainer, status: KubeObjectFieldValue | None, *, never: bool
) -> KubeContainer:
    if status is None:
        return one
    has = status.get("resources")
    held = [
        read_resource_list(status.get("allocatedResources")),
        read_resource_list(has.get("requests")),
    ]
    most = [read_resource_list(has.get("limits"))]
    return replace(
        one,
        requests=largest_of_each_resource(held if never else [one.requests, *held]),
        limits=largest_of_each_resource(most if never else [one.limits, *most]),
    )


def _visible(part: KubeObjectFieldValue) -> Env:
    """Return the variables that show GPUs; if one is there twice the last one counts."""
    found = {}
    for item in part.items():
        value = item.get("value")
        if value.there and (name := item.get("name").text("")) in _GPU_VARIABLES:
            found[name] = value.text()
    return tuple(sorted(found.items()))


def _alignment(whole: LocatedJsonValue) -> AlignmentPolicy | None:
    fields = whole.fields(("numaTopologyPolicy", "singleNUMANodeExclusive", "numaAllocateStrategy"))
    said = fields.get("numaTopologyPolicy")
    return said.word(AlignmentPolicy) if said is not None and said.value != "" else None


def _joint(whole: LocatedJsonValue) -> JointDevicesRequest | None:
    fields = whole.fields(("deviceTypes", "requiredScope"), strict=True)
    listed = fields["deviceTypes"].items() if "deviceTypes" in fields else []
    types = [GPU if one.text() in WHOLE_GPUS else one.text() for one in listed]
    if len(types) < 2:
        return None
    scope = fields.get("requiredScope")
    if scope is None or scope.value == "":
        return JointDevicesRequest(tuple(dict.fromkeys(types)))
    return JointDevicesRequest(
        tuple(dict.fromkeys(types)), scope.word(JointDevicesScope), RequiredOrPreferred.REQUIRED
    )
