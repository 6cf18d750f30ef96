"""Running pods that may move: where they are at home, and whether they stay there (G5, C18).

An instance with a budget of moves asks for places for the pods that wait and for the running
pods that may move, all at once: each of the latter has a home, and is placed in any case. So
there is one kind of question, and every rule and every tier knows what to do. Solver and judge
ask the same question; the tests' brute force puts it in its own words (docs/rules/moves.md).
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from typing import Protocol

from placer_models.bound import numa_nodes_bound_to, pool_on_numa_nodes, with_bound_numa_nodes
from placer_models.cluster import Instance, Node, RunningGang, RunningPod
from placer_models.cpuset import CpuSet
from placer_models.movable import MisfitsLeavingTogether, MovablePods, may_move
from placer_models.placement import Move, NamespacedName, Placement, PodPlacement, pod_or_gang_title
from placer_models.pod import Gang, PodSpec
from placer_models.policy import QosClass
from placer_models.reach import any_pod_asks_beyond_node
from placer_models.relations import asks_where_members_are

Mended = Mapping[NamespacedName, tuple[str, ...]]
"""A running pod that moves -> the rules that it broke where it was."""


class BrokenRule(Protocol):
    """One rule that is broken, as the judge says it."""

    @property
    def rule(self) -> str:
        """The rule's name."""

    @property
    def subject(self) -> str:
        """The pod, the node or the gang at which it is broken."""


Blamed = Callable[[Instance, Placement], Sequence[BrokenRule]]
"""A judge: returns the rules that a placement breaks if every pod of the question has a place."""


def movable_pods(instance: Instance, blamed: Blamed) -> MovablePods:
    """Return the pods that may move; none if there is nothing to move for, or no budget."""
    if not instance.move_budget or not instance.gangs or instance.is_question:
        return MovablePods()
    running = {one.pod.key: one for one in instance.running}
    on_node: defaultdict[str, list[RunningPod]] = defaultdict(list)
    for one in instance.running:
        on_node[one.placement.node].append(one)
    nodes = {node.name: node for node in instance.nodes}

    # A pod that keeps others off a whole domain may be on any node of it.
    wide = any_pod_asks_beyond_node(one.pod for one in instance.running)
    everywhere = dict.fromkeys(nodes) if wide else {}

    def alone(group: frozenset[NamespacedName]) -> Instance:
        """Return the question in which only these pods come anew to where they are."""
        names = dict.fromkeys(running[key].placement.node for key in group)
        names.update(everywhere)
        here = replace(
            instance,
            nodes=tuple(nodes[name] for name in names),
            gangs=(),
            groups=(),
            running=tuple(one for name in names for one in on_node[name]),
        )
        return with_homes(here, group)

    fitting = list(_groups(instance))
    misplaced: list[frozenset[NamespacedName]] = []
    while fitting:
        faults = _faults_at_home(
            with_homes(instance, frozenset[NamespacedName]().union(*fitting)), blamed
        )
        if not faults:
            break
        named = {fault.subject for fault in faults}
        found = [
            group
            for group in fitting
            if not named.isdisjoint(_subjects([running[key] for key in group]))
            and _faults_at_home(alone(group), blamed)
        ]
        misplaced += found or fitting
        fitting = [group for group in fitting if group not in found] if found else []
    order = {key: i for i, key in enumerate(running)}
    return MovablePods(
        frozenset[NamespacedName]().union(*fitting),
        tuple(
            _misplaced(group, alone(group), blamed)
            for group in sorted(misplaced, key=lambda group: min(order[key] for key in group))
        ),
    )


def with_movable_pods_as_waiting(
    instance: Instance, blamed: Blamed, placement: Placement | None = None
) -> Instance:
    """Return the question in which the running pods that may move want a place, too.

    The instance is returned as it is if there is nothing to move for, if no pod may move, or if
    it is such a question already. A misplaced pod is included only if the placement moves it.
    """
    movable = movable_pods(instance, blamed)
    if not movable.misplaced:
        return movable_instance(instance, movable)
    place_of = {place.key: place for place in placement.pods} if placement else {}
    nodes = {node.name: node for node in instance.nodes}
    could = frozenset[NamespacedName]().union(*(one.pods for one in movable.misplaced))
    gone = {
        running.pod.key
        for running in instance.running
        if running.pod.key in could
        and (place := place_of.get(running.pod.key)) is not None
        and not is_where_it_was(
            place,
            with_bound_numa_nodes(running, nodes[running.placement.node]),
            owns_cpus=running.pod.spec.qos.owns_cpus,
        )
    }
    return movable_instance(
        instance, movable, [one for one in movable.misplaced if one.pods & gone]
    )


def movable_instance(
    instance: Instance, movable: MovablePods, leaving: Collection[MisfitsLeavingTogether] = ()
) -> Instance:
    """Return the question in which fitting pods, and the misplaced pods leaving, want a place."""
    if movable == MovablePods():
        return instance
    pods = movable.fitting.union(*(one.pods for one in leaving))
    gone = frozenset[NamespacedName]().union(*(one.leaving for one in leaving))
    could = {key for one in movable.misplaced if one not in leaving for key in one.pods}
    return replace(
        with_homes(instance, pods, gone),
        could_leave=tuple(running for running in instance.running if running.pod.key in could),
    )


