"""What the running pods of a node leave to others, by id."""

from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from math import gcd
from typing import Any

from placer.counting.bound import bound_pods
from placer.counting.owners import Held, cores_held, numa_nodes_held, owners_beside
from placer_models.cluster import Instance, Node, RunningPod
from placer_models.cpuset import CpuSet
from placer_models.device import GPU, Device
from placer_models.device_share import Amounts, DeviceShare, room, taken, totals_of
from placer_models.mig import MEDIA, covered, gpu_of, is_instance
from placer_models.pod import PodSpec
from placer_models.policy import QosClass
from placer_models.pools import Bound


@dataclass(frozen=True, slots=True)
class Account:
    """What is left on one node.

    Attributes:
        free_cpus: CPUs that a pod may own: allocatable, owned by nobody.
        pool: The shared pool: online CPUs that no LSE or LSR pod owns.
        best_effort_pool: Online CPUs that no LSE pod owns.
        shared_milli: CPU requests of the LS pods that run here.
        best_effort_milli: CPU requests of the BE pods that run here.
        memory_bytes: NUMA node -> free bytes.
        pages: (NUMA node, page size in bytes) -> free hugepages.
        devices: Healthy devices, ascending by (type, minor).
        free_devices: (type, minor) of those that nobody holds.
        shared_devices: (type, minor) of those of which pods hold shares alone -> what is
            left.
        extended: Extended resource -> what is left of it.
        cores_held: Cores that running pods keep from others of the policy PCPULevel.
        numa_nodes_held: NUMA nodes that they keep from others of NUMANodeLevel.
        offered: The node is offered, and nothing runs there that has opened it.
        held_functions: (type, minor, minor of a virtual function) of those that pods hold.
        bound: What bound pods want of the pools; their cells are ids of NUMA nodes.
        beside: Running pods that own CPUs and have labels or affinities of their own, by name.
        sides: Spec and namespace of the pods that run here: all that affinity looks at.
        alike: Those of them that several pods have -> how many beyond the first.
        affine: Those of them that ask for others, or for none of them.
        memory_unit: The largest number that divides what is left on each NUMA node.
        core_classes: The free cores in classes, as far as they have been counted (`cores`).

    """

    free_cpus: CpuSet
    pool: CpuSet
    best_effort_pool: CpuSet
    shared_milli: int
    best_effort_milli: int
    has_shared: bool
    has_best_effort: bool
    memory_bytes: Mapping[int, int]
    pages: Mapping[tuple[int, int], int]
    devices: tuple[Device, ...]
    free_devices: frozenset[tuple[str, int]]
    shared_devices: Mapping[tuple[str, int], Amounts]
    extended: Mapping[str, int]
    cores_held: Held
    numa_nodes_held: Held
    offered: bool
    held_functions: frozenset[tuple[str, int, int]]
    bound: tuple[Bound, ...]
    beside: tuple[RunningPod, ...]
    sides: frozenset[tuple[PodSpec, str]]
    alike: Mapping[tuple[PodSpec, str], int]
    affine: frozenset[tuple[PodSpec, str]]
    memory_unit: int
    core_classes: dict[Hashable, Any] = field(
        init=False, default_factory=dict, compare=False, repr=False
    )


