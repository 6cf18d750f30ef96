"""Pods that are bound to a node, with what they hold there (C2).

Memory and hugepages they hold by NUMA node: as they say, or as a guess.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from placer.kubernetes.bound_pod import KubeRunningPod, KubeRunningPodReader, UnseenHoldings
from placer.kubernetes.held_claims import DevicesHeldByClaimsOfDump
from placer.kubernetes.salvage import pod_without_allocation_records
from placer.kubernetes.summary import DumpSummary
from placer_models.affinity import SYSTEM_NAMESPACE
from placer_models.annotations.resource_status import ResourceStatusNumaNode
from placer_models.bound import is_bound_by_policy, numa_nodes_of_cpus, pool_on_numa_nodes
from placer_models.cluster import Node, RunningPod
from placer_models.cpuset import CpuSet
from placer_models.instance.guessed_memory import (
    MEMORY,
    Holdings,
    PodWithUnlocatedMemory,
    guessed_memory_of_running_pods,
    numa_node_with_pool_room,
    room_by_resource,
)
from placer_models.instance.guessed_room import Resource
from placer_models.instance.running_defaults import (
    numa_nodes_of_cpus_and_devices,
    running_pool_cpus_of_node,
    split_cpuset_over_containers,
)
from placer_models.kubernetes.device import KubeKoordinatorDevice
from placer_models.kubernetes.join import NodeFromObjects
from placer_models.kubernetes.object_fields import KubernetesObjectError
from placer_models.kubernetes.pod import KubePod
from placer_models.kubernetes.pod_containers import ClusterFactsForRequests
from placer_models.kubernetes.topology import KubeNodeResourceTopology
from placer_models.placement import PodPlacement
from placer_models.pod import Container, Pod, PodSpec, Resources
from placer_models.policy import QosClass
from placer_models.taints import Toleration, TolerationOperator


@dataclass(frozen=True, slots=True)
class MemoryHeldByKubePod:
    """What one pod holds, in the form of placements.

    Attributes:
        guessed: Whether some of it is a guess.

    """

    memory_bytes: tuple[tuple[int, int], ...]
    hugepages: tuple[tuple[int, int, int], ...]
    guessed: bool


def held_memory_of_bound_pods(
    read: Sequence[KubeRunningPod], node: Node, owned: Mapping[QosClass, CpuSet]
) -> list[MemoryHeldByKubePod]:
    """Return what each of the pods of a node holds.

    What a pod does not say is guessed (`guessed_memory`), beside what all others say. Memory and
    pages beyond what there is count as well, because running pods may ask for more.
    """
    asked = [one.asked.spec.requests for one in read]
    room = room_by_resource(node.memory_bytes_in(), node.pages_in(), asked)
    said = [_said(one, room) for one in read]
    for held in said:
        for resource, amounts in held.items():
            for numa, amount in amounts.items():
                room[resource][numa] -= amount
    runners = _runners(read, node, owned, said)
    several = len(node.machine.topology.numa_nodes) > 1
    found = []
    guessed = guessed_memory_of_running_pods(node, owned, runners, room)
    for own, runner, given in zip(said, runners, guessed, strict=True):
        all_of_it = {**given, **own}
        found.append(
            MemoryHeldByKubePod(
                tuple(sorted((n, size) for n, size in all_of_it[MEMORY].items() if size)),
                tuple(
                    sorted(
                        (numa, size, count)
                        for size, counts in all_of_it.items()
                        if isinstance(size, int)
                        for numa, count in counts.items()
                        if count
                    )
                ),
                guessed=several and runner.is_open,
            )
        )
    return found


def bound_pool_numa_nodes(one: KubeRunningPod, node: Node) -> tuple[ResourceStatusNumaNode, ...]:
    """Return the NUMA nodes to whose pool a pod says that it is bound; none if nothing binds it."""
    spec = one.asked.spec
    may_be = is_bound_by_policy(spec, node) or spec.constrained_burst
    return one.part.status.homes if one.part.status and may_be else ()


def numa_node_to_bind_to(
    milli: int, beside: Sequence[KubeRunningPod], node: Node, owned: Mapping[QosClass, CpuSet]
) -> int | None:
    """Return the NUMA node to whose shared pool an LS request had better be bound, if there is one.

    That is the first that can hold it beside the pods of the node, or else by itself.
    """
    runners = _runners(beside, node, owned, [{} for _ in beside])
    return numa_node_with_pool_room(milli, node, owned, runners)


def _said(one: KubeRunningPod, room: Mapping[Resource, Mapping[int, int]]) -> Holdings:
    """Return what a pod says of its memory, and of its pages, as far as it says all of it."""
    requests = one.asked.spec.requests
    said: Holdings = {}
    memory = {share.node: share.memory_bytes for share in one.part.memory}
    if sum(memory.values()) == requests.memory_bytes and memory.keys() <= room[MEMORY].keys():
        said[MEMORY] = memory
    for wanted in requests.hugepages:
        size = wanted.page_bytes
        here = {
            share.node: amount // size
            for share in one.part.memory
            for of, amount in share.hugepages_bytes
            if of == size
        }
        if sum(here.values()) == wanted.count and here.keys() <= room[size].keys():
            said[size] = here
    return said


def _runners(
    read: Sequence[KubeRunningPod],
    node: Node,
    owned: Mapping[QosClass, CpuSet],
    said: Sequence[Holdings],
) -> list[PodWithUnlocatedMemory]:
    """Return what is known of where pods are, and what is not."""
    topology = node.machine.topology
    known = {numa.id for numa in topology.numa_nodes}
    found = []
    for one, held in zip(read, said, strict=True):
        spec = one.asked.spec
        near = set(numa_nodes_of_cpus_and_devices(node, one.cpus, one.devices))
        homes = {share.node for share in bound_pool_numa_nodes(one, node)} & known
        near |= homes
        near |= {n for amounts in held.values() for n, amount in amounts.items() if amount}
        if not homes and is_bound_by_policy(spec, node):
            # It runs on all of its pool, whatever the policy wants.
            homes = set(
                numa_nodes_of_cpus(running_pool_cpus_of_node(spec.qos, node, owned), topology)
            )
        found.append(
            PodWithUnlocatedMemory(
                one.part.identity.key,
                spec,
                frozenset(near),
                frozenset(homes),
                0 if MEMORY in held else spec.requests.memory_bytes,
                {
                    h.page_bytes: h.count
                    for h in spec.requests.hugepages
                    if h.page_bytes not in held
                },
            )
        )
    return found


@dataclass(slots=True)
class RunningPodsOfKubeNode:
    """The pods of one node.

    Attributes:
        running: The pods that hold something there.
        unseen: What pods there hold, or may hold, unseen.
        pinned: CPUs that the kubelet has pinned to Guaranteed pods: BE pods do not share them,
            as they do those of other LSR pods (C6).

    """

    running: list[RunningPod]
    unseen: UnseenHoldings
    pinned: CpuSet


def read_pods_bound_to_node(
    joined: NodeFromObjects,
    topology: KubeNodeResourceTopology | None,
    devices: KubeKoordinatorDevice | None,
    pods: Iterable[KubePod],
    claims: DevicesHeldByClaimsOfDump,
    reading: ClusterFactsForRequests,
    specs: dict[PodSpec, PodSpec],
    summary: DumpSummary,
    fault: Callable[[KubernetesObjectError], None],
) -> RunningPodsOfKubeNode:
    """Return the pods of a node with what they hold.

    What a pod was given is in its annotations, or else in what its node's agent says of it. A
    faulty pod is reported to ``fault``, and counts as one of which nobody says what it holds.
    Pods of equal specs share one object in ``specs``, to which new specs are added.
    """
    reader = KubeRunningPodReader(joined, topology, devices, claims, reading, summary)
    # What a faulty pod holds is unknown; nothing comes to its node.
    nobody = KubeRunningPodReader(joined, None, None, claims, reading, DumpSummary())
    read: list[KubeRunningPod] = []
    for part in pods:
        try:
            one = reader.read(part)
        except KubernetesObjectError as error:
            fault(error)
            one = nobody.read(pod_without_allocation_records(part))
        one.asked = replace(one.asked, spec=specs.setdefault(one.asked.spec, one.asked.spec))
        read.append(one)
    pinned: CpuSet = frozenset().union(*(one.cpus for one in read if _is_pinned(one.part)))
    found = RunningPodsOfKubeNode([], reader.unseen, pinned)
    owned: dict[QosClass, CpuSet] = {}
    node = replace(joined.node, unpooled_cpus=joined.node.unpooled_cpus | pinned)
    for one in read:
        owned[one.asked.spec.qos] = owned.get(one.asked.spec.qos, frozenset()) | one.cpus
    memory = held_memory_of_bound_pods(read, node, owned)
    for one, held in zip(read, memory, strict=True):
        has_volumes = one.part.volumes.claims or one.part.volumes.disks
        stays = bool(one.part.leaving or one.part.claims or has_volumes or (one.cpus & pinned))
        place = _placement(one, node, owned, held)
        found.running.append(
            RunningPod(
                one.asked.pod(one.part),
                place,
                movable=not stays,
                illegal=one.illegal,
                guessed=held.guessed,
                of_node=one.part.of_node,
                restarts_with=_gang_of(one.part),
            )
        )
    if kept_milli := joined.kept_milli + sum(one.asked.shared_milli for one in read):
        found.running.append(_system(node, kept_milli, owned, read))
    return found


def _gang_of(part: KubePod) -> str:
    """Return the name of the gang that a pod is of, in its own namespace; empty if of none."""
    if part.gang is None or part.gang.key[0] != part.identity.namespace:
        return ""
    return part.gang.key[1]


def _is_pinned(part: KubePod) -> bool:
    """Return whether the CPUs that a pod owns, if any, are those that the kubelet gave it."""
    return part.pod_class.qos is None and not part.claims


def _placement(
    one: KubeRunningPod, node: Node, owned: Mapping[QosClass, CpuSet], held: MemoryHeldByKubePod
) -> PodPlacement:
    spec, topology = one.asked.spec, node.machine.topology
    cpuset, cpu_milli = one.cpus, None
    if not spec.qos.owns_cpus:
        cpuset = running_pool_cpus_of_node(spec.qos, node, owned)
        if homes := bound_pool_numa_nodes(one, node):
            cpuset = pool_on_numa_nodes(cpuset, [share.node for share in homes], topology)
            cpu_milli = _counted(homes, spec.requests.cpu_milli)
    return PodPlacement(
        name=one.part.identity.name,
        namespace=one.part.identity.namespace,
        gang=None,
        node=node.name,
        cpuset=cpuset,
        containers=split_cpuset_over_containers(spec, cpuset, topology),
        memory_bytes=held.memory_bytes,
        hugepages=held.hugepages,
        devices=one.devices,
        cpu_milli=cpu_milli,
    )


def _counted(homes: tuple[ResourceStatusNumaNode, ...], want: int) -> tuple[tuple[int, int], ...]:
    """Return how much of a bound pod's CPU request counts on each NUMA node, as the pod says.

    If what it says is not the whole request, all of it counts on the first NUMA node.
    """
    said = tuple((share.node, share.cpu_milli) for share in homes)
    if sum(milli for _, milli in said) == want:
        return said
    counts = (want, *[0] * len(homes))
    return tuple((share.node, count) for share, count in zip(homes, counts, strict=False))


def _system(
    node: Node, milli: int, owned: Mapping[QosClass, CpuSet], beside: Sequence[KubeRunningPod]
) -> RunningPod:
    """Return a pod that stands for CPUs which the system keeps beyond those that it names.

    It also stands for requests of containers that share CPUs while others of their pod own some.
    Where pods are bound to NUMA nodes it is bound to one that can hold it, which is a guess.
    """
    everything = Toleration(operator=TolerationOperator.EXISTS)
    container = Container("system", Resources(cpu_milli=milli))
    spec = PodSpec((container,), tolerations=(everything,))
    cpuset = running_pool_cpus_of_node(QosClass.LS, node, owned)
    cpu_milli = None
    numa = (
        numa_node_to_bind_to(milli, beside, node, owned) if is_bound_by_policy(spec, node) else None
    )
    if numa is not None:
        cpuset = pool_on_numa_nodes(cpuset, (numa,), node.machine.topology)
        cpu_milli = ((numa, milli),)
    place = PodPlacement(
        name=node.name,
        namespace=SYSTEM_NAMESPACE,
        gang=None,
        node=node.name,
        cpuset=cpuset,
        containers=split_cpuset_over_containers(spec, cpuset, node.machine.topology),
        cpu_milli=cpu_milli,
    )
    guessed = numa is not None and len(node.machine.topology.numa_nodes) > 1
    pod = Pod(node.name, SYSTEM_NAMESPACE, spec)
    return RunningPod(pod, place, movable=False, guessed=guessed, of_node=True)
