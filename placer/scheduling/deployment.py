"""Deployment: a decision asks the nodes as they are now for what it gives its pods (B16, B17)."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from time import monotonic

from placer.counting.account import account_of
from placer.judge.breaches import Breach, breaches
from placer.judge.measure import are_tier_values_better, measure
from placer.scheduling.decide import LEAST_TIME_S, cluster_with_batch_placed
from placer.scheduling.decision import Decision
from placer.scheduling.gone import shortages_on_node
from placer.scheduling.refusal import DecisionResourceShortage, Refusal
from placer.scheduling.scheduler_state import NodesAndPods
from placer.search.budget import SolveBudget
from placer.search.options import Engine, SolveOptions
from placer.search.reasons.alone import count_placeable_gang_pods
from placer.search.solver import solve
from placer.state.out_of_time import OutOfTimeError
from placer_models.cluster import Instance, RunningPod
from placer_models.goals import OF_A_POD
from placer_models.moves import is_where_it_was
from placer_models.placement import (
    Infeasible,
    PartlyPlaced,
    Placed,
    Placement,
    PodPlacement,
    Unplaced,
)
from placer_models.pod import Gang, Pod, PodSpec, pods_of_gangs
from placer_models.policy import QosClass
from placer_models.reach import any_pod_asks_beyond_node, without_asks_beyond_node
from placer_models.relations import self_affinity_terms


def cluster_after_decision(
    state: NodesAndPods, decision: Decision, options: SolveOptions
) -> NodesAndPods | Refusal:
    """Return the state with the pods of a decision in place, or why they cannot be taken.

    Args:
        state: The cluster as it is now.
        decision: Made on this state, or on an earlier one.
        options: How to lay pods anew if the decision's very places are gone.

    """
    began_s = monotonic()
    if decision.moves:
        return _confirmed_with_moves(state, decision, options)
    places = decision.placement.pods
    lost = sorted({place.node for place in places if place.node not in state})
    running = tuple(place.key for place in places if place.key in state.node_of)
    if lost or running:
        return Refusal(
            tuple(DecisionResourceShortage(name, "node", 1, 0) for name in lost), running
        )
    keys = {pod.key for pod in pods_of_gangs(decision.batch.gangs)}
    if len(keys & {place.key for place in places}) < len(places):  # nothing that was decided
        return Refusal(breaches=breaches(_touched(state, decision), decision.placement))
    after = cluster_with_batch_placed(state, decision.batch, places)
    if not _found(state, after, decision):
        return after
    settled, refusal = _node_by_node(state, after, decision, options, began_s)
    if refusal != Refusal():
        return refusal
    after = cluster_with_batch_placed(state, decision.batch, settled)
    found = _found(state, after, decision)
    return Refusal(breaches=found) if found else after


def _confirmed_with_moves(
    state: NodesAndPods, decision: Decision, options: SolveOptions
) -> NodesAndPods | Refusal:
    """Return the state with a decision taken that moves running pods, or why it cannot be.

    They leave their places first, and come to the new ones like pods of the batch.
    """
    homes = {move.home.key: move.home for move in decision.moves}
    left_home = tuple(key for key, home in homes.items() if not _is_at(state, home))
    if left_home:
        return Refusal(left_home=left_home)
    gangs = tuple(
        Gang(f"moves/{pod.name}", pod.namespace, (pod,), 1, weight=1, lone=True)
        for pod in (state.runner(key).pod for key in homes)
    )
    batch = replace(decision.batch, gangs=(*decision.batch.gangs, *gangs))
    answer = decision.answer
    assert isinstance(answer, Placed | PartlyPlaced), "nothing moves without an answer"
    coming = replace(decision, batch=batch, answer=replace(answer, moves=()))
    after = cluster_after_decision(state.without_pods(homes), coming, options)
    return after if isinstance(after, Refusal) else replace(after, version=state.version + 1)


def _is_at(state: NodesAndPods, home: PodPlacement) -> bool:
    """Return whether a running pod is still where a decision found it."""
    if home.key not in state.node_of:
        return False
    now = state.runner(home.key)
    return is_where_it_was(now.placement, home, owns_cpus=now.pod.spec.qos.owns_cpus)


def places_changed_since_decision(
    after: NodesAndPods, decision: Decision
) -> tuple[PodPlacement, ...]:
    """Return the places of a decision's pods that differ from those in the decision."""
    said = decision.placement.pods
    now = after.places_now(said)
    return tuple(place for place, before in zip(now, said, strict=True) if place != before)


