"""A placement laid over its instance: who holds what on which node."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from placer.judge.homes import has_same_place_as_home
from placer.judge.open_nodes import admits_new_pods, open_nodes_key_of_spec
from placer_models.cluster import Instance, Machine, Node, RunningPod
from placer_models.cpuset import NO_CPUS, CpuSet
from placer_models.device import GPU, Device, is_mig_instance
from placer_models.illegal_running import running_pod_counted_as_legal
from placer_models.incremental import (
    PersistentMap,
    PersistentTuple,
    changed_indices,
    differing_indices,
)
from placer_models.links import (
    LinkedDeviceClasses,
    best_permitted_pair_minimum,
    linked_classes_of_devices,
)
from placer_models.placement import NamespacedName, Placement, PodPlacement
from placer_models.pod import Gang, Pod, PodSpec, Resources
from placer_models.policy import HybridCoreKind, QosClass, SameTypeDevicesScope
from placer_models.records import record
from placer_models.selectors import Labels
from placer_models.topology import Topology
from placer_models.variants import pod_with_spec_on
from placer_models.visible_devices import GpuVendor, gpu_has_runtime_readable_id, gpu_vendor_of

CellId = int | None
"""The id of a NUMA node; None is the cell of the CPUs that belong to none."""

Runners = tuple[RunningPod, ...]
"""The running pods of a node."""

T = TypeVar("T")

MOST_INSIDES = 1_000
"""How many kinds of empty nodes are kept at a time, and how many GPU sets that pods ask for."""


class JudgedNodeDomains(NamedTuple):
    """Name of a node -> its domain, for nodes in one; and the name of each domain, once."""

    of_node: Mapping[str, str]
    distinct: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class NodeCapacity:
    """What a node has to give when nothing runs on it. Equal nodes share one object.

    Compared by identity.

    Attributes:
        allocatable: Online CPUs that are not reserved.
        whole_cores: The cores of which every online thread is allocatable.
        efficient: CPUs of efficiency cores, which bind policy Default may take in part.
        devices: (type, minor) -> the device, broken ones too.
        healthy: Device type -> its healthy devices.
        devices_in: Device type -> cell -> its number of healthy devices; None: NUMA node unknown.
        switches: (type, minor) of the healthy devices below each PCIe switch that has a GPU and
            another device; GPUs in MIG mode and their instances are left out.
        gpus: The healthy GPUs and the links between them.
        gpus_of: Vendor -> minors of its GPUs, broken ones too. No entry for a vendor without any.
        gpu_named: Vendor -> name that its variable may give a GPU -> the GPU's minor.
        cpus_in: Cell -> how many allocatable CPUs it has.
        cpus_in_package: Package -> how many allocatable CPUs it has.
        memory_bytes_in: NUMA node -> its memory that is not hugepages.
        pages_in: (cell, page size in bytes) -> its number of hugepages.

    """

    topology: Topology
    allocatable: CpuSet
    whole_cores: tuple[CpuSet, ...]
    efficient: CpuSet
    devices: Mapping[tuple[str, int], Device]
    healthy: Mapping[str, tuple[Device, ...]]
    devices_in: Mapping[str, Mapping[CellId, int]]
    switches: tuple[frozenset[tuple[str, int]], ...]
    gpus: LinkedDeviceClasses
    gpus_of: Mapping[GpuVendor, CpuSet]
    gpu_named: Mapping[GpuVendor, Mapping[str, int]]
    cpus_in: Mapping[CellId, int]
    cpus_in_package: Mapping[int | None, int]
    memory_bytes_in: Mapping[CellId, int]
    pages_in: Mapping[tuple[CellId, int], int]


class PlacedPod(NamedTuple):
    """One pod in its place.

    Attributes:
        requests: What the pod asks for, over all its phases.
        qos: How the pod shares CPUs.
        owned: The CPUs that are the pod's own; LS and BE pods have none.
        new: Whether the placement put it there. Otherwise it already runs there.
        selector: The labels that the pod asks for itself, without those of a variant of it.

    """

    pod: Pod
    place: PodPlacement
    requests: Resources
    qos: QosClass
    owned: CpuSet
    new: bool
    selector: Labels

    @property
    def title(self) -> str:
        """The pod's name for people."""
        return self.pod.title