def rules_mended(movable: MovablePods, placement: Placement) -> Mended:
    """Return, for the pods that a placement moves, the rules that they broke where they were."""
    gone = {place.key for place in placement.pods}
    found: defaultdict[NamespacedName, list[str]] = defaultdict(list)
    for one in movable.misplaced:
        for key, rule in one.broken:
            if key in gone:
                found[key].append(rule)
    return {key: tuple(rules) for key, rules in found.items()}


def _groups(instance: Instance) -> Iterator[frozenset[NamespacedName]]:
    """Yield the running pods that may be considered for another place, in groups.

    Pods of a group move together. No pod moves of a gang about which nothing is known. Of a
    gang that asks where its members are, all may move or none.
    """
    nodes = {node.name: node for node in instance.nodes}
    able = {
        running.pod.key
        for running in instance.running
        if running.placement.node in nodes and may_move(running, nodes[running.placement.node])
    }
    for running in instance.running:
        if running.placement.gang is None and running.pod.key in able:
            yield frozenset({running.pod.key})
    for gang, members in _members_of(instance):
        keys = frozenset(one.pod.key for one in members)
        if not asks_where_members_are(gang):
            yield from (frozenset({one.pod.key}) for one in members if one.pod.key in able)
        elif keys and keys <= able:
            yield keys


def _faults_at_home(asked: Instance, blamed: Blamed) -> Sequence[BrokenRule]:
    return blamed(asked, with_unplaced_at_home(asked, Placement()))


def _subjects(group: Collection[RunningPod]) -> Iterator[str]:
    """Yield the names under which faults of pods are reported: pods, their nodes and gangs."""
    for one in group:
        yield from (one.pod.title, one.placement.node)
        if one.placement.gang is not None:
            yield pod_or_gang_title(one.pod.namespace, one.placement.gang)


def _misplaced(
    group: frozenset[NamespacedName], asked: Instance, blamed: Blamed
) -> MisfitsLeavingTogether:
    """Return the rules that pods break if they alone come anew to where they are."""
    faults = _faults_at_home(asked, blamed)
    gangs = {gang.title for gang in asked.gangs}
    broken: dict[tuple[NamespacedName, str], None] = {}
    leaving = set(group) if len(group) == 1 else set[NamespacedName]()
    for home in asked.homes:
        for fault in faults:
            own = fault.subject in (home.title, home.node)
            if own or fault.subject in gangs:
                broken[home.key, fault.rule] = None
            if own:
                leaving.add(home.key)
    return MisfitsLeavingTogether(group, tuple(broken), frozenset(leaving))


def with_unplaced_at_home(instance: Instance, placement: Placement) -> Placement:
    """Return the placement in which every pod with a home that is not placed stays at home.

    Pods of pools run in what the whole placement leaves of their pools. A pod that stays in
    breach of a rule keeps running, and is not repeated.
    """
    if instance.could_leave:
        running = {one.pod.key for one in instance.could_leave}
        placement = Placement(tuple(p for p in placement.pods if p.key not in running))
    placed = {place.key for place in placement.pods}
    staying = tuple(home for home in instance.homes if home.key not in placed)
    if not staying:
        return placement
    pods = {pod.key: pod for gang in instance.gangs for pod in gang.pods}
    nodes = {node.name: node for node in instance.nodes}
    owned: defaultdict[tuple[str, QosClass], set[int]] = defaultdict(set)
    new = ((pods.get(place.key), place) for place in (*placement.pods, *staying))
    for pod, place in (*new, *((runner.pod, runner.placement) for runner in instance.running)):
        if pod is not None and pod.spec.qos.owns_cpus:
            owned[place.node, pod.spec.qos] |= place.cpuset
    return Placement(
        (
            *placement.pods,
            *(_left_there(home, pods[home.key].spec, nodes[home.node], owned) for home in staying),
        )
    )


def _left_there(
    home: PodPlacement,
    spec: PodSpec,
    node: Node,
    owned: Mapping[tuple[str, QosClass], Set[int]],
) -> PodPlacement:
    """Return the home of a pod that stays, with its pool as it is now.

    Args:
        home: Where the pod is.
        spec: What the pod asks for.
        node: The node of the home.
        owned: (name of a node, LSE or LSR) -> the CPUs that pods of that class own there.

    """
    if spec.qos.owns_cpus:
        return home
    owners = (QosClass.LSE, QosClass.LSR) if spec.qos is QosClass.LS else (QosClass.LSE,)
    topology = node.machine.topology
    taken = frozenset[int]().union(
        *(cpus for (name, _), cpus in owned.items() if name == node.name)
    )
    online = topology.online - node.out_of_pools(taken)
    pool: CpuSet = online.difference(*(owned.get((node.name, q), ()) for q in owners))
    bound = numa_nodes_bound_to(home, spec, node)
    pool = pool_on_numa_nodes(pool, bound, topology) if bound else pool
    containers = tuple(replace(part, cpuset=pool) for part in home.containers)
    return replace(home, cpuset=pool, containers=containers)


