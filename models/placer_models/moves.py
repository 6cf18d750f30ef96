"""Running pods that may move: where they are at home, and whether they stay there (G5, C18).

An instance with a budget of moves asks for a place of the pods that wait and of the
running pods that may move, all at once: each of the latter has a home, and is placed in any
case. So there is one kind of question, and every rule and every tier knows what to do.
Solver and judge ask it alike; the tests' brute force puts it in its own words
(docs/rules/moves.md).
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from typing import Protocol

from placer_models.bound import bound_to, within
from placer_models.cluster import Instance, Node, RunningGang, RunningPod
from placer_models.cpuset import CpuSet
from placer_models.legal import spec_faults
from placer_models.movable import Misplaced, Movable, may_move
from placer_models.placement import Move, NamespacedName, Placement, PodPlacement, title_of
from placer_models.pod import Gang, PodSpec
from placer_models.policy import QosClass
from placer_models.reach import any_reaches_beyond

Mended = Mapping[NamespacedName, tuple[str, ...]]
"""A running pod that moves -> the rules that it broke where it was."""


class Broken(Protocol):
    """One rule that is broken, as the judge says it."""

    @property
    def rule(self) -> str:
        """The rule's name."""

    @property
    def subject(self) -> str:
        """The pod, the node or the gang at which it is."""


Blamed = Callable[[Instance, Placement], Sequence[Broken]]
"""A judge: what a placement of all who are asked breaks."""


def movable_pods(instance: Instance, blamed: Blamed) -> Movable:
    """Return who may move; nobody where there is nothing to move for, or no budget."""
    if not instance.move_budget or not instance.gangs or instance.is_question:
        return Movable()
    running = {one.pod.key: one for one in instance.running}
    on_node: defaultdict[str, list[RunningPod]] = defaultdict(list)
    for one in instance.running:
        on_node[one.placement.node].append(one)
    nodes = {node.name: node for node in instance.nodes}

    # Who keeps others off a whole domain is on any node of it.
    wide = any_reaches_beyond(one.pod for one in instance.running)
    everywhere = dict.fromkeys(nodes) if wide else {}

    def alone(group: frozenset[NamespacedName]) -> Instance:
        """Return the question of pods that come anew to where they are; nothing else counts."""
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
    return Movable(
        frozenset[NamespacedName]().union(*fitting),
        tuple(
            _misplaced(group, alone(group), blamed)
            for group in sorted(misplaced, key=lambda group: min(order[key] for key in group))
            if not any(any(spec_faults(running[key].pod.spec)) for key in group)
        ),
    )


def with_movable_pods(
    instance: Instance, blamed: Blamed, placement: Placement | None = None
) -> Instance:
    """Return the question in which the running pods that may move want a place, too.

    As it is where there is nothing to move for, or nobody to move, or where it has been
    done already. Who is misplaced is among them only if the placement moves it.
    """
    movable = movable_pods(instance, blamed)
    if not movable.misplaced:
        return question(instance, movable)
    place_of = {place.key: place for place in placement.pods} if placement else {}
    nodes = {node.name: node for node in instance.nodes}
    could = frozenset[NamespacedName]().union(*(one.pods for one in movable.misplaced))
    gone = {
        running.pod.key
        for running in instance.running
        if running.pod.key in could
        and (place := place_of.get(running.pod.key)) is not None
        and not stays(
            place,
            _said(running, nodes[running.placement.node]),
            owns_cpus=running.pod.spec.qos.owns_cpus,
        )
    }
    return question(instance, movable, [one for one in movable.misplaced if one.pods & gone])


def question(instance: Instance, movable: Movable, leaving: Collection[Misplaced] = ()) -> Instance:
    """Return the question in which those that fit, and those misplaced ones, want a place."""
    if movable == Movable():
        return instance
    pods = movable.fitting.union(*(one.pods for one in leaving))
    gone = frozenset[NamespacedName]().union(*(one.leaving for one in leaving))
    could = {key for one in movable.misplaced if one not in leaving for key in one.pods}
    return replace(
        with_homes(instance, pods, gone),
        could_leave=tuple(running for running in instance.running if running.pod.key in could),
    )


def rules_mended(movable: Movable, placement: Placement) -> Mended:
    """Return the rules that pods broke where they were, of those that a placement moves."""
    gone = {place.key for place in placement.pods}
    found: defaultdict[NamespacedName, list[str]] = defaultdict(list)
    for one in movable.misplaced:
        for key, rule in one.broken:
            if key in gone:
                found[key].append(rule)
    return {key: tuple(rules) for key, rules in found.items()}


def _groups(instance: Instance) -> Iterator[frozenset[NamespacedName]]:
    """Yield the running pods that may be looked at for another place, as they move together.

    Of a gang of which nothing is known nobody moves, and of one that asks where its members
    are all or none.
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
        if not (gang.gather or gang.levels):
            yield from (frozenset({one.pod.key}) for one in members if one.pod.key in able)
        elif keys and keys <= able:
            yield keys


def _faults_at_home(asked: Instance, blamed: Blamed) -> Sequence[Broken]:
    return blamed(asked, complete_with_current(asked, Placement()))


def _subjects(group: Collection[RunningPod]) -> Iterator[str]:
    """Yield the names at which something is wrong where pods are: theirs and their nodes'."""
    for one in group:
        yield from (one.pod.title, one.placement.node)
        if one.placement.gang is not None:
            yield title_of(one.pod.namespace, one.placement.gang)


