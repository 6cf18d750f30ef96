"""Pods beyond a part of a cluster that the part has to know about: witnesses of what it asks.

Two things reach beyond a node. Some rules are about domains of nodes. And a pod that its own
affinity means may be the first of its kind, as long as no other pod of the cluster is meant.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence, Set
from dataclasses import replace

from placer_models.cluster import Node, RunningPod
from placer_models.placement import PodPlacement
from placer_models.pod import Gang, Pod, PodSpec
from placer_models.relations import (
    Askers,
    domain_limits_asked_by,
    outside_pod_finder,
    self_affinity_terms,
    stand_in_with_relations_of,
    term_matches_pod,
)


def nodes_of_pods_without_company(
    placed: Iterable[RunningPod], everyone: Sequence[RunningPod]
) -> set[str]:
    """Return the nodes of placed pods that are the first of their kind, and have no company.

    They belong to every part: what comes elsewhere could break what they rely on. Even for
    terms about domains, only other pods on the same node count as company.
    """
    found = set()
    together: defaultdict[str, list[RunningPod]] = defaultdict(list)
    for one in everyone:
        together[one.placement.node].append(one)
    for one in placed:
        for term in self_affinity_terms(one.pod.spec):
            others = (
                other for other in together[one.placement.node] if other.pod.key != one.pod.key
            )
            if not any(term_matches_pod(one.pod.namespace, term, other) for other in others):
                found.add(one.placement.node)
    return found


def witness_pods_on_outside_nodes(
    everyone: Sequence[RunningPod],
    nodes: Set[str],
    gangs: Iterable[Gang],
    everywhere: Sequence[Node],
) -> list[RunningPod]:
    """Return witnesses: pods beyond the nodes in which pods of the gangs see something.

    Of pods in which the same is seen there is one. They hold nothing: that they are there keeps
    others from being the first, or keeps them off.
    """
    seen = outside_pod_finder(_askers(gangs))
    node_of = {node.name: node for node in everywhere} if everyone else {}
    known = set[Hashable]()
    found: dict[tuple[str, str], RunningPod] = {}
    for one in everyone:
        place, (namespace, name) = one.placement, one.pod.key
        if place.node in nodes:
            continue
        new = [each for each in seen(one, node_of[place.node]) if each.key not in known]
        if new:
            known.update(each.key for each in new)
            bare = PodSpec((), labels=one.pod.spec.labels)
            if any(each.owns_cpus for each in new):
                bare = replace(bare, qos=one.pod.spec.qos)
            pod = Pod(name, namespace, stand_in_with_relations_of(one.pod.spec, bare))
            there = PodPlacement(name, namespace, None, place.node, frozenset())
            found[one.pod.key] = RunningPod(pod, there)
    return list(found.values())


def _askers(gangs: Iterable[Gang]) -> Askers:
    return {(pod.namespace, pod.spec) for gang in gangs for pod in gang.pods}


def closed_copies_of_outside_nodes(
    nodes: Sequence[Node],
    witnesses: Iterable[RunningPod],
    inside: Set[str] = frozenset(),
    gangs: Iterable[Gang] = (),
) -> tuple[Node, ...]:
    """Return the witnesses' nodes, and one of each domain not met yet that counts even if empty.

    They are closed: nothing new can go there. An empty domain counts, as it says how few of the
    pods that spread a domain can have.
    """
    names = {runner.placement.node for runner in witnesses}
    asked = {
        limit
        for namespace, spec in _askers(gangs)
        for _, limit in domain_limits_asked_by(spec, namespace)
    }
    for limit in asked:
        known = {limit.domain(node) for node in nodes if node.name in names | inside}
        for node in nodes:
            if (domain := limit.domain(node)) is not None and domain not in known:
                known.add(domain)
                names.add(node.name)
    return tuple(replace(node, closed=True) for node in nodes if node.name in names)