def _members_of(instance: Instance) -> Iterator[tuple[RunningGang, list[RunningPod]]]:
    """Yield the running gangs, each with its running pods."""
    named: defaultdict[tuple[str, str | None], list[RunningPod]] = defaultdict(list)
    for running in instance.running:
        named[running.pod.namespace, running.placement.gang].append(running)
    for gang in instance.running_gangs:
        yield gang, named[gang.key]


def with_homes(
    instance: Instance, movable: Set[NamespacedName], gone: frozenset[NamespacedName] = frozenset()
) -> Instance:
    """Return the question in which the ``movable`` running pods want a place, and have a home.

    They come after all pods that wait, in their gangs or each in a gang of its own. These gangs
    are worth nothing. The pods in ``gone`` cannot stay.
    """
    nodes = {node.name: node for node in instance.nodes}
    in_use = {running.placement.node for running in instance.running}
    asked = [
        replace(running, placement=with_bound_numa_nodes(running, nodes[running.placement.node]))
        for running in instance.running
        if running.pod.key in movable
    ]
    at_home: defaultdict[str, list[PodPlacement]] = defaultdict(list)
    for running in asked:
        place = running.placement
        if running.pod.key in gone:
            continue
        own = place.cpuset if running.pod.spec.qos.owns_cpus else frozenset()
        at_home[place.node].append(replace(place, cpuset=own))
    least = min((gang.priority for gang in instance.gangs), default=0)
    gangs = [
        # The pod's name itself may also be the name of a gang.
        Gang(f"running/{pod.name}", pod.namespace, (pod,), 1, priority=least, weight=0, lone=True)
        for pod in (running.pod for running in asked if running.placement.gang is None)
    ]
    for gang, members in _members_of(instance):
        if pods := tuple(one.pod for one in members if one.pod.key in movable):
            gangs.append(
                Gang(
                    gang.name,
                    gang.namespace,
                    pods,
                    len(pods),
                    priority=least,
                    weight=0,
                    gather=gang.gather,
                    levels=gang.levels,
                )
            )
    return replace(
        instance,
        nodes=tuple(
            replace(
                node, homes=tuple(at_home[node.name]), opened=node.offered and node.name in in_use
            )
            if node.name in at_home or (node.offered and node.name in in_use)
            else node
            for node in instance.nodes
        ),
        gangs=(*instance.gangs, *gangs),
        running=tuple(r for r in instance.running if r.pod.key not in movable),
        homes=tuple(running.placement for running in asked),
        gone=gone,
        is_question=True,
    )


def is_where_it_was(place: PodPlacement, home: PodPlacement, *, owns_cpus: bool) -> bool:
    """Return whether a pod is where it was: node, own CPUs, memory and devices.

    It must also be bound to the pool of the same NUMA nodes. A pod is not moved if its pool
    shrinks or grows around it, or if its request is shared out differently among these nodes.
    """
    if place.node != home.node or (owns_cpus and place.cpuset != home.cpuset):
        return False
    held, had = (
        {*one.memory_bytes, *one.hugepages, *((d.type, d.minor, d.share) for d in one.devices)}
        for one in (place, home)
    )
    homes, were = ({numa for numa, _ in one.cpu_milli or ()} for one in (place, home))
    return held == had and homes == were


def vacated_homes(instance: Instance, placement: Placement) -> tuple[PodPlacement, ...]:
    """Return the homes of the pods that are placed elsewhere, in the instance's order.

    A pod that cannot stay at home, as the question says, counts wherever it is placed.
    """
    place_of = {place.key: place for place in placement.pods}
    owners = {pod.key for gang in instance.gangs for pod in gang.pods if pod.spec.qos.owns_cpus}
    return tuple(
        home
        for home in instance.homes
        if home.key in place_of
        and (
            home.key in instance.gone
            or not is_where_it_was(place_of[home.key], home, owns_cpus=home.key in owners)
        )
    )


def moves_in_answer(
    instance: Instance, placement: Placement, mended: Mended | None = None
) -> tuple[Move, ...]:
    """Return every move of an answer, one per running pod that it places, in its order."""
    home_of = {running.pod.key: running.placement for running in instance.running}
    mended = mended or {}
    return tuple(
        Move(home_of[place.key], place, mended.get(place.key, ()))
        for place in placement.pods
        if place.key in home_of
    )


def placement_without_stayers(instance: Instance, placement: Placement) -> Placement:
    """Return the placement as an answer gives it: pods that stay are not repeated."""
    if not instance.homes:
        return placement
    gone = {home.key for home in vacated_homes(instance, placement)}
    staying = {home.key for home in instance.homes} - gone
    return Placement(tuple(place for place in placement.pods if place.key not in staying))