@record(frozen=True, slots=True, eq=False, weakref_slot=True)
class JudgedNode:
    """One node and its placed pods. Compared by identity.

    Attributes:
        placed_pods: The running pods of the node, then the new ones.
        new: The new pods alone.
        taken: The CPUs that LSE and LSR pods own.
        taken_by_lse: The CPUs that LSE pods own.
        looking: The pods that look at others, by an affinity of theirs.

    """

    node: Node
    inside: NodeCapacity
    placed_pods: tuple[PlacedPod, ...]
    new: tuple[PlacedPod, ...]
    taken: CpuSet
    taken_by_lse: CpuSet
    looking: tuple[PlacedPod, ...]


class AskedGpuSet(NamedTuple):
    """A set of GPUs that a pod asks for: how many, within which scope, on which nodes."""

    size: int
    scope: SameTypeDevicesScope
    nodes: Hashable


_NO_NODES: PersistentMap[str, JudgedNode] = PersistentMap.of(())


class _KnownNodes:
    """The judged nodes of nodes with what runs there, so that each of them is looked at once.

    A judged node is a function of its node and of the pods there, so it is kept until either of
    them is replaced.
    """

    def __init__(self) -> None:
        self._judged_nodes: dict[str, tuple[Node, Runners, JudgedNode]] = {}
        self._insides: dict[object, tuple[Machine, NodeCapacity]] = {}

    def forget_others(self, names: Collection[str]) -> None:
        """Forget nodes of other names, if they are many."""
        if len(self._judged_nodes) > 2 * len(names):
            self._judged_nodes = {name: self._judged_nodes[name] for name in names}

    def judged(self, node: Node, pods: Runners) -> JudgedNode:
        """Return the judged node of a node with the pods that run there."""
        known = self._judged_nodes.get(node.name)
        if known is None or known[0] is not node or known[1] is not pods:
            # Whoever ran here before, and is the same object, has its place already.
            stayed: dict[int, PlacedPod] = {}
            if pods and known is not None and known[0] is node:
                stayed = dict(zip(map(id, known[1]), known[2].placed_pods, strict=True))
            placed = [stayed.get(id(runner)) or _running_on(node, runner) for runner in pods]
            judged = _judged_node(node, self._inside(node), placed, ())
            known = self._judged_nodes[node.name] = (node, pods, judged)
        return known[2]

    def _inside(self, node: Node) -> NodeCapacity:
        kind = (
            id(node.machine),
            node.reserved_cpus,
            node.unhealthy,
            node.hugepages,
            node.table,
            node.honors_table,
            node.mig,
        )
        if kind not in self._insides:
            if len(self._insides) == MOST_INSIDES:
                self._insides = {}
            # The entry keeps the machine alive, so that no other object can get its id.
            self._insides[kind] = node.machine, empty_node_capacity(node)
        return self._insides[kind][1]