def _misplaced(group: frozenset[NamespacedName], asked: Instance, blamed: Blamed) -> Misplaced:
    """Return what pods are in breach of, when they alone come anew to where they are."""
    faults = _faults_at_home(asked, blamed)
    gangs = {title_of(*gang.key) for gang in asked.gangs}
    broken: dict[tuple[NamespacedName, str], None] = {}
    leaving = set(group) if len(group) == 1 else set[NamespacedName]()
    for home in asked.homes:
        for fault in faults:
            own = fault.subject in (title_of(*home.key), home.node)
            if own or fault.subject in gangs:
                broken[home.key, fault.rule] = None
            if own:
                leaving.add(home.key)
    return Misplaced(group, tuple(broken), frozenset(leaving))


def complete_with_current(instance: Instance, placement: Placement) -> Placement:
    """Return the placement with every pod that has a home and is not placed left there.

    Pods of pools run in what the whole placement leaves of them. Who stays in breach of a
    rule runs, and is not repeated.
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
    """Return the home of a pod that stays, with the pool as it has become.

    Args:
        home: Where it is.
        spec: What it asks for.
        node: Where that is.
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
    bound = bound_to(home, spec, node)
    pool = within(pool, bound, topology) if bound else pool
    containers = tuple(replace(part, cpuset=pool) for part in home.containers)
    return replace(home, cpuset=pool, containers=containers)


def _members_of(instance: Instance) -> Iterator[tuple[RunningGang, list[RunningPod]]]:
    """Yield the gangs that run, each with the running pods that are in it."""
    named: defaultdict[tuple[str, str | None], list[RunningPod]] = defaultdict(list)
    for running in instance.running:
        named[running.pod.namespace, running.placement.gang].append(running)
    for gang in instance.running_gangs:
        yield gang, named[gang.key]


def with_homes(
    instance: Instance, movable: Set[NamespacedName], gone: frozenset[NamespacedName] = frozenset()
) -> Instance:
    """Return the question in which those running pods want a place, and have a home.

    They stand after all that waits, in their gangs or each in one of its own, which are
    worth nothing. Those that are gone cannot stay.
    """
    nodes = {node.name: node for node in instance.nodes}
    asked = [
        replace(running, placement=_said(running, nodes[running.placement.node]))
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
        # The name alone may be that of a gang.
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
            replace(node, homes=tuple(at_home[node.name])) if node.name in at_home else node
            for node in instance.nodes
        ),
        gangs=(*instance.gangs, *gangs),
        running=tuple(r for r in instance.running if r.pod.key not in movable),
        homes=tuple(running.placement for running in asked),
        gone=gone,
        is_question=True,
    )


def _said(running: RunningPod, node: Node) -> PodPlacement:
    """Return a pod's place with the NUMA nodes to whose pool it is bound said."""
    place, spec = running.placement, running.pod.spec
    if spec.qos.owns_cpus or place.cpu_milli is not None:
        return place
    homes = sorted(bound_to(place, spec, node))
    counts = [spec.requests.cpu_milli, *[0] * len(homes)]
    return replace(place, cpu_milli=tuple(zip(homes, counts, strict=False)))


def stays(place: PodPlacement, home: PodPlacement, *, owns_cpus: bool) -> bool:
    """Return whether a pod is where it was: node, own CPUs, memory and devices.

    And bound to the pool of the NUMA nodes to which it was. A pool that shrinks or grows
    around a pod moves nobody, nor does it if its request is counted elsewhere among them.
    """
    if place.node != home.node or (owns_cpus and place.cpuset != home.cpuset):
        return False
    held, had = (
        {*one.memory_bytes, *one.hugepages, *((d.type, d.minor, d.share) for d in one.devices)}
        for one in (place, home)
    )
    homes, were = ({numa for numa, _ in one.cpu_milli or ()} for one in (place, home))
    return held == had and homes == were


def moved(instance: Instance, placement: Placement) -> tuple[PodPlacement, ...]:
    """Return the homes of the pods that are placed elsewhere, in the instance's order.

    Who is gone from its home, as the question says, counts wherever it is.
    """
    place_of = {place.key: place for place in placement.pods}
    owners = {pod.key for gang in instance.gangs for pod in gang.pods if pod.spec.qos.owns_cpus}
    return tuple(
        home
        for home in instance.homes
        if home.key in place_of
        and (
            home.key in instance.gone
            or not stays(place_of[home.key], home, owns_cpus=home.key in owners)
        )
    )


def movers(
    instance: Instance, placement: Placement, mended: Mended | None = None
) -> tuple[Move, ...]:
    """Return every move of an answer: the running pods that it places, in its order."""
    home_of = {running.pod.key: running.placement for running in instance.running}
    mended = mended or {}
    return tuple(
        Move(home_of[place.key], place, mended.get(place.key, ()))
        for place in placement.pods
        if place.key in home_of
    )


def without_stayers(instance: Instance, placement: Placement) -> Placement:
    """Return the placement as an answer says it: pods that stay are not repeated."""
    if not instance.homes:
        return placement
    gone = {home.key for home in moved(instance, placement)}
    staying = {home.key for home in instance.homes} - gone
    return Placement(tuple(place for place in placement.pods if place.key not in staying))
