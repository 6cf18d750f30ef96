"""The state of a cluster as a value: a call makes a new one, or leaves the old one alone.

What is free is always counted from the nodes and the running pods, so nothing can drift
away from a fresh count. Apart from them only the pools of LS and BE pods, node by node, and the
node of each pod are kept. A change copies rows of references. What it does not touch stays the
same objects, by which later calls know what they need not look at again.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace

from placer.counting.account import Account, account_after, account_of, idle_account_key
from placer.counting.pools import floats_over_pool, running_pods_with_current_pools
from placer.scheduling.decision import Batch
from placer.scheduling.errors import UnknownNodeError
from placer.search.baseline import CacheBetweenSolves, StartingAccounts
from placer_models.bound import is_bound_by_policy, numa_nodes_bound_to
from placer_models.cluster import Instance, Node, NodesWithCachedFacts, RunningPod
from placer_models.demand import ExpectedDemand
from placer_models.illegal_running import running_pod_counted_as_legal
from placer_models.incremental import (
    ConcatenatedTuples,
    PersistentMap,
    PersistentTuple,
    changed_indices,
)
from placer_models.left_out import GangsWithoutIllegalPods
from placer_models.node_strategy import NodeStrategy
from placer_models.placement import NamespacedName, PodPlacement
from placer_models.reach import asks_beyond_node
from placer_models.records import record


@record(frozen=True, slots=True, eq=False)
class SchedulerNodeRecord:
    """One node and the pods that run there.

    ``record_with_current_pools`` makes it, and it never changes.

    Attributes:
        pods: The pods, ascending by key; LS and BE pods run in the pools that the others leave.
        counted: The pods as `account_of` can count them.
        account: What is left on the node.

    """

    node: Node
    pods: tuple[RunningPod, ...]
    counted: tuple[RunningPod, ...]
    account: Account


@record(frozen=True, slots=True, eq=False)
class NodesAndPods:
    """All nodes of a cluster, ascending by name.

    Attributes:
        nodes: The nodes; one and the same object until a node comes, goes or changes.
        records: The record of each node.
        running: The counted pods of each node.
        accounts: What is left on each node.
        node_of: Key of a running pod -> name of its node.
        version: The number of changes so far.
        reaching: The number of nodes with a pod whose rules reach beyond its node.

    """

    nodes: NodesWithCachedFacts
    records: PersistentTuple[SchedulerNodeRecord]
    running: PersistentTuple[tuple[RunningPod, ...]]
    accounts: PersistentTuple[Account]
    node_of: PersistentMap[NamespacedName, str]
    version: int
    reaching: int

    def __contains__(self, name: str) -> bool:
        """Return whether there is a node of the name."""
        return name in self.nodes.position

    def of(self, name: str) -> SchedulerNodeRecord:
        """Return the record of a node.

        Raises:
            UnknownNodeError: There is no such node.

        """
        position = self.nodes.position
        if name not in position:
            raise UnknownNodeError(name, position)
        return self.records[position[name]]

    def asking(
        self,
        batch: Batch | GangsWithoutIllegalPods,
        move_budget: int = 0,
        strategy: NodeStrategy | None = None,
        demand: ExpectedDemand | None = None,
    ) -> Instance:
        """Return the problem of a batch, or of its legal part.

        Args:
            batch: Who waits.
            move_budget: How many running pods may move.
            strategy: The node strategy; None: the usual one.
            demand: The pods that are expected, where the strategy looks at them.

        """
        return Instance(
            nodes=self.nodes,
            gangs=batch.gangs,
            groups=batch.groups,
            running=ConcatenatedTuples(self.running),
            left_out=batch.left_out if isinstance(batch, GangsWithoutIllegalPods) else (),
            move_budget=move_budget,
            strategy=strategy or NodeStrategy.USABLE,
            demand=demand,
        )

    def baseline(self, cache: CacheBetweenSolves) -> StartingAccounts:
        """Return the nodes, counted; nodes that did not change are not counted anew.

        Args:
            cache: What earlier batches have left.

        """
        return StartingAccounts(self.nodes, self.running, self.accounts, cache)

    def with_node(self, node: Node) -> "NodesAndPods":
        """Return the state with the node added, or in place of the one of its name."""
        if node.name in self:
            before = self.of(node.name)
            pods = (_as_bound(runner, before.node, node) for runner in before.pods)
            return self._with((record_with_current_pools(node, pods),))
        more = (*self.records, record_with_current_pools(node, ()))
        return _bound(
            sorted(more, key=lambda record: record.node.name), self.node_of, self.version + 1
        )

    def without_node(self, name: str) -> "NodesAndPods":
        """Return the state without a node on which nothing runs."""
        left = (record for record in self.records if record.node.name != name)
        return _bound(left, self.node_of, self.version + 1)

    def runner(self, key: NamespacedName) -> RunningPod:
        """Return a pod that runs."""
        return next(r for r in self.of(self.node_of[key]).pods if r.pod.key == key)

    def places_now(self, places: Sequence[PodPlacement]) -> tuple[PodPlacement, ...]:
        """Return the places of the same pods as this state holds them, in the same order."""
        found = {
            runner.pod.key: runner.placement
            for name in {place.node for place in places}
            for runner in self.of(name).pods
        }
        return tuple(found[place.key] for place in places)

    def with_pods(self, pods: Iterable[RunningPod]) -> "NodesAndPods":
        """Return the state with more pods, each on the node of its place."""
        return self.replaced((), pods)

    def without_pods(self, keys: Iterable[NamespacedName]) -> "NodesAndPods":
        """Return the state without some of the pods that run."""
        return self.replaced(keys, ())

    def replaced(
        self, gone: Iterable[NamespacedName], came: Iterable[RunningPod]
    ) -> "NodesAndPods":
        """Return the state without some of the pods that run, and then with others; one change.

        Args:
            gone: Keys of pods that run.
            came: Pods that do not run, or are gone by then, each on the node of its place.

        """
        left = set(gone)
        new: dict[str, list[RunningPod]] = {self.node_of[key]: [] for key in left}
        for runner in came:
            new.setdefault(runner.placement.node, []).append(runner)
        return self._with(
            (not left and node_record_with_newcomers(self.of(name), more))
            or record_with_current_pools(
                _pinning_no_longer(self.of(name).node, more),
                (*(r for r in self.of(name).pods if r.pod.key not in left), *more),
            )
            for name, more in new.items()
        )

    def _with(self, new: Iterable[SchedulerNodeRecord]) -> "NodesAndPods":
        """Return the state with new records of nodes that it has."""
        touched = {self.nodes.position[record.node.name]: record for record in new}
        if not touched:
            return self
        gone = {
            r.pod.key: self.records[position].node.name
            for position in touched
            for r in self.records[position].pods
        }
        came = {r.pod.key: record.node.name for record in touched.values() for r in record.pods}
        records = self.records.changed(touched)
        same = all(record.node is self.nodes[position] for position, record in touched.items())
        return NodesAndPods(
            self.nodes if same else NodesWithCachedFacts(record.node for record in records),
            records,
            self.running.changed({at: record.counted for at, record in touched.items()}),
            self.accounts.changed({at: record.account for at, record in touched.items()}),
            self.node_of.changed(
                gone.keys() - came.keys(),
                {key: name for key, name in came.items() if gone.get(key) != name},
            ),
            self.version + 1,
            self.reaching
            + sum(_reaches(record) - _reaches(self.records[at]) for at, record in touched.items()),
        )


def nodes_and_pods_of(
    nodes: Iterable[Node], running: Iterable[RunningPod], version: int
) -> NodesAndPods:
    """Return the state of nodes, whose names are distinct, and of the pods on them.

    Idle nodes that differ in names alone share their account.
    """
    on_node: defaultdict[str, list[RunningPod]] = defaultdict(list)
    for runner in running:
        on_node[runner.placement.node].append(runner)
    idle: dict[Hashable, Account] = {}
    records = []
    for node in sorted(nodes, key=lambda node: node.name):
        here = on_node.get(node.name, ())
        alike = idle_account_key(node)
        known = not here and alike in idle
        record = (
            SchedulerNodeRecord(node, (), (), idle[alike])
            if known
            else record_with_current_pools(node, here)
        )
        if not here:
            idle[alike] = record.account
        records.append(record)
    node_of = PersistentMap.of((r.pod.key, name) for name, here in on_node.items() for r in here)
    return _bound(records, node_of, version)


def _bound(
    records: Iterable[SchedulerNodeRecord],
    node_of: PersistentMap[NamespacedName, str],
    version: int,
) -> NodesAndPods:
    """Return the state of a cluster, given records in the order of names."""
    records = tuple(records)
    return NodesAndPods(
        NodesWithCachedFacts(record.node for record in records),
        PersistentTuple.of(records),
        PersistentTuple.of(record.counted for record in records),
        PersistentTuple.of(record.account for record in records),
        node_of,
        version,
        sum(map(_reaches, records)),
    )


def _reaches(record: SchedulerNodeRecord) -> bool:
    """Return whether a pod runs there whose rules reach beyond the node."""
    return any(asks_beyond_node(spec) for spec, _ in record.account.affine)


def record_with_current_pools(node: Node, pods: Iterable[RunningPod]) -> SchedulerNodeRecord:
    """Return the record of a node: every LS and BE pod moves to the pool as it is now (C7)."""
    found = _by_key(pods)
    counted = _counted(node, found)
    account = account_of(node, counted)
    settled = tuple(running_pods_with_current_pools(node, found, account.pools))
    if settled != found:
        counted = _counted(node, settled)
        account = account_of(node, counted)
    return SchedulerNodeRecord(node, settled, counted, account)


def node_record_with_newcomers(
    record: SchedulerNodeRecord, came: Sequence[RunningPod]
) -> SchedulerNodeRecord | None:
    """Return the record of a node to which pods have come, without a look at those that run there.

    The answer is None if one has to look: newcomers own CPUs, say, and take them from a pool.
    """
    if _counted(record.node, tuple(came)) != tuple(came):
        return None
    account = account_after(record.node, record.account, came)
    if account is None:
        return None
    pools = account.pools
    if not all(floats_over_pool(pools.of(r.pod.spec.qos).cpus, r, record.node) for r in came):
        return None
    pods = _by_key((*record.pods, *came))
    counted = pods if record.counted is record.pods else _by_key((*record.counted, *came))
    return SchedulerNodeRecord(record.node, pods, counted, account)


def _by_key(pods: Iterable[RunningPod]) -> tuple[RunningPod, ...]:
    return tuple(sorted(pods, key=lambda runner: runner.pod.key))


def changed_places(before: NodesAndPods, after: NodesAndPods) -> tuple[PodPlacement, ...]:
    """Return the new places of the pods that run in both states with different CPUs."""
    if len(before.records) != len(after.records):
        return ()  # a node has come or gone, on which nothing runs
    moved = []
    for position in changed_indices(before.records, after.records):
        pods = before.records[position].pods
        same = set(map(id, pods))
        others = [runner for runner in after.records[position].pods if id(runner) not in same]
        if any(runner.pod.key in before.node_of for runner in others):
            places = {runner.pod.key: runner.placement for runner in pods}
            moved += [
                runner.placement
                for runner in others
                if places.get(runner.pod.key, runner.placement) != runner.placement
            ]
    return tuple(moved)


def _pinning_no_longer(node: Node, came: Iterable[RunningPod]) -> Node:
    """Return the node without pinned CPUs that new pods own: their former pods have ended."""
    if not node.unpooled_cpus - node.reserved_cpus:
        return node
    owned = (one.placement.cpuset for one in came if one.pod.spec.qos.owns_cpus)
    left = node.unpooled_cpus.difference(*owned)
    return node if left == node.unpooled_cpus else replace(node, unpooled_cpus=left)


def _as_bound(runner: RunningPod, before: Node, node: Node) -> RunningPod:
    """Return a pod bound, or floating, as it was: a new policy of its node moves no running pod."""
    place, spec = runner.placement, runner.pod.spec
    floated = place.cpu_milli is None and not numa_nodes_bound_to(place, spec, before)
    if floated and is_bound_by_policy(spec, node):
        return replace(runner, placement=replace(place, cpu_milli=()))
    return runner


def _counted(node: Node, pods: tuple[RunningPod, ...]) -> tuple[RunningPod, ...]:
    """Return pods as they count, if illegal, and without what they hold on NUMA nodes long gone.

    After an update the machine may no longer have some of its NUMA nodes.
    """
    known = {numa.id for numa in node.machine.topology.numa_nodes}

    def cleaned(runner: RunningPod) -> RunningPod:
        place = runner.placement
        held = (*place.memory_bytes, *place.hugepages, *(place.cpu_milli or ()))
        if known.issuperset(part[0] for part in held):
            return runner
        memory = tuple(held for held in place.memory_bytes if held[0] in known)
        pages = tuple(held for held in place.hugepages if held[0] in known)
        milli = place.cpu_milli and tuple(part for part in place.cpu_milli if part[0] in known)
        place = replace(place, memory_bytes=memory, hugepages=pages, cpu_milli=milli)
        return replace(runner, placement=place)

    found = tuple(cleaned(running_pod_counted_as_legal(runner)) for runner in pods)
    return pods if found == pods else found
