"""Running pods in files: read, and refused where they contradict each other."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from placer_models.bound import (
    is_bound_by_policy,
    numa_nodes_bound_to,
    numa_nodes_of_cpus,
    pool_on_numa_nodes,
)
from placer_models.cluster import Node, RunningPod
from placer_models.cpuset import CpuSet, format_cpu_list, parse_cpu_list
from placer_models.device import GPU, Device, is_mig_instance
from placer_models.device_share import DeviceShare
from placer_models.files.faults import DocumentLocation
from placer_models.instance.device_holders import DeviceHolderLedger
from placer_models.instance.functions import FunctionHolders, grants_with_virtual_functions
from placer_models.instance.guessed_memory import (
    MEMORY,
    PodWithUnlocatedMemory,
    guessed_memory_of_running_pods,
    room_by_resource,
)
from placer_models.instance.hugepages import take_running_pod_hugepages
from placer_models.instance.nodes import missing_device_message
from placer_models.instance.pods import InstancePodReader
from placer_models.instance.requests import device_type_of_written_name
from placer_models.instance.running_defaults import (
    numa_nodes_of_cpus_and_devices,
    running_pool_cpus_of_node,
    split_cpuset_over_containers,
)
from placer_models.instance.schema import RunningPodPart
from placer_models.message_text import count_with_noun, cpu_ids_with_verb, in_quotes
from placer_models.mig import gpu_minor_of_mig_instance, mig_slices_covered
from placer_models.placement import DeviceGrant, PodPlacement
from placer_models.pod import Pod
from placer_models.policy import QosClass
from placer_models.quantity import format_bytes, parse_bytes
from placer_models.variants import spec_on


@dataclass(slots=True)
class _Held:
    """What running pods hold of one node, with the pods' names, and what they leave."""

    cpus: dict[int, str] = field(default_factory=dict)
    devices: DeviceHolderLedger = field(default_factory=DeviceHolderLedger)
    room_bytes: dict[int, int] = field(default_factory=dict)
    pages: dict[tuple[int, int], int] = field(default_factory=dict)
    cuts: dict[tuple[int, int], tuple[str, str, int]] = field(default_factory=dict)


@dataclass(slots=True)
class _Seat:
    """One running pod, as far as it is read."""

    part: RunningPodPart
    pod: Pod
    node: Node
    place: DocumentLocation
    cpus: CpuSet
    devices: tuple[DeviceGrant, ...]
    illegal: str
    guessed: bool  # nobody says where its memory is
    memory: dict[int, int] | None = None
    hugepages: dict[tuple[int, int], int] | None = None

    @property
    def floats(self) -> bool:
        """Whether it is said to be bound to no NUMA node."""
        return self.part.cpuset == ""


