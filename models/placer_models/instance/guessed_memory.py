"""Guessed memory: where running pods have theirs, if nobody says so (C12).

A pod that a policy binds to NUMA nodes has its CPUs where its memory is, so both have to fit.
The guess depends on what the pods of a node are and ask for, not on their order, nor on which of
them may move:

1. Who holds CPUs or devices of some NUMA nodes has its memory there. Under a binding policy it has
   as many of them as the policy wants.
2. Who is bound to the NUMA nodes of its memory is on as few as its policy wants, where its memory
   and its CPU request fit: of several such sets the one with most memory left, then the lowest ids.
   The largest pods come first, by the share of the node's memory or CPUs that they ask for, then by
   namespace and name. If somebody does not fit, other sets are tried, up to `MOST_TRIED` of them.
3. All others have what is left, the largest first, from the NUMA nodes with most of it.

Where that lets not all requests fit, who comes by the first rule only because memory had better be
near gives way to the second. If not all fit even so, those that do are placed first.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, islice

from placer_models.alignment import (
    effective_alignment_scope,
    resolve_alignment_policy,
    restricted_cell_count,
)
from placer_models.cluster import Node
from placer_models.cpuset import CpuSet
from placer_models.instance.guessed_room import (
    AmountLedgerByNumaNode,
    Resource,
    Where,
    fit_all_pods_on_numa_nodes,
    split_over_numa_nodes,
)
from placer_models.instance.running_defaults import (
    running_pool_cpus_of_node,
    split_amount_over_numa_nodes,
)
from placer_models.placement import NamespacedName
from placer_models.pod import PodSpec, Resources
from placer_models.policy import BINDING, AlignmentPolicy, AlignmentScope, QosClass

MEMORY = "memory"
POOLS = (QosClass.LS, QosClass.BE)

MOST_SETS = 256
"""How many sets of NUMA nodes of one size are options of one pod."""

_NOWHERE: Where = frozenset()


@dataclass(frozen=True, slots=True)
class PodWithUnlocatedMemory:
    """A running pod, as far as it is known where it is.

    Attributes:
        near: NUMA nodes of its own CPUs and its devices, and of what it is said to hold.
        homes: NUMA nodes to whose pool it is bound; empty: none; None: those that it holds
            something of, with what is guessed.
        memory_bytes: How much memory it has whose place is to be guessed.
        pages: Page size in bytes -> hugepages whose place is to be guessed.

    """

    key: NamespacedName
    spec: PodSpec
    near: Where
    homes: Where | None
    memory_bytes: int
    pages: Mapping[int, int]

    @property
    def is_open(self) -> bool:
        """Whether there is anything to guess."""
        return bool(self.memory_bytes or any(self.pages.values()))

    @property
    def held(self) -> dict[Resource, int]:
        """What is to be guessed: memory, and hugepages of each size."""
        return dict([(MEMORY, self.memory_bytes), *self.pages.items()])

    @property
    def counted(self) -> dict[Resource, int]:
        """What it counts of its pool."""
        if self.spec.qos.owns_cpus:
            return {}
        return {self.spec.qos: self.spec.requests.cpu_milli}


Holdings = dict[Resource, dict[int, int]]
"""MEMORY, or a page size in bytes -> NUMA node -> bytes or pages."""


def room_by_resource(
    memory_bytes: dict[int, int], pages: Mapping[tuple[int, int], int], asked: Iterable[Resources]
) -> dict[Resource, dict[int, int]]:
    """Return what NUMA nodes have of memory, and of hugepages of each size there or asked for."""
    sizes = {size for _, size in pages}
    sizes |= {one.page_bytes for requests in asked for one in requests.hugepages}
    room: dict[Resource, dict[int, int]] = {MEMORY: memory_bytes}
    for size in sizes:
        room[size] = {numa: count for (numa, of), count in pages.items() if of == size}
    return room


def guessed_memory_of_running_pods(
    node: Node,
    owned: Mapping[QosClass, CpuSet],
    runners: Sequence[PodWithUnlocatedMemory],
    room: Mapping[Resource, Mapping[int, int]],
) -> list[Holdings]:
    """Return what each running pod of a node holds of what is to be guessed.

    It is all that is asked for: what the NUMA nodes lack is on the first of them, too.

    Args:
        node: The node.
        owned: The CPUs that its pods own, by their class.
        runners: Its running pods.
        room: What its NUMA nodes have left of memory and of hugepages by size.

    """
    found = _Guess(node, owned, runners, room).places()
    for one, held in zip(runners, found, strict=True):
        for resource, amount in one.held.items():
            here = held.setdefault(resource, {})
            first = min(room[resource], default=None)
            if first is not None and (lacking := amount - sum(here.values())):
                here[first] = here.get(first, 0) + lacking
    return found


def numa_node_with_pool_room(
    milli: int,
    node: Node,
    owned: Mapping[QosClass, CpuSet],
    runners: Sequence[PodWithUnlocatedMemory],
) -> int | None:
    """Return the first NUMA node whose shared pool holds a request beside bound pods, if any does.

    Otherwise it is the first whose pool could hold it alone.
    """
    guess = _Guess(node, owned, runners, {})
    beside, alone = guess.fresh_room(), AmountLedgerByNumaNode(guess.cpus)
    for room in (beside, alone):
        for numa in guess.numa_nodes:
            if room.takes({QosClass.LS: milli}, frozenset((numa,))):
                return numa
    return None


class _Guess:
    """A guess for the pods of one node.

    Attributes:
        order: The pods of which something is to be guessed, the largest first.

    """

    def __init__(
        self,
        node: Node,
        owned: Mapping[QosClass, CpuSet],
        runners: Sequence[PodWithUnlocatedMemory],
        room: Mapping[Resource, Mapping[int, int]],
    ) -> None:
        self.node, self.runners = node, runners
        self.room = {resource: dict(left) for resource, left in room.items()}
        self.numa_nodes = [numa.id for numa in node.machine.topology.numa_nodes]
        self.cpus, self.served = _cpu_room(node, owned)
        bytes_of_node = sum(node.memory_bytes_in().values())
        milli_of_node = node.milli_per_cpu * len(node.machine.topology.online)

        def size(at: int) -> tuple[int, NamespacedName]:
            asked = runners[at].spec.requests
            share = max(asked.memory_bytes * milli_of_node, asked.cpu_milli * bytes_of_node)
            return -share, runners[at].key

        self.order = sorted((i for i, one in enumerate(runners) if one.is_open), key=size)
        self.found: list[Holdings] = [{} for _ in runners]

    def places(self) -> list[Holdings]:
        """Lay everything out; return what each pod holds."""
        aligned = [i for i in self.order if self._is_aligned(self.runners[i])]
        others = [i for i in self.order if i not in aligned]
        if aligned:
            near = [i for i in others if self.runners[i].near]
            settled = self._sets(aligned, near)
            if settled is None and near:
                settled = self._sets(aligned, [])
            self._lay_on(settled if settled is not None else self._as_far_as_possible(aligned))
        laid_already = {i for i, held in enumerate(self.found) if held}
        rest = [i for i in self.order if i not in laid_already]
        for i in sorted(rest, key=lambda i: not self.runners[i].near):
            self._lay(i, self.runners[i].near)
        return self.found

    def _is_aligned(self, one: PodWithUnlocatedMemory) -> bool:
        """Return whether a policy keeps what the pod holds to NUMA nodes of its CPUs."""
        binding = resolve_alignment_policy(one.spec.alignment, self.node.alignment) in BINDING
        floats = not one.spec.qos.owns_cpus and one.homes == _NOWHERE
        return binding and not floats

    def fresh_room(self) -> AmountLedgerByNumaNode:
        """Return the room beside pods that are known to be bound to some NUMA nodes.

        NUMA nodes of such pods that lack CPUs already have none left.
        """
        room = AmountLedgerByNumaNode({**self.room, **self.cpus})
        known = [one for one in self.runners if self._homes(one)]
        for one in sorted(known, key=lambda one: one.key):
            homes = self._homes(one)
            if not room.takes(one.counted, homes):
                room.close(one.spec.qos, homes)
        return room

    def _homes(self, one: PodWithUnlocatedMemory) -> Where:
        """Return the NUMA nodes to whose pool a pod is known to be bound."""
        if one.spec.qos.owns_cpus or (one.homes is None and one.is_open):
            return _NOWHERE
        return one.near if one.homes is None else one.homes

    def _wants(self, one: PodWithUnlocatedMemory) -> dict[Resource, int]:
        """Return what a pod takes of the NUMA nodes that are guessed."""
        follows = one.homes is None and not one.spec.qos.owns_cpus
        return {**one.held, **one.counted} if follows else one.held

    def _sets(self, aligned: Sequence[int], near: Sequence[int]) -> dict[int, Where] | None:
        """Return NUMA nodes for pods on which all of them fit, or None if none were found.

        Args:
            aligned: Pods that a policy keeps together.
            near: Pods that had better be near what they hold.

        """
        room = self.fresh_room()
        for i in near:
            room.take(self.runners[i].held, self.runners[i].near)
        pods = [self.runners[i] for i in aligned]
        wants = [self._wants(one) for one in pods]
        if not room.holds(self.room) or any(
            sum(asked.get(resource, 0) for asked in wants) > room.spare(resource)
            for resource in room.has
        ):
            return None
        found = fit_all_pods_on_numa_nodes(
            room, wants, [partial(self._options, room, one) for one in pods]
        )
        if found is None:
            return None
        return {**dict(zip(aligned, found, strict=True)), **{i: self.runners[i].near for i in near}}

    def _as_far_as_possible(self, aligned: Sequence[int]) -> dict[int, Where]:
        """Return NUMA nodes for those that fit one after the other, then for the rest.

        Of these, memory alone has to fit; the others are left out.
        """
        room = self.fresh_room()
        found: dict[int, Where] = {}
        for i in aligned:
            one = self.runners[i]
            for where in self._options(room, one):
                if room.takes(self._wants(one), where):
                    found[i] = where
                    break
        for i in aligned:
            one, qos = self.runners[i], self.runners[i].spec.qos
            if i in found:
                continue
            options = self._options(room, one, served=False)
            if qos in POOLS:
                options.sort(key=lambda where: -sum(room.left(qos, numa) for numa in where))
            for where in options:
                if room.takes(one.held, where):
                    found[i] = where
                    break
        return found

    def _options(
        self, room: AmountLedgerByNumaNode, one: PodWithUnlocatedMemory, *, served: bool = True
    ) -> list[Where]:
        """Return the sets of NUMA nodes that a pod may be on, best first.

        Args:
            room: What there is.
            one: The pod.
            served: Whether each of them needs a CPU of the pod's pool, if it follows its memory.

        """
        near, limit = one.near, self._limit(one)
        follows = one.homes is None and not one.spec.qos.owns_cpus
        if near and (limit is None or len(near) >= limit):
            return [near]
        sizes = range(1, len(self.numa_nodes) + 1) if limit is None else (limit,)
        more = [numa for numa in self.numa_nodes if numa not in near]
        if follows and served:
            more = [numa for numa in more if numa in self.served[one.spec.qos]]
        # The emptiest come first, so that the best are among the options if there are too many.
        more.sort(key=lambda numa: (-room.left(MEMORY, numa), numa))
        found: list[Where] = []
        for size in sizes:
            some = islice(combinations(more, size - len(near)), MOST_SETS)
            sets = [frozenset((*near, *each)) for each in some if size > len(near)]
            found += sorted(sets, key=lambda s: (-sum(room.left(MEMORY, n) for n in s), sorted(s)))
        return found

    def _limit(self, one: PodWithUnlocatedMemory) -> int | None:
        """Return how many NUMA nodes the pod's policy wants; None: any number."""
        policy = resolve_alignment_policy(one.spec.alignment, self.node.alignment)
        scope = effective_alignment_scope(one.spec.scope, self.node.scope)
        if scope is not AlignmentScope.POD:
            return None
        if policy is AlignmentPolicy.SINGLE_NUMA_NODE:
            return 1
        if policy is AlignmentPolicy.RESTRICTED:
            return restricted_cell_count(*_widths(one.spec, self.node)) or None
        return None

    def _spreads(self, one: PodWithUnlocatedMemory) -> bool:
        """Return whether a pod is bound to all its NUMA nodes only by having memory of each."""
        return (
            self._is_aligned(one)
            and bool(self._wants(one).keys() & set(POOLS))
            and (self._limit(one) is None)
        )

    def _lay_on(self, settled: Mapping[int, Where]) -> None:
        """Lay out what pods hold of their NUMA nodes."""
        for resource in self.room:
            asked = [(i, self.runners[i].held.get(resource, 0)) for i in settled]
            wanted = [(i, amount) for i, amount in asked if amount]
            given = split_over_numa_nodes(
                self.room[resource],
                [(settled[i], amount, self._spreads(self.runners[i])) for i, amount in wanted],
            )
            for (i, _), held in zip(wanted, given, strict=True):
                self._hold(i, resource, held)

    def _lay(self, at: int, near: Collection[int]) -> None:
        """Lay out what a pod holds, near some NUMA nodes as far as there is room."""
        for resource, amount in self.runners[at].held.items():
            if amount:
                room = {n: left for n, left in self.room[resource].items() if left > 0}
                around = near or self.found[at].get(MEMORY, ())
                self._hold(at, resource, split_amount_over_numa_nodes(amount, around, room))

    def _hold(self, at: int, resource: Resource, held: Mapping[int, int]) -> None:
        self.found[at][resource] = dict(held)
        for numa, amount in held.items():
            self.room[resource][numa] -= amount


