"""Waiting pods of a dump: those that a scheduler is asked about, and those only counted."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from placer.kubernetes.objects import ClusterObjects
from placer.kubernetes.summary import DumpSummary
from placer_models.kubernetes.pod import DEFAULT_SCHEDULER, KubePod
from placer_models.kubernetes.pod_terms import NOBODY
from placer_models.kubernetes.who_waits import WaitingPodFilter
from placer_models.left_out import PodLeftOutBeforeSolve
from placer_models.reasons import NotTried


def with_nominated_pods_bound(
    objects: ClusterObjects, summary: DumpSummary
) -> tuple[ClusterObjects, tuple[PodLeftOutBeforeSolve, ...]]:
    """Let pods that wait for a node of their own count as bound there.

    kube-scheduler nominates a pod to a node where it preempts others for it, and keeps the room
    for it until it comes; nobody is asked for another place for it meanwhile.

    Returns:
        The objects with such pods on their nodes, and these pods.

    """
    nominated = {
        key: replace(part, node=part.nominated, expected=True)
        for key, part in objects.pods.items()
        if part.nominated in objects.nodes
        and not (part.node or part.ended or part.leaving or part.gates)
    }
    for part in nominated.values():
        summary.assume("pods nominated to a node, whose room is kept", part.identity.title)
    if not nominated:
        return objects, ()
    left_out = tuple(
        pod_as_left_out(part, f"it is nominated to node {part.node}, where its room is kept")
        for part in nominated.values()
    )
    return replace(objects, pods={**objects.pods, **nominated}), left_out


def pods_to_place_and_left_out(
    parts: Iterable[KubePod], who: WaitingPodFilter, summary: DumpSummary
) -> tuple[list[KubePod], tuple[PodLeftOutBeforeSolve, ...]]:
    """Return the pods that are to be placed, and those that wait and are not yet.

    Pods of other schedulers are told of in the summary alone: they are not ours to place.
    """
    waiting: list[KubePod] = []
    gated: list[PodLeftOutBeforeSolve] = []
    by_scheduler: Counter[str] = Counter()
    for part in parts:
        title = part.identity.title
        if part.ended:
            summary.assume("pods that have ended, passed over", title)
        elif part.node:
            continue
        elif part.leaving:
            summary.assume("pods that are deleted before they came, passed over", title)
        elif who.schedulers and part.scheduler not in who.schedulers:
            summary.assume(f"pods of scheduler {part.scheduler}, passed over", title)
        else:
            by_scheduler[part.scheduler] += 1
            if part.gates and not who.gated:
                gates = ", ".join(part.gates)
                gated.append(pod_as_left_out(part, f"it has scheduling gates: {gates}"))
            else:
                waiting.append(part)
    if set(by_scheduler) - {DEFAULT_SCHEDULER} and not who.schedulers:
        summary.schedulers = by_scheduler
    return waiting, tuple(gated)


def pod_as_left_out(part: KubePod, why: str) -> PodLeftOutBeforeSolve:
    """Return a pod that waits as one that nobody is asked about."""
    gang = part.gang.key[1] if part.gang else None
    return PodLeftOutBeforeSolve(
        part.identity.name, part.identity.namespace, gang, (NotTried(why),)
    )


def why_waits_for_nominated(part: KubePod, parts: Iterable[KubePod]) -> tuple[str, ...]:
    """Return why a pod has to wait until pods have come that are nominated to nodes.

    kube-scheduler counts them for topology spread only where it looks at their own node, and
    counts them over everybody, where it counts no pod that is there. For that there is no word.

    Args:
        part: The pod.
        parts: All pods.

    """
    constraints = [one for one in part.constraints.spread if one.required]
    if not constraints:
        return ()
    expected = [
        one for one in parts if one.expected and one.identity.namespace == part.identity.namespace
    ]
    for one in constraints:
        over_all = one.expressions == NOBODY.expressions
        met = [
            each
            for each in expected
            if over_all or one.means(tuple(sorted(each.identity.labels.items())))
        ]
        if len({each.node for each in met}) > (0 if over_all else 1):
            titles = ", ".join(each.identity.title for each in met[:3])
            return (f"it is spread with pods that are nominated and not there yet ({titles})",)
    return ()