def account_of(node: Node, running: Iterable[RunningPod]) -> Account:
    """Count what the pods that run on the node leave."""
    pods = list(running)
    qos = [pod.pod.spec.qos for pod in pods]
    owned_by = {
        wanted: frozenset[int]().union(
            *(p.placement.cpuset for p, q in zip(pods, qos, strict=True) if q is wanted)
        )
        for wanted in (QosClass.LSE, QosClass.LSR)
    }
    owned = owned_by[QosClass.LSE] | owned_by[QosClass.LSR]
    memory = node.memory_bytes_in()
    pages = Counter(node.pages_in())
    for pod in pods:
        for numa_node, amount in pod.placement.memory_bytes:
            memory[numa_node] -= amount
        for numa_node, page_bytes, count in pod.placement.hugepages:
            pages[numa_node, page_bytes] -= count
    healthy = tuple(d for d in node.devices if node.is_healthy(d))
    held = {(d.type, d.minor) for pod in pods for d in pod.placement.devices}
    online = node.machine.topology.online
    sides = Counter((pod.pod.spec, pod.pod.namespace) for pod in pods)
    return Account(
        free_cpus=online - node.reserved_cpus - owned,
        pool=online - owned,
        best_effort_pool=online - owned_by[QosClass.LSE],
        shared_milli=_requests(pods, QosClass.LS),
        best_effort_milli=_requests(pods, QosClass.BE),
        has_shared=QosClass.LS in qos,
        has_best_effort=QosClass.BE in qos,
        memory_bytes=memory,
        pages=pages,
        devices=healthy,
        free_devices=frozenset((d.type, d.minor) for d in healthy) - held - _cut_off(node, held),
        shared_devices=_shared(healthy, pods),
        extended=_extended(node, pods),
        cores_held=cores_held(node, pods),
        numa_nodes_held=numa_nodes_held(node, pods),
        offered=node.offered and not pods,
        held_functions=frozenset(
            (d.type, d.minor, vf) for pod in pods for d in pod.placement.devices for vf in d.vfs
        ),
        bound=bound_pods(node, pods),
        beside=owners_beside(pods),
        sides=frozenset(sides),
        alike={side: count - 1 for side, count in sides.items() if count > 1},
        affine=frozenset(
            (pod.pod.spec, pod.pod.namespace) for pod in pods if pod.pod.spec.affinity
        ),
        memory_unit=gcd(*memory.values()),
    )


def accounts_of(instance: Instance) -> tuple[Account, ...]:
    """Count what is left on every node, in the instance's order.

    Nodes that differ in names alone, and run nothing, share one account.
    """
    running: defaultdict[str, list[RunningPod]] = defaultdict(list)
    for pod in instance.running:
        running[pod.placement.node].append(pod)
    idle: dict[object, Account] = {}
    accounts = []
    for node in instance.nodes:
        if node.name in running:
            accounts.append(account_of(node, running[node.name]))
            continue
        key = alike_when_idle(node)
        if key not in idle:
            idle[key] = account_of(node, ())
        accounts.append(idle[key])
    return tuple(accounts)


def alike_when_idle(node: Node) -> Hashable:
    """Return what nodes agree in whose accounts are equal when nothing runs there.

    For as long as their machines live: they are told apart by identity.
    """
    facts = (id(node.machine), node.reserved_cpus, node.unhealthy, node.hugepages)
    return (*facts, node.extended, node.offered, node.mig)


def _cut_off(node: Node, held: Collection[tuple[str, int]]) -> frozenset[tuple[str, int]]:
    """Return the MIG instances that there is no room for beside what is held."""
    if not node.mig:
        return frozenset()
    busy: defaultdict[int, set[int]] = defaultdict(set)
    for kind, minor in held:
        if is_instance(kind):
            busy[gpu_of(minor)].update(covered(node.mig, kind, minor))
        elif kind == GPU:
            busy[minor].update(range(MEDIA + 1))
    return frozenset(
        (d.type, d.minor)
        for d in node.devices
        if is_instance(d.type)
        and not busy[gpu_of(d.minor)].isdisjoint(covered(node.mig, d.type, d.minor))
    )


def _shared(
    healthy: Iterable[Device], pods: Iterable[RunningPod]
) -> dict[tuple[str, int], Amounts]:
    """Return what is left of the devices that pods share; below 0 counts as 0."""
    shares: dict[tuple[str, int], list[DeviceShare | None]] = {}
    for pod in pods:
        for grant in pod.placement.devices:
            shares.setdefault((grant.type, grant.minor), []).append(grant.share)
    left = {}
    for device in healthy:
        held = shares.get((device.type, device.minor), [])
        if held and None not in held:
            totals = totals_of(device)
            empty = room(totals)
            # A share that the device cannot give leaves nothing of it.
            parts = [taken(share, totals) or empty for share in held if share is not None]
            left[device.type, device.minor] = tuple(
                max(0, amount - sum(amounts))
                for amount, *amounts in zip(empty, *parts, strict=True)
            )
    return left


def _requests(pods: list[RunningPod], qos: QosClass) -> int:
    return sum(p.pod.spec.requests.cpu_milli for p in pods if p.pod.spec.qos is qos)


def _extended(node: Node, pods: list[RunningPod]) -> dict[str, int]:
    """Count what is left of each extended resource; pods may hold more than there is."""
    left = dict(node.extended)
    if left:
        for pod in pods:
            for name, amount in pod.pod.spec.requests.extended:
                if name in left:
                    left[name] -= amount
    return left
