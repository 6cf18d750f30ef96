"""Running pods that may move: where they are at home, and whether they stay there (G5, C18).

An instance with a budget of moves asks for a place of the pods that wait and of the
running pods that may move, all at once: each of the latter has a home, and is placed in any
case. So there is one kind of question, and every rule and every tier knows what to do.
Solver and judge ask it alike; the tests' brute force puts it in its own words
(docs/rules/moves.md).
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import replace

from placer_models.bound import bound_to, within
from placer_models.cluster import Instance, Node, RunningGang, RunningPod
from placer_models.cpuset import CpuSet
from placer_models.placement import Placement, PodPlacement, title_of
from placer_models.pod import Gang, PodSpec
from placer_models.policy import AlignmentScope, QosClass
from placer_models.rule_family import RuleFamily

Key = tuple[str, str]
"""Namespace and name."""

Blamed = Callable[[Instance, Placement], Set[str]]
"""A judge: the names of the pods, nodes and gangs at which a placement breaks a rule."""


def with_movable_pods(instance: Instance, blamed: Blamed) -> Instance:
    """Return the question in which the running pods that may move want a place, too.

    As it is where there is nothing to move for, or nobody to move, or where it has been
    done already. Who could not be placed anew where it is stays there, and so do those
    whose gang then has to.
    """
    if not instance.move_budget or not instance.gangs or instance.homes:
        return instance
    nodes = {node.name: node for node in instance.nodes}
    movable = {
        running.pod.key
        for running in instance.running
        if running.placement.node in nodes and may_move(running, nodes[running.placement.node])
    }
    while movable := _with_their_gangs(instance, movable):
        asked = _with_homes(instance, movable)
        faults = _faults_at_home(asked, blamed)
        if not faults:
            return asked
        movable -= _misplaced(instance, asked, faults, blamed) or movable
    return instance


def _faults_at_home(asked: Instance, blamed: Blamed) -> Set[str]:
    return blamed(asked, complete_with_current(asked, Placement()))


def _misplaced(instance: Instance, asked: Instance, faults: Set[str], blamed: Blamed) -> set[Key]:
    """Return the pods that are at fault where all that are asked for are at home.

    What is wrong with a node is the fault of those at whom it is broken when they alone
    come there anew.
    """
    found: set[Key] = set()
    homes = {home.key: home for home in asked.homes}
    for gang in asked.gangs:
        for pod in gang.pods:
            if pod.key not in homes:
                continue
            node = homes[pod.key].node
            named = {pod.title, title_of(*gang.key)} & faults
            if named or (
                node in faults and _faults_at_home(_with_homes(instance, {pod.key}), blamed)
            ):
                found.add(pod.key)
    return found


def complete_with_current(instance: Instance, placement: Placement) -> Placement:
    """Return the placement with every pod that has a home and is not placed left there.

    Pods of pools run in what the whole placement leaves of them.
    """
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
    pool: CpuSet = topology.online.difference(*(owned.get((node.name, q), ()) for q in owners))
    bound = bound_to(home, spec, node)
    pool = within(pool, bound, topology) if bound else pool
    containers = tuple(replace(part, cpuset=pool) for part in home.containers)
    return replace(home, cpuset=pool, containers=containers)


def may_move(running: RunningPod, node: Node) -> bool:
    """Return whether a running pod may be looked at for another place at all.

    Every family of rules has to allow it; one that says nothing keeps all pods where they are.
    """
    spec = running.pod.spec
    return running.movable and all(
        family in MOVABLE and MOVABLE[family](spec, node) for family in RuleFamily
    )


def _always(spec: PodSpec, node: Node) -> bool:
    return True


def _is_first_of_no_kind(spec: PodSpec, node: Node) -> bool:
    """Return whether the pod does not mean itself: looked at as new, it would keep others out."""
    return not any(
        term.required and not term.apart and term.means(spec.labels, owns_cpus=spec.qos.owns_cpus)
        for term in spec.affinity
    )


# Who is where it is by a part of a pool, by virtual functions, by a strategy for devices or by
# the parts of its containers stays: no count says that such a pod has just what it had.


def _is_aligned_as_a_whole(spec: PodSpec, node: Node) -> bool:
    return AlignmentScope.CONTAINER not in (spec.scope, node.scope)


def _has_no_burst(spec: PodSpec, node: Node) -> bool:
    return not spec.constrained_burst


def _has_no_functions(spec: PodSpec, node: Node) -> bool:
    return not spec.functions


def _has_no_strategies(spec: PodSpec, node: Node) -> bool:
    return not spec.strategies


MOVABLE: dict[RuleFamily, Callable[[PodSpec, Node], bool]] = {
    RuleFamily.GANGS: _always,
    RuleFamily.NETWORK: _always,
    RuleFamily.AFFINITY: _is_first_of_no_kind,
    RuleFamily.IN_NODE_AFFINITY: _is_first_of_no_kind,
    RuleFamily.AMOUNTS: _always,
    RuleFamily.CPUS: _always,
    RuleFamily.NUMA: _always,
    RuleFamily.CONTAINERS: _is_aligned_as_a_whole,
    RuleFamily.BOUND: _has_no_burst,
    RuleFamily.LOCALITIES: _always,
    RuleFamily.NUMA_STRATEGY: _always,
    RuleFamily.EXCLUSIVITY: _always,
    RuleFamily.CORE_PAIRS: _always,
    RuleFamily.DEVICES: _always,
    RuleFamily.LINKS: _always,
    RuleFamily.MIG: _always,
    RuleFamily.SHARES: _always,
    RuleFamily.FUNCTIONS: _has_no_functions,
    RuleFamily.JOINT: _always,
    RuleFamily.DEVICE_STRATEGY: _has_no_strategies,
    RuleFamily.DEVICE_CHOICE: _always,
    RuleFamily.OPENED: _always,
    RuleFamily.MOVES: _always,
    RuleFamily.NODE_STRATEGY: _always,
}
"""By family, whether a pod of a spec on a node may be looked at for another place."""


def _with_their_gangs(instance: Instance, movable: Set[Key]) -> set[Key]:
    """Return those of the running pods whose gangs can be asked about as well.

    Of a gang of which nothing is known nobody moves, and of one that asks where its members
    are, nobody if one has to stay.
    """
    ok = {r.pod.key for r in instance.running if r.placement.gang is None}
    for gang, members in _members_of(instance):
        keys = {one.pod.key for one in members}
        if keys <= movable or not (gang.gather or gang.levels):
            ok |= keys
    return ok & movable


def _members_of(instance: Instance) -> Iterator[tuple[RunningGang, list[RunningPod]]]:
    """Yield the gangs that run, each with the running pods that are in it."""
    named: defaultdict[tuple[str, str | None], list[RunningPod]] = defaultdict(list)
    for running in instance.running:
        named[running.pod.namespace, running.placement.gang].append(running)
    for gang in instance.running_gangs:
        yield gang, named[gang.key]


def _with_homes(instance: Instance, movable: Set[Key]) -> Instance:
    """Return the question in which those running pods want a place, and have a home.

    They stand after all that waits, in their gangs or each in one of its own, which are
    worth nothing.
    """
    nodes = {node.name: node for node in instance.nodes}
    leaving = [
        replace(running, placement=_said(running, nodes[running.placement.node]))
        for running in instance.running
        if running.pod.key in movable
    ]
    at_home: defaultdict[str, list[PodPlacement]] = defaultdict(list)
    for running in leaving:
        place = running.placement
        own = place.cpuset if running.pod.spec.qos.owns_cpus else frozenset()
        at_home[place.node].append(replace(place, cpuset=own))
    least = min(gang.priority for gang in instance.gangs)
    gangs = [
        # The name alone may be that of a gang.
        Gang(f"running/{pod.name}", pod.namespace, (pod,), 1, priority=least, weight=0, lone=True)
        for pod in (running.pod for running in leaving if running.placement.gang is None)
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
        homes=tuple(running.placement for running in leaving),
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
    """Return the homes of the pods that are placed elsewhere, in the instance's order."""
    place_of = {place.key: place for place in placement.pods}
    owners = {pod.key for gang in instance.gangs for pod in gang.pods if pod.spec.qos.owns_cpus}
    return tuple(
        home
        for home in instance.homes
        if home.key in place_of
        and not stays(place_of[home.key], home, owns_cpus=home.key in owners)
    )


Move = tuple[PodPlacement, PodPlacement]
"""Where a running pod is, and where it goes."""


def movers(instance: Instance, placement: Placement) -> tuple[Move, ...]:
    """Return every move of an answer: the running pods that it places, in its order."""
    home_of = {running.pod.key: running.placement for running in instance.running}
    return tuple((home_of[place.key], place) for place in placement.pods if place.key in home_of)


def without_stayers(instance: Instance, placement: Placement) -> Placement:
    """Return the placement as an answer says it: pods that stay are not repeated."""
    if not instance.homes:
        return placement
    gone = {home.key for home in moved(instance, placement)}
    staying = {home.key for home in instance.homes} - gone
    return Placement(tuple(place for place in placement.pods if place.key not in staying))
