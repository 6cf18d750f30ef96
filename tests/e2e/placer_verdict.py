"""Where Placer would put one pod of a dump, asked node by node, with its reasons."""

from collections.abc import Iterable
from dataclasses import replace

from e2e.witness import Verdict
from kubernetes_dumps import notes, read
from kubernetes_worlds import Json
from placer.judge.breaches import breaches
from placer.kubernetes.dump import DumpError
from placer.search.options import SolveOptions
from placer.search.reasons.unplaced import left_out_as_unplaced
from placer.search.solver import solve
from placer_models.cluster import Instance, Node
from placer_models.placement import Infeasible, PartlyPlaced, Placed, Unplaced
from placer_models.pod import Gang, Pod
from placer_models.reasons import Blocked

_CHOSEN = ("placer:chosen", "yes")
"""A label of Placer's own: unlike the node's name it changes nothing of what spread looks at."""


def verdict_of(objects: Iterable[Json], pod: str) -> Verdict:
    """Return where a pod that waits ("namespace/name") could be, as Placer sees it.

    Others that wait are not asked about, so that they hold nothing of what they share with it.
    """
    found = [_gated(one) if _else_waits(one, pod) else one for one in objects]
    names = [one["metadata"]["name"] for one in found if one["kind"] == "Node"]
    try:
        instance, summary = read(*found, bears=True)
    except DumpError as error:
        why = "bad input: " + "; ".join(str(fault) for fault in error.faults)
        return Verdict(frozenset(), dict.fromkeys(names, why))
    asked = next((gang for gang in instance.gangs if _key(gang.pods[0]) == pod), None)
    if asked is None:
        left_out = left_out_as_unplaced(instance.left_out)
        told = [why for one in left_out for why in one.reasons]
        return Verdict(frozenset(), dict.fromkeys(names, "\n".join([*told, notes(summary)])))
    there = {node.name: node for node in instance.nodes}
    refused = {
        name: _refusal(instance, asked, there[name]) if name in there else "the node is not read"
        for name in names
    }
    fits = frozenset(name for name, why in refused.items() if not why)
    return Verdict(fits, {name: why for name, why in refused.items() if why})


def _else_waits(found: Json, pod: str) -> bool:
    """Return whether an object is another pod that waits, and for no node of its own."""
    if found["kind"] != "Pod" or found["spec"].get("nodeName"):
        return False
    metadata = found["metadata"]
    asked = pod == f"{metadata.get('namespace', 'default')}/{metadata['name']}"
    return not (asked or found["status"].get("nominatedNodeName"))


def _gated(found: Json) -> Json:
    """Return a pod that nobody is asked about."""
    return {**found, "spec": {**found["spec"], "schedulingGates": [{"name": "example.com/other"}]}}


def _key(pod: Pod) -> str:
    return f"{pod.namespace}/{pod.name}"


def _refusal(instance: Instance, gang: Gang, node: Node) -> str:
    """Return why the pod cannot be on the node, or nothing if it can."""
    (pod,) = gang.pods
    selector = tuple(sorted((*pod.spec.node_selector, _CHOSEN)))
    pinned = replace(gang, pods=(replace(pod, spec=replace(pod.spec, node_selector=selector)),))
    chosen = replace(node, labels=tuple(sorted((*node.labels, _CHOSEN))))
    nodes = tuple(chosen if one is node else one for one in instance.nodes)
    question = replace(instance, nodes=nodes, gangs=(pinned,), groups=(), left_out=())
    answer = solve(question, SolveOptions(work_limit=20, workers=1, seed=0))
    if isinstance(answer, Placed):
        assert not breaches(question, answer.placement)
        assert [place.node for place in answer.placement.pods] == [node.name]
        return ""
    assert isinstance(answer, Infeasible | PartlyPlaced), "Placer gave up on one pod"
    return _said(answer.unplaced)


def _said(unplaced: Iterable[Unplaced]) -> str:
    """Return the reasons as they are told, and all rules that block any node."""
    told = [why for one in unplaced for why in one.reasons]
    blocked = (why for one in unplaced for why in one.why if isinstance(why, Blocked))
    rules = [
        f"{demand.rule} {demand.subject or demand.word}".strip()
        for why in blocked
        for blocker, _ in why.nodes
        for demand in (*blocker.others, blocker.demand)
    ]
    return f"{'; '.join(told) or 'no reason'} [{'; '.join(dict.fromkeys(rules))}]"
