"""Reasons held against trying everything: every place of one pod on one node, judged."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from brute_force import best_placement
from insides import BETWEEN_NODES, OF_NODES, Insides, broken
from leaves import Stay, there
from placer.search.reasons.question import PodOnNode
from placer.search.reasons.register import rule_demands_of_pod, without_rule_demands
from placer.state.network import network_levels_required_by_gang
from placer_models.cluster import Instance, Node, RunningPod
from placer_models.network import GangNetworkLevelRule, GangNetworkLevelRuleKind
from placer_models.placement import Answer, PartlyPlaced, Placed, Placement
from placer_models.pod import Gang, Pod, PodSpec
from placer_models.reach import without_asks_beyond_node
from placer_models.reasons import Blocker, FirstStageWithoutPlace, RuleDemand
from placer_models.relations import without_needs_met_later

MOST_LEAVES = 3_000
ANY = 1_000
"""Members of a domain that no gang has."""


def has_place(
    spec: PodSpec,
    namespace: str,
    levels: Sequence[str],
    nodes: Sequence[Node],
    running: Sequence[RunningPod],
    node: Node,
) -> bool:
    """Return whether the pod alone has a place on the node, by trying every one.

    Raises:
        TooManyLeavesError: There are too many.

    """
    pod = there(Pod("alone", namespace, spec), node)
    rules = tuple(
        GangNetworkLevelRule(level, GangNetworkLevelRuleKind.SPREAD, count=ANY) for level in levels
    )
    gang = Gang("alone", namespace, (pod,), 1, lone=True, levels=rules)
    instance = Instance(tuple(nodes), (gang,), running=tuple(running))
    stay = Stay(gang, pod, node)
    skeleton = Placement((stay.place({}, stay.cpus),))
    if broken(instance, skeleton, (*OF_NODES, "domain", *BETWEEN_NODES)):
        return False
    return Insides(instance, MOST_LEAVES).best([stay]) is not None


def check_blocker(
    blocker: Blocker | None,
    asked: PodOnNode,
    nodes: Sequence[Node],
    elsewhere: Sequence[RunningPod],
) -> None:
    """Hold what is said to block a pod on a node against trying everything.

    Args:
        blocker: What is said.
        asked: Of whom.
        nodes: All nodes.
        elsewhere: What runs on the others.

    """

    def fits(demands: Sequence[RuleDemand]) -> bool:
        less = without_rule_demands(
            asked, [d for d in rule_demands_of_pod(asked) if d not in demands]
        )
        spec = less.spec
        spec = replace(spec, spread=())  # it is asked of all nodes together
        if asked.crowd is None:
            spec = without_needs_met_later(spec)
        # Who reaches to the node from others of its domain does so by this rule alone.
        near = any(demand.rule == "anti-affinity" for demand in demands)
        beyond = [r if near else replace(r, pod=without_asks_beyond_node(r.pod)) for r in elsewhere]
        others = [less.node if node.name == less.node.name else node for node in nodes]
        running = [*less.running, *beyond]
        return has_place(spec, less.namespace, less.levels, others, running, less.node)

    demands = rule_demands_of_pod(asked)
    if blocker is None:
        assert fits(demands), "it is said to fit"
        return
    at = demands.index(blocker.demand)
    assert fits(demands[:at]), f"{blocker} is not the first that blocks"
    assert not fits(demands[: at + 1]), f"{blocker} does not block"
    together = (*blocker.others, blocker.demand)
    assert not fits(together), f"{blocker}: these do meet"
    for left_out in blocker.others:
        rest = [demand for demand in together if demand is not left_out]
        assert fits(rest), f"{blocker}: {left_out} is not needed"


VERDICTS = {
    "never fits": FirstStageWithoutPlace.EMPTY,
    "not now": FirstStageWithoutPlace.RUNNING,
    "outvoted": FirstStageWithoutPlace.PLACED,
}
COUNT = re.compile(r"(\d+) of (\d+) nodes: ")
FIRST = ("affinity of a pod on another node", "topology-spread of a pod that is placed")
OF_GANG = re.compile(r"(?:no member|only (\d+) of \d+ members) of gang \S+ fits? (.*?) \(")


def check_reasons(instance: Instance, answer: Answer) -> int:
    """Hold what is said of the pods left out against trying everything; return how many.

    Raises:
        TooManyLeavesError: There are too many places to try.

    """
    if isinstance(answer, Placed):
        return 0
    placement = answer.placement if isinstance(answer, PartlyPlaced) else Placement()
    pods = {pod.key: (pod, gang) for gang in instance.gangs for pod in gang.pods}
    moved = {place.key for place in placement.pods}
    arrived = [RunningPod(pods[place.key][0], place) for place in placement.pods]
    running = {
        FirstStageWithoutPlace.EMPTY: (),
        FirstStageWithoutPlace.RUNNING: tuple(instance.running),
        FirstStageWithoutPlace.PLACED: (
            *(r for r in instance.running if r.pod.key not in moved),
            *arrived,
        ),
    }
    for left in answer.unplaced:
        pod, gang = pods[left.namespace, left.name]
        _check_pod(instance, pod, gang, left.reasons[0], running)
        for reason in left.reasons:
            for match in OF_GANG.finditer(reason):
                when = FirstStageWithoutPlace(match[2])
                found = _members_that_fit(instance, gang, running[when], when)
                assert found == int(match[1] or 0) < gang.minimum, reason
    return len(answer.unplaced)


def _check_pod(
    instance: Instance,
    pod: Pod,
    gang: Gang,
    reason: str,
    running: Mapping[FirstStageWithoutPlace, Sequence[RunningPod]],
) -> None:
    levels = network_levels_required_by_gang(gang)

    def fits(when: FirstStageWithoutPlace) -> bool:
        spec = (
            without_needs_met_later(pod.spec) if when is FirstStageWithoutPlace.EMPTY else pod.spec
        )
        return any(
            has_place(spec, pod.namespace, levels, instance.nodes, running[when], node)
            for node in instance.nodes
        )

    if counted := COUNT.findall(reason):
        assert sum(int(nodes) for nodes, _ in counted) == len(instance.nodes), reason
        assert {int(of) for _, of in counted} == {len(instance.nodes)}, reason
    if reason.startswith("no place was found"):
        assert fits(FirstStageWithoutPlace.PLACED), reason
        return
    when = next(when for word, when in VERDICTS.items() if reason.startswith(word))
    if counted:
        # What its gang, or a pod that was the first of its kind, asks of it is not tried.
        asked = any(r.pod in gang.pods for r in running[FirstStageWithoutPlace.PLACED]) or any(
            said in reason for said in FIRST
        )
        assert not fits(when) or (when is FirstStageWithoutPlace.PLACED and asked), reason
    if when is not FirstStageWithoutPlace.EMPTY:
        assert fits(FirstStageWithoutPlace.EMPTY), reason
    if when is FirstStageWithoutPlace.PLACED:
        assert fits(FirstStageWithoutPlace.RUNNING), reason


def _members_that_fit(
    instance: Instance, gang: Gang, running: Sequence[RunningPod], when: FirstStageWithoutPlace
) -> int:
    pods = gang.pods
    if when is not FirstStageWithoutPlace.PLACED:
        pods = tuple(replace(pod, spec=without_needs_met_later(pod.spec)) for pod in pods)
    alone = Instance(
        instance.nodes,
        (replace(gang, pods=pods, minimum=1, priority=0, weight=1),),
        running=tuple(running),
    )
    return len(best_placement(alone, MOST_LEAVES).placement.pods)