class NodesBefore:
    """All nodes before a placement. Never changes.

    A caller that asks about successive states of a cluster goes from those of one state to those
    of the next (`then`). It saves time and changes no result.

    Attributes:
        judged_nodes: Name of a node -> its judged node.
        faultless: The last instance and placement in which nothing was found wrong, so that
            they are not judged twice.

    """

    def __init__(self, judged_nodes: PersistentMap[str, JudgedNode] = _NO_NODES) -> None:
        """Begin with judged nodes; without any, to come to others by `then`."""
        self.faultless: tuple[Instance, Placement] | None = None
        self.judged_nodes = judged_nodes
        self._known = _KnownNodes()
        self._last: tuple[tuple[Node, ...], PersistentTuple[Runners]] | None = None
        self._totals: dict[Callable[[JudgedNode], int], int] = {}
        self._minima: dict[AskedGpuSet, int] = {}
        # Look -> the parts that it has seen, and what it has found in each of them.
        self._looks: dict[Any, tuple[tuple[object, ...], tuple[Any, ...]]] = {}
        self._domains: dict[Hashable, JudgedNodeDomains] = {}

    def then(self, nodes: tuple[Node, ...], running: PersistentTuple[Runners]) -> "NodesBefore":
        """Return nodes as they stand later, or other nodes.

        Args:
            nodes: Nodes with unique names.
            running: The running pods of each node, in the same order.

        """
        if self._last is not None and self._last[0] is nodes:
            changed = changed_indices(self._last[1], running)
            new = {nodes[i].name: self._known.judged(nodes[i], running[i]) for i in changed}
            found = self._with(new) if new else self
        else:
            judged_nodes = map(self._known.judged, nodes, running)
            named = PersistentMap.of((judged.node.name, judged) for judged in judged_nodes)
            self._known.forget_others(named)
            found = NodesBefore(named)
        found._known, found._last = self._known, (nodes, running)
        return found

    def _with(self, new: Mapping[str, JudgedNode]) -> "NodesBefore":
        """Return the same nodes with other pods on some of them."""
        found = NodesBefore(self.judged_nodes.changed((), new))
        found._totals = {
            worth: total + sum(worth(new[name]) - worth(self.judged_nodes[name]) for name in new)
            for worth, total in self._totals.items()
        }
        found._minima = self._minima
        found._looks = dict(self._looks)
        found._domains = self._domains
        return found

    def best_minimum(self, spec: PodSpec, size: int) -> int:
        """Return the best slowest pair of ``size`` GPUs on any node open to the pod, if empty.

        The answer is 0 if no node has such a set.
        """
        wanted = AskedGpuSet(size, spec.scope_of(GPU), open_nodes_key_of_spec(spec))
        if wanted not in self._minima:
            if len(self._minima) >= MOST_INSIDES:
                self._minima.clear()
            boards: dict[int, LinkedDeviceClasses] = {}
            for judged in self.judged_nodes.values():
                # Nodes share their insides, so that most are known after a look at a few.
                known = id(judged.inside) in boards
                if not known and admits_new_pods(judged.node, spec):
                    boards[id(judged.inside)] = judged.inside.gpus
            minima = (
                best_permitted_pair_minimum(board, wanted.size, wanted.scope)
                for board in boards.values()
            )
            self._minima[wanted] = max((m for m in minima if m is not None), default=0)
        return self._minima[wanted]

    def total(self, worth: Callable[[JudgedNode], int]) -> int:
        """Return the sum of the worth of all nodes, which is worked out once."""
        if worth not in self._totals:
            self._totals[worth] = sum(map(worth, self.judged_nodes.values()))
        return self._totals[worth]

    def of_parts(self, look: Callable[[Iterable[JudgedNode]], T]) -> tuple[T, ...]:
        """Return what a look at all nodes finds, part by part.

        Parts in which no node has changed since the look before are not looked at again.
        """
        parts = self.judged_nodes.parts
        seen, found = self._looks.get(look, ((), ()))
        if len(seen) != len(parts):
            found = tuple(look(part.values()) for part in parts)
        elif seen is not parts:
            others = list(found)
            for at in differing_indices(seen, parts):
                others[at] = look(parts[at].values())
            found = tuple(others)
        self._looks[look] = parts, found
        return found

    def domains(self, what: Hashable, domain: Callable[[Node], str | None]) -> JudgedNodeDomains:
        """Return the domains of the nodes, worked out once.

        Args:
            what: All that the domains follow from beside the nodes.
            domain: Returns the domain of a node, or None if it is in none.

        """
        if what not in self._domains:
            if len(self._domains) >= MOST_INSIDES:
                self._domains.clear()
            found = ((name, domain(judged.node)) for name, judged in self.judged_nodes.items())
            of_node = {name: there for name, there in found if there is not None}
            self._domains[what] = JudgedNodeDomains(of_node, tuple(dict.fromkeys(of_node.values())))
        return self._domains[what]


