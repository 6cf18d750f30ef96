"""Misfits: running pods that their node, as it is now, would not take.

They are legal: no running pod is blamed for where it is, and none is sent away.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from placer.judge.bound import has_new_pod_overdrawing_pool
from placer.judge.breaches import Breach, breaches_in_scene, breaches_of_complete_placement
from placer.judge.scene import scene_for_judge
from placer_models.cluster import Instance, Node, RunningPod
from placer_models.illegal_running import LEGAL, illegality_text, running_pod_counted_as_legal
from placer_models.moves import Mended, movable_pods, rules_mended
from placer_models.placement import Placement
from placer_models.pod import Gang
from placer_models.policy import AlignmentScope
from placer_models.reach import without_asks_beyond_node
from placer_models.taints import TaintEffect
from placer_models.typed import TypeChecked

_NOT_OF_THE_NODE = frozenset({"containers", "container-parts", "environment"})
"""Rules about what a pod was given when it came: no update of a node can break them."""

_OF_PARTS = frozenset({"alignment", "bound-pool"})
"""The rules that look at what each container holds, where containers are aligned."""

_OF_POOLS = frozenset({"shared-pool", "be-pool", "bound-pool", "constrained-burst"})
"""Rules about pods that share CPUs: who owns CPUs does not break them by running on."""


@dataclass(frozen=True, slots=True)
class Misfit(TypeChecked):
    """A running pod that breaks a rule of its own: it could not come to where it is now.

    Attributes:
        pod: Namespace and name.
        rule: The rule that it would break, as in docs/rules.md. A pod is listed once for each.
        message: What is wrong and what is allowed, in one line.

    """

    pod: tuple[str, str]
    node: str
    rule: str
    message: str


def misfits_of_instance(instance: Instance) -> tuple[Misfit, ...]:
    """Return the misfits of all nodes, in the order of the nodes."""
    there: defaultdict[str, list[RunningPod]] = defaultdict(list)
    for running in instance.running:
        there[running.placement.node].append(running)
    return tuple(
        misfit for node in instance.nodes for misfit in misfits_on_node(node, there[node.name])
    )


def misfits_on_node(node: Node, running: Sequence[RunningPod]) -> tuple[Misfit, ...]:
    """Return what the judge would find if each pod were placed now where it already runs.

    Neither a cordon or a closed node nor a taint other than NoExecute sends a pod away, so they are
    no reason.
    Pods on other nodes of a domain are no reason either. Where pods that share CPUs lack some,
    those are named that would lack them, not the owners of the others.

    Args:
        node: The node.
        running: All running pods of the node.

    """
    illegal = tuple(
        Misfit(one.pod.key, node.name, LEGAL, f"pod {one.pod.title!r} is illegal: {what}")
        for one in running
        if (what := illegality_text(one))
    )
    running = list(map(running_pod_counted_as_legal, running)) if illegal else running
    lasting = tuple(taint for taint in node.taints if taint.effect is TaintEffect.NO_EXECUTE)
    open_node = replace(node, cordoned=False, closed=False, taints=lasting)
    places = [replace(runner.placement, gang=None) for runner in running]
    running = [replace(runner, pod=without_asks_beyond_node(runner.pod)) for runner in running]
    pods = [runner.pod for runner in running]
    gangs = [Gang(pod.name, pod.namespace, (pod,), 1, lone=True) for pod in pods]
    # These are their homes, so that what they count on NUMA nodes may be shared out anew.
    together = Instance((open_node,), tuple(gangs), homes=tuple(places))
    if not any(
        breach.rule not in _NOT_OF_THE_NODE
        for breach in breaches_of_complete_placement(together, Placement(tuple(places)))
    ):
        return illegal
    found = [*illegal]
    for runner, gang, place in zip(running, gangs, places, strict=True):
        others = tuple(other for other in running if other is not runner)
        asked = Instance((open_node,), (gang,), running=others, homes=(place,))
        scene = scene_for_judge(asked, Placement((place,)))
        own: defaultdict[str, list[Breach]] = defaultdict(list)
        for breach in breaches_in_scene(scene):
            if _is_its_own(breach, runner, node):
                own[breach.rule].append(breach)
        if "bound-pool" in own and not has_new_pod_overdrawing_pool(scene):
            # Others lack CPUs on NUMA nodes where this pod counts none.
            own["bound-pool"] = [b for b in own["bound-pool"] if b.subject == runner.pod.title]
        found += [
            Misfit(runner.pod.key, node.name, rule, _message(runner, some))
            for rule, some in own.items()
            if some
        ]
    return tuple(found)


def _is_its_own(breach: Breach, runner: RunningPod, node: Node) -> bool:
    """Return whether a breach that is found when a pod comes is one of the pod, and of today."""
    return (
        breach.rule not in _NOT_OF_THE_NODE
        and not (runner.pod.spec.qos.owns_cpus and breach.rule in _OF_POOLS)
        and (breach.rule not in _OF_PARTS or _parts_are_known(node, runner))
    )


def _message(runner: RunningPod, found: Sequence[Breach]) -> str:
    """Say what is wrong with the pod itself, or else with all pods of the node together."""
    own = [breach.message for breach in found if breach.subject == runner.pod.title]
    return "; ".join(dict.fromkeys(own or (breach.message for breach in found)))


def mended_rules_by_moved_pod(instance: Instance, placement: Placement) -> Mended:
    """Return, for the running pods that a placement moves, the rules that they broke at home."""
    return rules_mended(movable_pods(instance, breaches_of_complete_placement), placement)


def _parts_are_known(node: Node, runner: RunningPod) -> bool:
    """Return whether it is known what each container holds, where that is asked for.

    A pod that was found running does not say which container has which memory and devices.
    """
    scopes = (runner.pod.spec.scope, node.scope)
    place = runner.placement
    if AlignmentScope.CONTAINER not in scopes:
        return True
    if not (place.memory_bytes or place.hugepages or place.devices):
        return True
    return any(part.memory_bytes or part.hugepages or part.devices for part in place.containers)
