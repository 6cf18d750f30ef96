"""Which running pods may move, as docs/rules/moves.md says it: the tests' own words.

Whether a pod could be where it is as a new one is asked of the judge's single rules; all
else is said here once more, so that a mistake in `placer_models.moves` is seen.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

from insides import broken
from placer.judge.breaches import RULES
from placer_models.bound import numa_nodes_bound_to
from placer_models.cluster import Instance, Node, RunningPod
from placer_models.placement import Placement, PodPlacement
from placer_models.pod import Gang
from placer_models.policy import AlignmentScope, QosClass
from pools import pools

Group = tuple[RunningPod, ...]
"""Running pods that may move all, or none."""


def with_moving_pods(instance: Instance) -> Instance:
    """Return the instance in which those that fit where they are wait beside the others.

    Each has a home. Who is in breach of a rule stays.
    """
    return next(iter(questions(instance)))


def questions(instance: Instance) -> Iterator[Instance]:
    """Yield the question in which nobody in breach leaves, then one for each choice of them.

    Who leaves wants a place as well, and cannot stay but as a member of a gang.
    """
    if not instance.move_budget or not instance.gangs:
        yield instance
        return
    fitting, breaking = may_move(instance)
    for number in range(len(breaking) + 1):
        for leaving in combinations(breaking, number):
            yield asked_of(instance, fitting, leaving, [g for g in breaking if g not in leaving])


def may_move(instance: Instance) -> tuple[list[Group], list[Group]]:
    """Return the groups that may move: those that fit where they are, and those in breach."""
    able = [
        group
        for group in _groups(instance)
        if group and all(_says_it_may(pod, _node(instance, pod)) for pod in group)
    ]
    fitting = [group for group in able if _could_be_new_there(instance, group)]
    return fitting, [group for group in able if group not in fitting]


def _groups(instance: Instance) -> Iterator[Group]:
    """Yield pods without a gang one by one, and members of a gang as it lets them go.

    A gang that asks for nothing lets each go; one that asks where they are, all or none.
    Of a gang that is not known nobody moves.
    """
    for running in instance.running:
        if running.placement.gang is None:
            yield (running,)
    for gang in instance.running_gangs:
        members = tuple(
            running
            for running in instance.running
            if (running.pod.namespace, running.placement.gang) == gang.key
        )
        if gang.gather or gang.levels:
            yield members
        else:
            yield from ((member,) for member in members)


def _says_it_may(running: RunningPod, node: Node) -> bool:
    """Return whether nothing that the pod says of itself keeps it where it is."""
    spec = running.pod.spec
    means_itself = any(
        term.means(spec.labels, owns_cpus=spec.qos in (QosClass.LSE, QosClass.LSR))
        for term in spec.affinity
        if term.required and not term.apart
    )
    asks_for_domains = any(term.topology for term in spec.affinity)
    return not (
        not running.movable
        or spec.constrained_burst
        or spec.functions
        or spec.strategies
        or AlignmentScope.CONTAINER in (node.scope, spec.scope)
        or means_itself
        or asks_for_domains
        or spec.spread
    )


def _could_be_new_there(instance: Instance, group: Group) -> bool:
    """Return whether the pods break no rule where they are, if they come there as new ones."""
    asked = asked_of(replace(instance, gangs=(), groups=()), [group])
    places = []
    for running in group:
        node = _node(instance, running)
        here = [(r.pod, r.placement) for r in instance.running if r.placement.node == node.name]
        place = _home(running, node)
        if (pool := pools(node, here).get(running.pod.spec.qos)) is not None:
            numa_nodes = {numa for numa, _ in place.cpu_milli or ()}
            cpu = node.machine.topology.cpu
            mine = frozenset(c for c in pool if not numa_nodes or cpu[c].numa_node in numa_nodes)
            parts = tuple(replace(part, cpuset=mine) for part in place.containers)
            place = replace(place, cpuset=mine, containers=parts)
        places.append(place)
    return not broken(asked, Placement(tuple(places)), tuple(RULES))


def asked_of(
    instance: Instance,
    fitting: Sequence[Group],
    leaving: Sequence[Group] = (),
    breaking: Sequence[Group] = (),
) -> Instance:
    """Return the instance in which those pods wait, worth nothing, with their homes.

    Those that are in breach and stay have their tiers all the same.
    """
    keys = {running.pod.key for group in (*fitting, *leaving) for running in group}
    moving = [running for running in instance.running if running.pod.key in keys]
    staying = {running.pod.key for group in breaking for running in group}
    gone = {running.pod.key for running in moving}
    least = min((gang.priority for gang in instance.gangs), default=0)
    gangs = [
        Gang(f"at-home/{r.pod.name}", r.pod.namespace, (r.pod,), 1, least, weight=0, lone=True)
        for r in moving
        if r.placement.gang is None
    ]
    for gang in instance.running_gangs:
        members = _members(gang.key, moving)
        if members:
            gangs.append(
                Gang(
                    gang.name,
                    gang.namespace,
                    tuple(member.pod for member in members),
                    minimum=len(members),
                    priority=least,
                    weight=0,
                    gather=gang.gather,
                    levels=gang.levels,
                )
            )
    busy = {running.placement.node for running in instance.running}
    return replace(
        instance,
        nodes=tuple(replace(node, opened=node.name in busy) for node in instance.nodes),
        gangs=(*instance.gangs, *gangs),
        running=tuple(r for r in instance.running if r.pod.key not in gone),
        homes=tuple(_home(running, _node(instance, running)) for running in moving),
        gone=frozenset(group[0].pod.key for group in leaving if len(group) == 1),
        could_leave=tuple(r for r in instance.running if r.pod.key in staying),
        is_question=True,
    )


def _members(gang: tuple[str, str], of: Sequence[RunningPod]) -> list[RunningPod]:
    return [r for r in of if (r.pod.namespace, r.placement.gang) == gang]


def _home(running: RunningPod, node: Node) -> PodPlacement:
    """Return where a pod is, and to which NUMA nodes it is bound there."""
    place, spec = running.placement, running.pod.spec
    if spec.qos.owns_cpus or place.cpu_milli is not None:
        return place
    first, *others = [*sorted(numa_nodes_bound_to(place, spec, node)), None]
    counted = () if first is None else ((first, spec.requests.cpu_milli),)
    return replace(place, cpu_milli=(*counted, *((n, 0) for n in others if n is not None)))


def _node(instance: Instance, running: RunningPod) -> Node:
    return next(node for node in instance.nodes if node.name == running.placement.node)
