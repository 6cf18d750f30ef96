"""Pods beyond a part of a cluster, as affinity makes that part know them.

Only one thing reaches beyond a node: a pod that its own affinity means may be the first of
its kind, while no other pod of the cluster is meant.
"""

from collections.abc import Iterable, Sequence, Set
from dataclasses import replace

from placer.state.affinity import lonely_terms
from placer_models.affinity import AffinityTerm
from placer_models.cluster import Node, RunningPod
from placer_models.placement import PodPlacement
from placer_models.pod import Gang, Pod, PodSpec


def lonely_nodes(placed: Iterable[RunningPod], everyone: Sequence[RunningPod]) -> set[str]:
    """Return the nodes of placed pods that are the first of their kind, and have no company.

    They belong to every part: what comes elsewhere could break what they rely on.
    """
    found = set()
    for one in placed:
        for term in lonely_terms(one.pod.spec):
            others = (
                other
                for other in everyone
                if other.pod.key != one.pod.key
                and other.placement.node == one.placement.node
                and other.pod.namespace == one.pod.namespace
            )
            if not any(_means(term, other) for other in others):
                found.add(one.placement.node)
    return found


def witnesses_of(
    everyone: Iterable[RunningPod], nodes: Set[str], gangs: Iterable[Gang]
) -> list[RunningPod]:
    """Return pods beyond the nodes, one for each affinity that its own pods could begin.

    They hold nothing; that they are there keeps others from being the first.
    """
    wanted = {
        (pod.namespace, term)
        for gang in gangs
        for pod in gang.pods
        for term in lonely_terms(pod.spec)
    }
    found: dict[tuple[str, str], RunningPod] = {}
    for one in everyone if wanted else ():
        node, (namespace, name) = one.placement.node, one.pod.key
        met = {(where, term) for where, term in wanted if where == namespace and _means(term, one)}
        if met and node not in nodes:
            wanted -= met
            qos = one.pod.spec.qos if any(t.inside for _, t in met) else PodSpec(()).qos
            bare = Pod(name, namespace, PodSpec((), qos, labels=one.pod.spec.labels))
            place = PodPlacement(name, namespace, None, node, frozenset())
            found[one.pod.key] = RunningPod(bare, place)
    return list(found.values())


def _means(term: AffinityTerm, other: RunningPod) -> bool:
    spec = other.pod.spec
    return term.means(spec.labels, owns_cpus=spec.qos.owns_cpus)


def closed(nodes: Iterable[Node], witnesses: Iterable[RunningPod]) -> tuple[Node, ...]:
    """Return the nodes of the witnesses, where nothing new can go."""
    names = {runner.placement.node for runner in witnesses}
    return tuple(replace(node, cordoned=True) for node in nodes if node.name in names)
