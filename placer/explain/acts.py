"""Acts: what a person does to make a change come true, in a cluster or in a file (G7)."""

import json
import shlex
from collections.abc import Callable, Iterator, Sequence

from placer_models.cluster import Instance
from placer_models.placement import NamespacedName
from placer_models.whatif.change import InstanceChange, running_pods_named, waiting_gang_named
from placer_models.whatif.nodes import AddNodes, MarkDevicesHealthy, SetNodeLabel, Uncordon
from placer_models.whatif.pods import (
    AllowPodMoves,
    AskLess,
    GiveUpConstraint,
    RelaxPolicy,
    RemovePods,
    ScalePods,
    with_named_pods_movable,
)


def instructions_for_changes(
    changes: Sequence[InstanceChange],
    instance: Instance,
    *,
    of_cluster: bool,
    files: Sequence[str] = (),
) -> tuple[str, ...]:
    """Return what to do for some changes: a line each, in their order, none said twice.

    Args:
        changes: Changes to the instance.
        instance: The instance that they change.
        of_cluster: Whether it is a cluster's; else it is in files, whose fields are named.
        files: The files that it was read from, as a command names them; none: not known.

    """
    told = _in_cluster if of_cluster else _in_files
    moves = [one for one in changes if isinstance(one, AllowPodMoves)]
    acts = [
        act for one in changes if not isinstance(one, AllowPodMoves) for act in told(one, instance)
    ]
    if moves:
        budget = with_named_pods_movable(moves, instance).move_budget
        acts.append(
            f"placer solve {shlex.join(files) or '…'} --move-budget {budget} "
            "--emit evictions,bindings FOLDER"
            if of_cluster
            else f"in the file: moveBudget: {budget}; or --move-budget {budget}"
        )
    return tuple(dict.fromkeys(acts))


def _in_cluster(change: InstanceChange, instance: Instance) -> Iterator[str]:
    match change:
        case Uncordon():
            yield f"kubectl uncordon {change.node}"
        case MarkDevicesHealthy():
            yield f"repair the devices of node {change.node} that are not healthy"
        case SetNodeLabel():
            yield f"kubectl label node {change.node} {change.key}={change.value}"
        case RemovePods():
            for namespace, name in _ended(change.key, instance):
                yield f"kubectl delete pod -n {namespace} {name}"
        case AddNodes():
            yield f"add {_more_nodes(change.count)} like {change.of}"
        case GiveUpConstraint(term="taint"):
            for namespace, name in _pods(change.key, instance):
                yield _tolerating(instance, (namespace, name), change.which)
        case GiveUpConstraint() | RelaxPolicy() | AskLess() | ScalePods():
            yield f"in the template that the pods are made of: {_FIELD[type(change)](change)}"


def _in_files(change: InstanceChange, instance: Instance) -> Iterator[str]:
    match change:
        case Uncordon():
            yield f"in the file: node {change.node}: cordoned: false"
        case MarkDevicesHealthy():
            yield f"in the file, once it is so: node {change.node}: no unhealthyDevices"
        case SetNodeLabel():
            yield f"in the file: node {change.node}: labels: {{{change.key}: {change.value}}}"
        case RemovePods():
            for namespace, name in _ended(change.key, instance):
                yield f"in the file: no pod {namespace}/{name}"
        case AddNodes():
            yield f"in the file: {_more_nodes(change.count)} like {change.of}"
        case GiveUpConstraint() | RelaxPolicy() | AskLess() | ScalePods():
            yield f"in the file: {'/'.join(change.key)}: {_OF_FILES[type(change)](change)}"


def _pods(key: NamespacedName, instance: Instance) -> list[NamespacedName]:
    gang = waiting_gang_named(instance, key)
    return [key] if gang is None else [pod.key for pod in gang.pods]


def _ended(key: NamespacedName, instance: Instance) -> list[NamespacedName]:
    """Return the pods that are gone then, whether they run or the answer has just placed them."""
    return [pod.key for pod in running_pods_named(instance, key)] or _pods(key, instance)


def _more_nodes(count: int) -> str:
    return f"{count} more {'node' if count == 1 else 'nodes'}"


def _tolerating(instance: Instance, key: NamespacedName, taint: str) -> str:
    """Return the patch that lets a pod which waits tolerate a taint; it may be added to a pod."""
    pods = (pod for gang in instance.gangs for pod in gang.pods if pod.key == key)
    some = any(pod.spec.tolerations for pod in pods)
    toleration = {"key": taint, "operator": "Exists"}
    patch = [
        {"op": "add", "path": "/spec/tolerations/-", "value": toleration}
        if some
        else {"op": "add", "path": "/spec/tolerations", "value": [toleration]}
    ]
    namespace, name = key
    return f"kubectl patch pod -n {namespace} {name} --type json -p '{json.dumps(patch)}'"


def _given_up(change: GiveUpConstraint) -> str:
    fields = {
        "nodeSelector": f"no {change.which} in nodeSelector",
        "nodeAffinity": "nothing required in nodeAffinity",
        "affinity": f"no term {change.which} of affinity and antiAffinity",
        "topologySpread": f"no topologySpread[{change.which}]",
        "taint": f"tolerations: [{{key: {change.which}, operator: Exists}}]",
    }
    return fields[change.term]


def _given_up_in_cluster(change: GiveUpConstraint) -> str:
    fields = {
        "nodeSelector": f"no {change.which} in spec.nodeSelector",
        "nodeAffinity": "no requiredDuringSchedulingIgnoredDuringExecution in "
        "spec.affinity.nodeAffinity",
        "affinity": f"no term {change.which} in spec.affinity",
        "topologySpread": f"no spec.topologySpreadConstraints[{change.which}]",
    }
    return fields[change.term]


_POLICY_NOTES = {
    "numaPolicy": "numa-topology-spec",
    "cpuExclusivePolicy": "resource-spec",
    "cpuBindPolicy": "resource-spec",
}
"""Where pods of a cluster say a policy: annotations of scheduling.koordinator.sh."""


def _asked_less(change: AskLess) -> str:
    return f"requests: {{{change.resource}: {str(change).rpartition('=')[2]}}}"


_FIELD: dict[type[InstanceChange], Callable[..., str]] = {
    GiveUpConstraint: _given_up_in_cluster,
    RelaxPolicy: lambda change: (
        f"annotation scheduling.koordinator.sh/{_POLICY_NOTES[change.policy]}: "
        f"only prefer {change.policy}"
    ),
    AskLess: lambda change: f"resources.{_asked_less(change)}",
    ScalePods: lambda change: f"replicas: {change.count}",
}

_OF_FILES: dict[type[InstanceChange], Callable[..., str]] = {
    GiveUpConstraint: _given_up,
    RelaxPolicy: lambda change: (
        "no numaPolicy" if change.policy == "numaPolicy" else f"{change.policy}: {{preferred: …}}"
    ),
    AskLess: _asked_less,
    ScalePods: lambda change: f"replicas: {change.count}",
}