def _node_by_node(
    state: NodesAndPods,
    after: NodesAndPods,
    decision: Decision,
    options: SolveOptions,
    began_s: float,
) -> tuple[list[PodPlacement], Refusal]:
    """Lay pods anew on the nodes that cannot take them as decided, and say what is gone.

    Once it is known which pod is on which node, no rule couples two nodes, except that a pod
    may have to be the first of its kind (`_elsewhere`). So each node is solved by itself,
    exactly. Rules about domains of nodes depend on the nodes of pods alone, and are checked
    at the end.
    """
    settled: list[PodPlacement] = []
    gone: list[DecisionResourceShortage] = []
    broken: list[tuple[Instance, Placement]] = []
    decided = after.places_now(decision.placement.pods)
    for name in sorted({place.node for place in decided}):
        here = Placement(tuple(place for place in decided if place.node == name))
        asked = _alone(state, decision, name)
        if not breaches(asked, here):
            settled += here.pods
            continue
        broken.append((asked, here))
        gone += shortages_on_node(
            state.of(name).node, state.of(name).account, [*pods_of_gangs(asked.gangs)]
        )
    if gone:
        return settled, Refusal(tuple(gone))
    unplaced: list[Unplaced] = []
    undecided: list[str] = []
    for count, (asked, here) in enumerate(broken):
        left_s = options.time_limit_s - (monotonic() - began_s)
        part_s = max(LEAST_TIME_S, left_s / (len(broken) - count))
        answer = _anew(asked, here, replace(options, time_limit_s=part_s))
        match answer:
            case Placed():
                settled += answer.placement.pods
            case None:
                undecided.append(asked.nodes[0].name)
            case _:
                unplaced += answer.unplaced
                gone += _gone_beside(asked, answer)
    return settled, Refusal(tuple(gone), (), tuple(unplaced), tuple(undecided))


def _alone(state: NodesAndPods, decision: Decision, name: str) -> Instance:
    """Return one node and the pods that a decision gives it, those of one gang as a gang."""
    node_of = {place.key: place.node for place in decision.placement.pods}
    gangs = []
    for gang in decision.batch.gangs:
        here = tuple(without_asks_beyond_node(p) for p in gang.pods if node_of.get(p.key) == name)
        if here:
            gangs.append(replace(gang, pods=here, minimum=len(here), levels=()))
    record = state.of(name)
    ghosts = tuple(_elsewhere(state, decision, name, gangs))
    others = (replace(record.node, name=f"{name}/elsewhere", closed=True),) if ghosts else ()
    return Instance((record.node, *others), tuple(gangs), running=(*record.counted, *ghosts))


def _elsewhere(
    state: NodesAndPods, decision: Decision, name: str, gangs: Sequence[Gang]
) -> Iterator[RunningPod]:
    """Yield stand-ins for pods elsewhere of whose kind a pod here might seem to be the first."""
    pods = {pod.key: pod for pod in pods_of_gangs(decision.batch.gangs)}
    position = state.nodes.position[name]
    for pod in pods_of_gangs(tuple(gangs)):
        for term in self_affinity_terms(pod.spec):
            sides = [
                (pods[place.key].spec, place.namespace)
                for place in decision.placement.pods
                if place.node != name
            ]
            for at, account in enumerate(state.accounts):
                sides += account.tenants if at != position else ()
            met = (
                (spec.labels, namespace)
                for spec, namespace in sides
                if term.looks_into(namespace, pod.namespace)
                and term.means(spec.labels, owns_cpus=spec.qos.owns_cpus)
            )
            for labels, namespace in islice(met, 1):
                spec = PodSpec((), QosClass.LSR, labels=labels)
                ghost = Pod(f"{pod.name}/elsewhere", namespace, spec)
                there = f"{name}/elsewhere"
                place = PodPlacement(ghost.name, ghost.namespace, None, there, frozenset())
                yield RunningPod(ghost, place)


