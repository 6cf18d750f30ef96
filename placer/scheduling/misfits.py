"""Running pods that their node, as it is now, would not take."""

from dataclasses import replace

from placer.judge.breaches import breaches
from placer.scheduling.cluster_state import NodeRecord
from placer.scheduling.words import Misfit, lone_gang
from placer_models.cluster import Instance, Node, RunningPod
from placer_models.placement import Placement
from placer_models.policy import AlignmentScope

_NOT_OF_THE_NODE = frozenset({"containers", "container-parts", "environment"})
"""Rules about what a pod was given when it came: no update of a node can break them."""

_OF_PARTS = frozenset({"alignment", "bound-pool"})
"""The rules that look at what each container holds, where containers are aligned."""


def misfits_of(record: NodeRecord) -> tuple[Misfit, ...]:
    """Return what the judge would find if each pod came now to where it is.

    A cordon sends nobody away, so it is no reason.
    """
    node = replace(record.node, cordoned=False)
    places = [replace(runner.placement, gang=None) for runner in record.pods]
    gangs = [lone_gang(runner.pod) for runner in record.pods]
    together = Instance((node,), tuple(gangs))
    if not any(_of_the_node(b.rule) for b in breaches(together, Placement(tuple(places)))):
        return ()
    found = []
    for runner, gang, place in zip(record.pods, gangs, places, strict=True):
        others = tuple(other for other in record.pods if other is not runner)
        found += [
            Misfit(runner.pod.key, node.name, breach.rule, breach.message)
            for breach in breaches(Instance((node,), (gang,), running=others), Placement((place,)))
            if _of_the_node(breach.rule)
            and (breach.rule not in _OF_PARTS or _parts_are_known(node, runner))
        ]
    return tuple(found)


def _parts_are_known(node: Node, runner: RunningPod) -> bool:
    """Return whether it is known what each container holds, where that is asked for.

    A pod that was found running does not say which of its memory and devices is whose.
    """
    scopes = (runner.pod.spec.scope, node.scope)
    place = runner.placement
    if AlignmentScope.CONTAINER not in scopes:
        return True
    if not (place.memory_bytes or place.hugepages or place.devices):
        return True
    return any(part.memory_bytes or part.hugepages or part.devices for part in place.containers)


def _of_the_node(rule: str) -> bool:
    return rule not in _NOT_OF_THE_NODE