@record(frozen=True, slots=True)
class InstanceWithPlacement:
    """A placement laid over its instance, without what the instance does not know.

    Attributes:
        waiting: Key -> the waiting pod.
        gang_of: Key of a waiting pod -> its gang.
        nodes_before: The nodes before the placement.
        entered: The judged nodes where something is newly placed, in the order of the nodes. The
            placement is not to blame for what running pods do to other nodes.
        newcomers: Each newly placed pod with its judged node.
        members: Key of a gang -> its placed members, each with the name of its node.

    """

    instance: Instance
    placement: Placement
    waiting: Mapping[NamespacedName, Pod]
    gang_of: Mapping[NamespacedName, Gang]
    nodes_before: NodesBefore
    entered: tuple[JudgedNode, ...]
    newcomers: tuple[tuple[JudgedNode, PlacedPod], ...]
    members: Mapping[NamespacedName, Mapping[NamespacedName, str]]

    def arrivals(self) -> Iterator[tuple[JudgedNode, PlacedPod]]:
        """Yield the newly placed pods, except those that stay where they already run.

        The containers of a pod that stays keep what they had.
        """
        homes = {home.key: home for home in self.instance.homes}
        for judged, placed in self.newcomers:
            home = homes.get(placed.pod.key)
            if home is None or not has_same_place_as_home(
                placed.place, home, owns_cpus=placed.qos.owns_cpus
            ):
                yield judged, placed

    def everywhere(self) -> Iterator[JudgedNode]:
        """Yield the judged node of every node, in no particular order."""
        entered = {judged.node.name: judged for judged in self.entered}
        for name, judged in self.nodes_before.judged_nodes.items():
            yield entered.get(name, judged)


def nodes_before_placement(instance: Instance) -> NodesBefore:
    """Return the nodes of an instance as they stand, with nothing newly placed."""
    running: dict[str, list[RunningPod]] = {node.name: [] for node in instance.nodes}
    for runner in instance.running:
        if runner.placement.node in running:
            running[runner.placement.node].append(runner)
    return NodesBefore().then(instance.nodes, PersistentTuple.of(map(tuple, running.values())))


def scene_for_judge(
    instance: Instance, placement: Placement, nodes_before: NodesBefore | None = None
) -> InstanceWithPlacement:
    """Lay the placement over the instance. The placement may be any nonsense.

    Args:
        instance: The nodes, what runs there and what waits.
        placement: What is newly placed.
        nodes_before: The result of `nodes_before_placement`, if already known.

    """
    nodes_before = nodes_before_placement(instance) if nodes_before is None else nodes_before
    before = nodes_before.judged_nodes
    gang_of = {pod.key: gang for gang in instance.gangs for pod in gang.pods}
    waiting = {pod.key: pod for gang in instance.gangs for pod in gang.pods}
    new: dict[str, list[PlacedPod]] = defaultdict(list)
    members: dict[NamespacedName, dict[NamespacedName, str]] = defaultdict(dict)
    for place in placement.pods:
        pod = waiting.get(place.key)
        if pod is not None and place.node in before:
            there = pod_with_spec_on(pod, before[place.node].node)
            selector = pod.spec.node_selector
            new[place.node].append(placed_pod_of(there, place, new=True, selector=selector))
            members[gang_of[place.key].key][place.key] = place.node
    # In the order of the nodes. A single node needs no look through all of them.
    order = [node.name for node in instance.nodes] if len(new) > 1 else new
    entered = {
        name: _judged_node(
            before[name].node, before[name].inside, before[name].placed_pods, new[name]
        )
        for name in order
        if name in new
    }
    judged_nodes = tuple(entered.values())
    newcomers = tuple((judged, placed) for judged in judged_nodes for placed in judged.new)
    return InstanceWithPlacement(
        instance, placement, waiting, gang_of, nodes_before, judged_nodes, newcomers, members
    )


