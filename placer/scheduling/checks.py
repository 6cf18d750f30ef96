"""Checks that what enters the Scheduler does not contradict itself; `instance/` checks files."""

from collections.abc import Collection, Container, Iterable, Sequence

from placer.scheduling.decision import Batch
from placer.scheduling.errors import (
    BadPodError,
    ContradictionError,
    NodeExistsError,
    PodAlreadyRunningError,
    UnknownNodeError,
)
from placer.scheduling.refusal import pod_titles_text
from placer_models.cluster import Node, RunningPod
from placer_models.defaults import NO_DEFAULTS, Defaults
from placer_models.left_out import GangsWithoutIllegalPods, without_illegal_pods
from placer_models.legal import IllegalPodError, check_pods_legal, illegal_pods
from placer_models.network import GangNetworkLevelRuleKind
from placer_models.placement import NamespacedName, pod_or_gang_title
from placer_models.pod import Gang, pods_of_gangs


def check_node_names(nodes: Iterable[Node]) -> None:
    """Check that every node has a name of its own.

    Raises:
        NodeExistsError: Two nodes have one name.

    """
    names: set[str] = set()
    for node in nodes:
        if node.name in names:
            raise NodeExistsError(node.name)
        names.add(node.name)


def defaults_shared_by_all_nodes(nodes: Sequence[Node]) -> Defaults:
    """Return the defaults that all the nodes have.

    Raises:
        ContradictionError: Some have others.

    """
    found = dict.fromkeys(node.defaults for node in nodes)
    if len(found) > 1:
        raise ContradictionError(
            "the nodes have different defaults; give the Scheduler those that hold for all"
        )
    return next(iter(found), NO_DEFAULTS)


def check_running_pods(running: Iterable[RunningPod], nodes: Collection[str]) -> None:
    """Check that every running pod is there once, and on a node of these names.

    Raises:
        PodAlreadyRunningError: A pod is there twice.
        ContradictionError: A pod has the place of another pod.
        UnknownNodeError: A pod is on another node.

    """
    keys: set[NamespacedName] = set()
    for runner in running:
        key, place = runner.pod.key, runner.placement
        if place.key != key:
            raise ContradictionError(
                f"running pod {pod_or_gang_title(*key)!r} "
                f"has the place of {place.title!r}; give each pod its own"
            )
        if key in keys:
            raise PodAlreadyRunningError((key,))
        if place.node not in nodes:
            raise UnknownNodeError(place.node, nodes)
        keys.add(key)


def check_deadline(deadline_s: float) -> None:
    """Refuse a call that has no time.

    Raises:
        ValueError: There are 0 seconds or fewer, or not a number.

    """
    if not deadline_s > 0:
        raise ValueError(f"deadline_s is {deadline_s}; give the call more than 0 seconds")


def check_batch(batch: Batch, running: Container[NamespacedName]) -> None:
    """Check that gangs and groups are consistent, and that their pods do not run yet.

    Raises:
        PodAlreadyRunningError: Pods of the batch run already.
        ContradictionError: The batch contradicts itself.

    """
    gangs: dict[NamespacedName, Gang] = {}
    pods: set[NamespacedName] = set()
    for gang in batch.gangs:
        if gang.key in gangs:
            raise ContradictionError(f"two gangs are called {gang.title!r}; rename one")
        gangs[gang.key] = gang
        _check_gang(gang)
        for pod in gang.pods:
            if pod.key in pods:
                raise ContradictionError(
                    f"pod {pod.title!r} waits twice; a pod is in one gang, once"
                )
            pods.add(pod.key)
    _check_groups(batch, gangs)
    again = tuple(pod.key for pod in pods_of_gangs(batch.gangs) if pod.key in running)
    if again:
        raise PodAlreadyRunningError(again)


def legal_gangs_of_batch(
    batch: Batch, nodes: Iterable[Node], *, skip_illegal: bool
) -> GangsWithoutIllegalPods:
    """Return a batch without the pods that ask for what no pod may ask for.

    Raises:
        BadPodError: There is such a pod, and none is to be skipped.

    """
    pods = pods_of_gangs(batch.gangs)
    if skip_illegal:
        return without_illegal_pods(batch.gangs, batch.groups, illegal_pods(pods, nodes))
    try:
        check_pods_legal(pods, nodes)
    except IllegalPodError as error:
        raise BadPodError(error.pod, error.fault) from None
    return GangsWithoutIllegalPods(batch.gangs, batch.groups)


def _check_gang(gang: Gang) -> None:
    title = gang.title
    if not 1 <= gang.minimum <= len(gang.pods):
        raise ContradictionError(
            f"gang {title!r} has a minimum of {gang.minimum}; "
            f"it has {len(gang.pods)} pods, and the minimum is 1 of them or more"
        )
    if gang.weight < 1:
        raise ContradictionError(
            f"gang {title!r} has the weight {gang.weight}; weights are 1 or more"
        )
    for rule in gang.levels:
        if rule.count < 1:
            raise ContradictionError(
                f"gang {title!r} asks for {rule.grouping} {rule.count} at the level "
                f"{rule.level!r}; counts are 1 or more"
            )
        if rule.grouping is GangNetworkLevelRuleKind.MULTIPLES and not rule.required:
            raise ContradictionError(
                f"gang {title!r} would like multiples; they are required or not"
            )
    if gang.lone and [pod.key for pod in gang.pods] != [gang.key]:
        raise ContradictionError(
            f"lone gang {title!r} holds pods "
            f"{pod_titles_text(tuple(pod.key for pod in gang.pods))}; "
            "it stands for the one pod of its own name"
        )


def _check_groups(batch: Batch, gangs: dict[NamespacedName, Gang]) -> None:
    names: set[NamespacedName] = set()
    group_of: dict[NamespacedName, NamespacedName] = {}
    for group in batch.groups:
        title = group.title
        if group.key in names:
            raise ContradictionError(f"two gang groups are called {title!r}; rename one")
        names.add(group.key)
        for member in group.gangs:
            if member not in gangs or gangs[member].lone:
                raise ContradictionError(
                    f"gang group {title!r} names {pod_or_gang_title(*member)!r}; "
                    "the batch has no such gang, and pods without a gang are in no group"
                )
            if member in group_of:
                raise ContradictionError(
                    f"gang {pod_or_gang_title(*member)!r} is in the groups "
                    f"{pod_or_gang_title(*group_of[member])!r} "
                    f"and {title!r}; a gang is in one group at most, once"
                )
            group_of[member] = group.key