class InstanceRunningPodReader:
    """Reads running pods; knows the nodes."""

    def __init__(self, nodes: Sequence[Node], pods: InstancePodReader) -> None:
        self._nodes = {node.name: node for node in nodes}
        self._pods = pods
        self._seats: list[_Seat] = []
        self._held: dict[str, _Held] = defaultdict(_Held)
        self._functions: FunctionHolders = {}

    def read(self, part: RunningPodPart, place: DocumentLocation) -> None:
        """Read one running pod."""
        spec, limits, illegal = self._pods.spec_or_illegal(part, place)
        self._pods.take(part.namespace, part.name, place)
        node = self._nodes.get(part.node)
        if node is None:
            message = f"no node {in_quotes(part.node)} is given"
            place.at("node").fault(message, name=part.node, known=self._nodes)
            return
        pod = Pod(part.name, part.namespace, spec, limits, self._pods.uid(part, place))
        held = self._held[node.name]
        if not held.room_bytes:
            held.room_bytes = node.memory_bytes_in()
            held.pages = node.pages_in()
        seat = _Seat(
            part,
            pod,
            node,
            place,
            self._cpus(part, pod, node, place, illegal=bool(illegal)),
            self._devices(part, pod, node, place, illegal=bool(illegal)),
            illegal.text if illegal else "",
            part.memory_guessed,
        )
        if part.memory is not None:
            seat.memory = self._memory(part.memory, seat)
        if part.hugepages is not None:
            seat.hugepages = take_running_pod_hugepages(
                part.hugepages, pod, node, held.pages, place.at("hugepages")
            )
        self._seats.append(seat)

    def finish(self) -> tuple[RunningPod, ...]:
        """Return all running pods, once every one has been read."""
        owned: dict[str, dict[QosClass, CpuSet]] = defaultdict(dict)
        for seat in self._seats:
            of_node, qos = owned[seat.node.name], seat.pod.spec.qos
            if not qos.owns_cpus:
                continue
            of_node[qos] = of_node.get(qos, frozenset()) | seat.cpus
        seats: dict[str, list[_Seat]] = defaultdict(list)
        for seat in self._seats:
            seats[seat.node.name].append(seat)
        for name, here in seats.items():
            self._guess(self._nodes[name], here, owned[name])
        return tuple(
            RunningPod(
                seat.pod,
                _placement(seat, owned[seat.node.name]),
                seat.part.movable,
                seat.illegal,
                guessed=seat.guessed,
                of_node=seat.part.of_node,
                restarts_with=seat.part.restarts_with,
            )
            for seat in self._seats
        )

    def _guess(self, node: Node, seats: Sequence[_Seat], owned: Mapping[QosClass, CpuSet]) -> None:
        """Lay out the memory and the hugepages of pods that do not say where they have theirs."""
        held = self._held[node.name]
        asked = [seat.pod.spec.requests for seat in seats]
        room = room_by_resource(held.room_bytes, held.pages, asked)
        runners = [_runner(seat) for seat in seats]
        several = len(node.machine.topology.numa_nodes) > 1
        found = guessed_memory_of_running_pods(node, owned, runners, room)
        for seat, one, laid in zip(seats, runners, found, strict=True):
            seat.guessed |= several and one.is_open
            if seat.memory is None:
                seat.memory = laid.get(MEMORY, {})
            if seat.hugepages is None:
                seat.hugepages = {
                    (numa, size): count
                    for size in one.pages
                    for numa, count in laid.get(size, {}).items()
                }

    def _cpus(
        self, part: RunningPodPart, pod: Pod, node: Node, place: DocumentLocation, *, illegal: bool
    ) -> CpuSet:
        qos, at = pod.spec.qos, place.at("cpuset")
        if pod.spec.constrained_burst or (is_bound_by_policy(pod.spec, node) and part.cpuset):
            return self._cpus_of_homes(part, pod, node, at)
        if not qos.owns_cpus:
            if part.cpuset:
                at.fault(
                    f"got {in_quotes(part.cpuset)}; {qos} pods run in a pool and own no CPUs: "
                    "delete the line, or make the pod LSR"
                )
            return frozenset()
        want = pod.spec.requests.cpu_milli // 1000
        if part.cpuset is None:
            named = "CPUs" if illegal else count_with_noun(want, "CPU")
            if want or not illegal:
                at.fault(f"is missing; name the {named} that this {qos} pod owns")
            return frozenset()
        cpus = parse_cpu_list(part.cpuset)
        if len(cpus) != want and not illegal:
            at.fault(
                f"got {in_quotes(part.cpuset)}, {count_with_noun(len(cpus), 'CPU')}; "
                f"expected the {want} of its request"
            )
            return frozenset()
        topology = node.machine.topology
        for what, wrong in (
            (f"not on node {node.name}", cpus - topology.cpu.keys()),
            ("offline", (cpus & topology.cpu.keys()) - topology.online),
        ):
            if wrong:
                at.fault(f"{cpu_ids_with_verb(wrong)} {what}; take others")
        owners = self._held[node.name].cpus
        if twice := cpus & owners.keys():
            at.fault(
                f"{cpu_ids_with_verb(twice)} held by the running pod "
                f"{in_quotes(owners[min(twice)])} already; a CPU has one owner"
            )
        owners.update(dict.fromkeys(cpus, pod.title))
        return cpus

    def _cpus_of_homes(
        self, part: RunningPodPart, pod: Pod, node: Node, at: DocumentLocation
    ) -> CpuSet:
        """Return the CPUs in the file, which name the NUMA nodes to whose pool the pod is bound."""
        known = node.machine.topology.cpu
        why = "ConstrainedBurst" if pod.spec.constrained_burst else "NUMA policy"
        pool = "shared" if pod.spec.qos is QosClass.LS else "BE"
        cpus = parse_cpu_list(part.cpuset or "")
        if not cpus or not all(c in known and known[c].numa_node is not None for c in cpus):
            at.fault(
                f"got {in_quotes(part.cpuset or '')}; name CPUs of the NUMA nodes of node "
                f"{node.name} "
                f"in whose {pool} pool this pod runs, by its {why}"
            )
            return frozenset()
        return cpus

    def _devices(
        self, part: RunningPodPart, pod: Pod, node: Node, place: DocumentLocation, *, illegal: bool
    ) -> tuple[DeviceGrant, ...]:
        known = {(d.type, d.minor): d for d in node.devices}
        requests, by_strategy = spec_on(pod.spec, node).requests, dict(pod.spec.strategies)
        given: dict[str, int] = defaultdict(int)
        grants = []
        for written, minors in part.devices.items():
            kind = device_type_of_written_name(written)
            wanted = [
                r.share
                for r in requests.devices
                if r.type == kind
                for _ in range(len(minors) if kind in by_strategy else r.count)
            ]
            for i, minor in enumerate(minors):
                at, key = place.at("devices", written, i), (kind, minor)
                share = wanted[given[kind]] if given[kind] < len(wanted) else None
                given[kind] += 1
                if key not in known:
                    have = {m for t, m in known if t == kind}
                    at.fault(missing_device_message(kind, minor, have, node.machine.name))
                elif fault := self._cannot_have(node, known[key], share, pod.title):
                    at.fault(fault)
                else:
                    grants.append(DeviceGrant(kind, minor, known[key].id, share))
        for kind in sorted({d.type for d in requests.devices} | given.keys()):
            if kind in by_strategy and given[kind]:
                continue
            if given[kind] != requests.count_of(kind) and not illegal:
                place.at("devices").fault(
                    f"got {given[kind]} of type {in_quotes(kind)}; "
                    f"expected the {requests.count_of(kind)} of its request"
                )
        # Of an illegal pod a device may count whole, and then with all of its functions.
        shared = {grant.type for grant in grants if grant.share is not None or not illegal}
        vfs = {k: v for k, v in part.vfs.items() if k in shared} if illegal else part.vfs
        return grants_with_virtual_functions(
            vfs,
            sorted(grants, key=lambda grant: (grant.type, grant.minor)),
            pod.spec,
            node,
            self._functions,
            pod.title,
            place.at("vfs"),
        )

    def _cannot_have(
        self, node: Node, device: Device, share: DeviceShare | None, pod: str
    ) -> str | None:
        """Give a device, or a share of it, to a pod, or return what is wrong with that."""
        kind, minor = device.type, device.minor
        if kind == GPU and minor in dict(node.mig):
            return f"gpu {minor} of node {node.name} is in MIG mode; its pods hold instances"
        cuts = self._held[node.name].cuts
        for part in mig_slices_covered(node.mig, kind, minor) if is_mig_instance(kind) else ():
            first = cuts.setdefault((gpu_minor_of_mig_instance(minor), part), (pod, kind, minor))
            if first[1:] != (kind, minor):
                return (
                    f"{kind} {minor} overlaps an instance that the running pod "
                    f"{in_quotes(first[0])} holds; instances of a GPU share no slice"
                )
        return self._held[node.name].devices.take(device, share, pod)

    def _memory(self, written: Mapping[str, str], seat: _Seat) -> dict[int, int]:
        at, room = seat.place.at("memory"), self._held[seat.node.name].room_bytes
        known = {str(numa): numa for numa in room}
        taken: dict[int, int] = {}
        for key, text in written.items():
            size = at.at(key).parsed(parse_bytes, text, None)
            if size is None:
                continue
            if key not in known:
                at.at(key).fault(
                    f"node {seat.node.name} has no NUMA node {in_quotes(key)}; "
                    f"it has {format_cpu_list(room)}"
                )
            elif size:
                room[known[key]] -= size
                taken[known[key]] = size
        want = seat.pod.spec.requests.memory_bytes
        if sum(taken.values()) != want and len(taken) == len(written):
            at.fault(
                f"sums to {format_bytes(sum(taken.values()))}; "
                f"expected the {format_bytes(want)} of its request"
            )
        return taken