def empty_node_capacity(node: Node) -> NodeCapacity:
    """Return what the node has to give when nothing runs on it."""
    topology = node.machine.topology
    allocatable = topology.online - node.reserved_cpus
    healthy: dict[str, list[Device]] = defaultdict(list)
    gpus_of: dict[GpuVendor, list[Device]] = defaultdict(list)
    for device in node.machine.devices:
        if device.type == GPU:
            gpus_of[gpu_vendor_of(device)].append(device)
    for device in node.devices:
        if node.is_healthy(device):
            healthy[device.type].append(device)
    return NodeCapacity(
        topology=topology,
        allocatable=allocatable,
        whole_cores=tuple(core for core in topology.cores.values() if core <= allocatable),
        efficient=frozenset(c.id for c in topology.cpus if c.kind is HybridCoreKind.EFFICIENCY),
        devices={(device.type, device.minor): device for device in node.devices},
        healthy={kind: tuple(devices) for kind, devices in healthy.items()},
        devices_in={kind: Counter(d.numa_node for d in of) for kind, of in healthy.items()},
        switches=tuple(_switches(healthy.values())),
        gpus=linked_classes_of_devices(
            tuple(healthy.get(GPU, ())),
            node.machine.gpu_links,
            table=node.table,
            honored=node.honors_table,
        ),
        gpus_of={of: frozenset(gpu.minor for gpu in gpus) for of, gpus in gpus_of.items()},
        gpu_named={of: _names(gpus) for of, gpus in gpus_of.items()},
        cpus_in=Counter(topology.cpu[cpu].numa_node for cpu in allocatable),
        cpus_in_package=Counter[int | None](topology.cpu[cpu].package for cpu in allocatable),
        memory_bytes_in=dict[CellId, int](node.memory_bytes_in().items()),
        pages_in=dict[tuple[CellId, int], int](node.pages_in().items()),
    )


def _switches(healthy: Iterable[Sequence[Device]]) -> Iterator[frozenset[tuple[str, int]]]:
    """Yield the devices below each switch that has a GPU and another device."""
    below: defaultdict[str, set[tuple[str, int]]] = defaultdict(set)
    for devices in healthy:
        for device in devices:
            if device.pcie_switch is not None and not is_mig_instance(device.type):
                below[device.pcie_switch].add((device.type, device.minor))
    for devices_below in below.values():
        if len(devices_below) > 1 and any(kind == GPU for kind, _ in devices_below):
            yield frozenset(devices_below)


def _names(gpus: Sequence[Device]) -> dict[str, int]:
    """Return name -> minor: a vendor's variable names a GPU by its minor or by a unique id."""
    ids = Counter(gpu.id for gpu in gpus if gpu_has_runtime_readable_id(gpu))
    names = {str(gpu.minor): gpu.minor for gpu in gpus}
    return names | {gpu.id: gpu.minor for gpu in gpus if ids[gpu.id] == 1}


def _running_on(node: Node, runner: RunningPod) -> PlacedPod:
    """Return a pod that runs on the node in its place, as it counts there."""
    counted = running_pod_counted_as_legal(runner)
    pod, own = pod_with_spec_on(counted.pod, node), counted.pod.spec.node_selector
    return placed_pod_of(pod, counted.placement, new=False, selector=own)


def placed_pod_of(
    pod: Pod, place: PodPlacement, *, new: bool, selector: Labels | None = None
) -> PlacedPod:
    """Return a pod in a place; ``selector`` as in `PlacedPod`, if not that of its spec."""
    spec = pod.spec
    owned = place.cpuset if spec.qos.owns_cpus else NO_CPUS
    own = spec.node_selector if selector is None else selector
    return PlacedPod(pod, place, spec.requests, spec.qos, owned, new, own)


def _judged_node(
    node: Node, inside: NodeCapacity, running: Sequence[PlacedPod], new: Sequence[PlacedPod]
) -> JudgedNode:
    if not running and not new:
        return JudgedNode(node, inside, (), (), NO_CPUS, NO_CPUS, ())
    placed_pods = (*running, *new)
    owners = [placed for placed in placed_pods if placed.owned]
    return JudgedNode(
        node=node,
        inside=inside,
        placed_pods=placed_pods,
        new=tuple(new),
        taken=NO_CPUS.union(*[placed.owned for placed in owners]),
        taken_by_lse=NO_CPUS.union(*[p.owned for p in owners if p.qos is QosClass.LSE]),
        looking=tuple([placed for placed in placed_pods if placed.pod.spec.affinity]),
    )