def _cpu_room(
    node: Node, owned: Mapping[QosClass, CpuSet]
) -> tuple[dict[Resource, dict[int, int]], dict[QosClass, set[int]]]:
    """Return what requests of bound pods may sum to on each NUMA node, and where there are CPUs."""
    cpu = node.machine.topology.cpu
    room: dict[Resource, dict[int, int]] = {}
    served: dict[QosClass, set[int]] = {}
    for qos in POOLS:
        pool = running_pool_cpus_of_node(qos, node, owned)
        room[qos] = dict.fromkeys((numa.id for numa in node.machine.topology.numa_nodes), 0)
        served[qos] = {n for c in pool if (n := cpu[c].numa_node) is not None}
        for c in pool - node.reserved_cpus:
            numa = cpu[c].numa_node
            if numa is not None:
                room[qos][numa] += node.milli_per_cpu
    return room, served


def _widths(spec: PodSpec, node: Node) -> tuple[list[tuple[int, ...]], tuple[int, ...]]:
    """Return what each NUMA node has to allocate of what a pod asks for, and the request."""
    topology, asked = node.machine.topology, spec.requests
    per_cpu = 1000 if spec.qos.owns_cpus else node.milli_per_cpu
    cpus = [topology.cpu[c].numa_node for c in topology.online - node.reserved_cpus]
    kinds = []
    for kind in sorted({device.type for device in asked.devices}):
        homes = [d.numa_node for d in node.devices if d.type == kind and node.is_healthy(d)]
        if None not in homes:
            kinds.append((homes, asked.count_of(kind)))
    memory, pages = node.memory_bytes_in(), node.pages_in()
    cells = [
        (
            per_cpu * cpus.count(numa.id),
            memory[numa.id],
            *(pages.get((numa.id, each.page_bytes), 0) for each in asked.hugepages),
            *(homes.count(numa.id) for homes, _ in kinds),
        )
        for numa in topology.numa_nodes
    ]
    need = (
        asked.cpu_milli,
        asked.memory_bytes,
        *(each.count for each in asked.hugepages),
        *(count for _, count in kinds),
    )
    return cells, need