def _runner(seat: _Seat) -> PodWithUnlocatedMemory:
    """Return what is known of where a pod is, and what is not."""
    spec, topology = seat.pod.spec, seat.node.machine.topology
    asked = spec.requests
    near = set(numa_nodes_of_cpus_and_devices(seat.node, seat.cpus, seat.devices))
    near.update(seat.memory or ())
    near.update(numa for (numa, _), count in (seat.hugepages or {}).items() if count)
    homes: frozenset[int] | None = frozenset()
    if not spec.qos.owns_cpus and not seat.floats:
        if seat.cpus:
            homes = numa_nodes_of_cpus(seat.cpus, topology)
        elif is_bound_by_policy(spec, seat.node):
            homes = None
    return PodWithUnlocatedMemory(
        seat.pod.key,
        spec,
        frozenset(near),
        homes,
        asked.memory_bytes if seat.memory is None else 0,
        {h.page_bytes: h.count for h in asked.hugepages} if seat.hugepages is None else {},
    )


def _placement(seat: _Seat, owned: Mapping[QosClass, CpuSet]) -> PodPlacement:
    pod, node = seat.pod, seat.node
    if pod.spec.qos.owns_cpus:
        return _placed_on(seat, seat.cpus)
    pool = running_pool_cpus_of_node(pod.spec.qos, node, owned)
    # The CPUs only name NUMA nodes: all of the pool there is meant.
    homes = numa_nodes_bound_to(
        _placed_on(seat, seat.cpus, () if seat.floats else None), pod.spec, node
    )
    cpuset = pool_on_numa_nodes(pool, homes, node.machine.topology) if homes else pool
    found = _placed_on(seat, cpuset)
    if numa_nodes_bound_to(found, pod.spec, node) == homes:
        return found
    counts = (pod.spec.requests.cpu_milli, *[0] * len(homes))
    return _placed_on(seat, cpuset, tuple(zip(sorted(homes), counts, strict=False)))


def _placed_on(
    seat: _Seat, cpuset: CpuSet, cpu_milli: tuple[tuple[int, int], ...] | None = None
) -> PodPlacement:
    pod, node = seat.pod, seat.node
    return PodPlacement(
        name=pod.name,
        namespace=pod.namespace,
        gang=seat.part.gang,
        node=node.name,
        cpuset=cpuset,
        containers=split_cpuset_over_containers(pod.spec, cpuset, node.machine.topology),
        memory_bytes=tuple(sorted((seat.memory or {}).items())),
        hugepages=tuple(
            (numa, size, count)
            for (numa, size), count in sorted((seat.hugepages or {}).items())
            if count
        ),
        devices=seat.devices,
        cpu_milli=cpu_milli,
    )