def _anew(
    asked: Instance, decided: Placement, options: SolveOptions
) -> Placed | PartlyPlaced | Infeasible | None:
    """Place the pods of one node anew, as well as was decided if possible.

    The fast path goes first; the exact search follows if some pod has no place, or a worse one.

    Returns:
        Places for all, or the proof that there are none, with reasons; None if neither was found.

    """
    began_s = monotonic()
    answer = solve(asked, replace(options, engine=Engine.GREEDY))
    if isinstance(answer, Placed) and _no_worse(asked, answer.placement, decided):
        return answer
    if isinstance(answer, Infeasible):
        return answer
    if options.engine is Engine.GREEDY:
        return answer if isinstance(answer, Placed) else None
    left_s = max(LEAST_TIME_S, options.time_limit_s - (monotonic() - began_s))
    options = replace(options, time_limit_s=left_s)
    if not isinstance(answer, Placed):
        pods = tuple(pods_of_gangs(asked.gangs))
        as_one = Gang("all", pods[0].namespace, pods, len(pods))
        try:
            most = count_placeable_gang_pods(
                replace(asked, gangs=(as_one,)), SolveBudget(options)
            ).most
        except OutOfTimeError:
            return None
        if most < len(pods):
            return answer if isinstance(answer, PartlyPlaced) else Infeasible(answer.unplaced)
    answer = solve(asked, options)
    return answer if isinstance(answer, Placed) else None


def _no_worse(asked: Instance, placement: Placement, decided: Placement) -> bool:
    """Return whether each pod's own wishes are met as well as in the decision."""
    idle = Instance(asked.nodes[:1], asked.gangs)
    now, then = (
        [item for item in measure(idle, places) if item[0] in OF_A_POD]
        for places in (placement, decided)
    )
    return not are_tier_values_better(then, now)


def _gone_beside(
    asked: Instance, answer: PartlyPlaced | Infeasible
) -> Iterator[DecisionResourceShortage]:
    """Yield the resources that are short for the pods left out, beside those that are placed."""
    pods = {pod.key: pod for pod in pods_of_gangs(asked.gangs)}
    placed = answer.placement.pods if isinstance(answer, PartlyPlaced) else ()
    node = asked.nodes[0]
    here = [runner for runner in asked.running if runner.placement.node == node.name]
    account = account_of(node, [*here, *(RunningPod(pods[p.key], p) for p in placed)])
    found = (shortages_on_node(node, account, [pods[p.key]]) for p in answer.unplaced)
    yield from dict.fromkeys(gone for some in found for gone in some)


def _found(state: NodesAndPods, after: NodesAndPods, decision: Decision) -> tuple[Breach, ...]:
    """Return the judge's breaches for all pods that a decision places, as the state holds them."""
    now = Placement(after.places_now(decision.placement.pods))
    return breaches(_touched(state, decision), now)


def _touched(state: NodesAndPods, decision: Decision) -> Instance:
    """Return the batch, and the nodes that the decision gives it.

    These are all nodes if a pod may be the first of its kind, or if some pod asks for domains
    of nodes, because the other pods that matter may be anywhere.
    """
    pods = tuple(pods_of_gangs(decision.batch.gangs))
    lonely = any(True for pod in pods for _ in self_affinity_terms(pod.spec))
    if lonely or any_pod_asks_beyond_node(pods) or state.reaching:
        return state.asking(decision.batch)
    names = sorted({place.node for place in decision.placement.pods})
    touched = [state.of(name) for name in names]
    return Instance(
        nodes=tuple(record.node for record in touched),
        gangs=decision.batch.gangs,
        groups=decision.batch.groups,
        running=tuple(runner for record in touched for runner in record.counted),
    )
